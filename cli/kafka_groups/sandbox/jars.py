"""The jars of a program of Kafka: downloaded once, then taken from a list with the path and size of each jar."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kafka_groups.errors import SandboxError
from kafka_groups.files import write_atomically
from kafka_groups.files.locks import lock
from kafka_groups.sandbox.artifacts import Artifacts
from kafka_groups.sandbox.directory import user_directory
from kafka_groups.sandbox.versions import KafkaVersion

_REQUIRED = ("cryptography", "filelock", "jgo", "psutil")


def cache_directory(kafka: KafkaVersion) -> Path:
    """Return the directory for the files that all sandboxes of one Kafka version share."""
    return user_directory("cache") / f"kafka-{kafka}"


def require_extra() -> None:
    """Raise SandboxError if kafka-groups was installed without the packages of the sandbox."""
    missing = [name for name in _REQUIRED if importlib.util.find_spec(name) is None]
    if missing:
        msg = (
            f"the sandbox needs packages that are not installed ({', '.join(missing)}); "
            "run: pip install 'kafka-groups[sandbox]'"
        )
        raise SandboxError(msg)


def find_jars(program: Artifacts, *, report: Callable[[str], None]) -> list[Path]:
    """Return the jars of a program; only the first call downloads them.

    Raises SandboxError if they cannot be downloaded or stored.
    """
    list_file = cache_directory(program.version) / program.list_name
    jars = _read_list(list_file)
    if jars is not None:
        return jars
    require_extra()
    # All versions share one lock: they share jars, and downloads of jgo fail when another one writes the same file.
    with lock_cache(list_file.parent.parent / "jars.lock"):
        jars = _read_list(list_file)  # another process may have downloaded them while this one waited
        if jars is None:
            report(f"downloading {program.name} {program.version} (about {program.megabytes} MB, only once)")
            jars = _download(program)
            sizes = {str(jar): jar.stat().st_size for jar in jars}
            list_file.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(list_file, json.dumps({"jars": sizes}, indent=1))
    return jars


@contextmanager
def lock_cache(path: Path) -> Iterator[None]:
    """Wait for a lock of the cache and hold it; raise SandboxError if its file cannot be created.

    The lock excludes other processes and other threads. Its file stays, because a waiting process holds it open.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(lock(path))
        except OSError as error:
            msg = f"{path.parent} cannot be written: {error.strerror}; check its permissions"
            raise SandboxError(msg) from error
        yield


def _read_list(list_file: Path) -> list[Path] | None:
    """Return the jars of the list, or None if a jar is missing, has another size or cannot be in a class path."""
    try:
        sizes: dict[str, int] = json.loads(list_file.read_text(encoding="utf-8"))["jars"]
        intact = all(":" not in jar and Path(jar).stat().st_size == size for jar, size in sizes.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return [Path(jar) for jar in sizes] if intact and sizes else None


def _download(program: Artifacts) -> list[Path]:
    # Imported here, because jgo is slow to import and needed only if jars are missing.
    from kafka_groups.sandbox.downloads import download

    return download(program)
