"""The sandbox's entry in the user's profiles, so that `--profile sandbox` reaches it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kafka_groups.errors import SandboxError
from kafka_groups.settings import profiles_file

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


def write_profile(name: str, bootstrap: str, *, path: Path | None = None) -> None:
    """Add or renew one profile; all else in the file stays as the user wrote it."""
    import tomlkit

    path = path or profiles_file()
    document = _read(path)
    table = tomlkit.table()
    table.add("bootstrap.servers", bootstrap)
    document[name] = table
    _write(path, document)


def remove_profile(name: str, bootstrap: str, *, path: Path | None = None) -> None:
    """Remove one profile, unless the user has made it name another cluster since."""
    path = path or profiles_file()
    document = _read(path)
    if dict(document.get(name, {})).get("bootstrap.servers") == bootstrap:
        del document[name]
        _write(path, document)


def _read(path: Path) -> TOMLDocument:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return tomlkit.document()
    except (OSError, UnicodeDecodeError, TOMLKitError) as error:
        msg = f"the profiles file {path} cannot be read ({error}); correct it first"
        raise SandboxError(msg) from error


def _write(path: Path, document: TOMLDocument) -> None:
    draft = path.with_name(f"{path.name}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(document.as_string(), encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        msg = f"the profiles file {path} cannot be written: {error.strerror}"
        raise SandboxError(msg) from error
