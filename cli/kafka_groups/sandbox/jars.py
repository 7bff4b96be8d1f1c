"""The jars of a Kafka version: fetched once, then named by a lock file and never looked up again."""

from __future__ import annotations

import fcntl
import importlib.util
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox.versions import KafkaVersion


def cache_directory(kafka: KafkaVersion) -> Path:
    """Return the directory for what is the same in every sandbox of one Kafka version."""
    from platformdirs import user_cache_path

    return user_cache_path("kafka-groups") / "sandbox" / f"kafka-{kafka}"


def require_extra() -> None:
    """Raise SandboxError if kafka-groups was installed without what the sandbox needs."""
    missing = [name for name in ("jgo", "tomlkit") if importlib.util.find_spec(name) is None]
    if missing:
        msg = (
            f"the sandbox needs packages that are not installed ({', '.join(missing)}); "
            "run: pip install 'kafka-groups[sandbox]'"
        )
        raise SandboxError(msg)


def find_jars(kafka: KafkaVersion, *, tell: Callable[[str], None]) -> list[Path]:
    """Return the jars of a Kafka, its command-line tools included; only the first call downloads."""
    lock_file = cache_directory(kafka) / "jars.json"
    jars = _read_lock(lock_file)
    if jars is not None:
        return jars
    # One download at a time, whatever the version: they share jars, and jgo's downloads trip over each other.
    with alone(lock_file.parent.parent / "jars.busy"):
        jars = _read_lock(lock_file)  # another process may have fetched them while we waited
        if jars is None:
            tell(f"downloading Kafka {kafka} (about 45 MB, only once)")
            jars = _download(kafka)
            sizes = {str(jar): jar.stat().st_size for jar in jars}
            lock_file.parent.mkdir(parents=True, exist_ok=True)
            lock_file.write_text(json.dumps({"jars": sizes}, indent=1), encoding="utf-8")
    return jars


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Wait for a lock between processes, and between threads of one, and hold it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("w")
    except OSError as error:
        msg = f"{path.parent} cannot be written: {error.strerror}"
        raise SandboxError(msg) from error
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _read_lock(lock_file: Path) -> list[Path] | None:
    """Return the jars of the lock, or None if one of them is not there as it was."""
    try:
        sizes: dict[str, int] = json.loads(lock_file.read_text(encoding="utf-8"))["jars"]
        intact = all(Path(jar).stat().st_size == size for jar, size in sizes.items())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return [Path(jar) for jar in sizes] if intact and sizes else None


def _download(kafka: KafkaVersion) -> list[Path]:
    require_extra()
    from kafka_groups.sandbox.downloads import download

    return download(kafka)
