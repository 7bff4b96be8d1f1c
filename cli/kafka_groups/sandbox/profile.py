"""The sandbox's entry in the user's profiles file, so that `--profile NAME` connects to it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kafka_groups.errors import SandboxError
from kafka_groups.files import PRIVATE, write_atomically
from kafka_groups.settings import profiles_file

if TYPE_CHECKING:
    from tomlkit import TOMLDocument


def write_profile(name: str, bootstrap: str, *, path: Path | None = None) -> None:
    """Add or replace one profile; the rest of the file, its mode and a symbolic link to it stay as they are.

    Raises SandboxError if the file cannot be read or written.
    """
    import tomlkit

    path = path or profiles_file()
    document = _read(path)
    table = tomlkit.table()
    table.add("bootstrap.servers", bootstrap)
    document[name] = table
    _write(path, document)


def remove_profile(name: str, bootstrap: str, *, path: Path | None = None) -> None:
    """Remove one profile, unless the user has changed it to another cluster.

    Raises SandboxError if the file cannot be read or written.
    """
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
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Private, because users add the passwords of their own clusters to this file.
        write_atomically(path, document.as_string(), mode=PRIVATE)
    except OSError as error:
        msg = f"the profiles file {path} cannot be written: {error.strerror}; check its permissions"
        raise SandboxError(msg) from error
