"""The sandbox's entry in the user's profiles file, so that `--profile NAME` connects to it.

The entry is a block of lines whose comment names the directory of its sandbox. A sandbox replaces and removes only such
a block, and only while it is unchanged: every other line of the file is the user's, and stays as it is.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, NamedTuple

from kafka_groups.errors import SandboxError
from kafka_groups.files import PRIVATE, read_regular, write_atomically
from kafka_groups.files.locks import lock
from kafka_groups.sandbox.directory import SandboxDirectory
from kafka_groups.sandbox.ports import HOST
from kafka_groups.settings import profiles_file

_LOCK_TIMEOUT_S: Final = 10.0
_BYTE_ORDER_MARK: Final = "\ufeff"
_COMMENT: Final = "# written by `kafka-groups sandbox up`, removed by `kafka-groups sandbox down`: "


class _Block(NamedTuple):
    """A profile as a sandbox wrote it, and its position in the file."""

    directory: str
    bootstrap: str
    start: int
    end: int


def require_available_name(directory: SandboxDirectory, *, path: Path | None = None) -> None:
    """Raise SandboxError if `write_profile` would: the file is invalid, or its profile of this name is in use."""
    path = path or profiles_file()
    _replaceable_block(_read(path), directory, path)


def write_profile(directory: SandboxDirectory, bootstrap: str, *, path: Path | None = None) -> None:
    """Add the profile of a sandbox, or replace the one that an earlier start in the same directory left.

    Raises SandboxError if the file cannot be read or written, or if its profile of this name belongs to the user or to
    another sandbox.
    """
    path = path or profiles_file()
    with _locked(path):
        text = _read(path)
        text = _without(text, _replaceable_block(text, directory, path))
        separator = "" if not text else "\n" if text.endswith("\n") else "\n\n"
        block = (
            f"[{directory.name}]  {_COMMENT}{_directory_of(directory)}\n"
            f'"bootstrap.servers" = "{bootstrap}"\n'
            # Named, because a config file of the user's environment may set the protocol of another cluster.
            '"security.protocol" = "PLAINTEXT"\n'
        )
        # Private, because users add the passwords of their own clusters to this file.
        write_atomically(path, f"{text}{separator}{block}", mode=PRIVATE, is_read_back=True)


def remove_profile(directory: SandboxDirectory, bootstrap: str, *, path: Path | None = None) -> None:
    """Remove the profile of a sandbox, unless it is not what `write_profile` wrote.

    Raises SandboxError if the file cannot be read or written.
    """
    path = path or profiles_file()
    if directory.name not in _read(path):
        return
    with _locked(path):
        text = _read(path)
        block = _find_block(text, directory.name, path)
        if block is not None and (block.directory, block.bootstrap) == (_directory_of(directory), bootstrap):
            write_atomically(path, _without(text, block), mode=PRIVATE, is_read_back=True)


def _replaceable_block(text: str, directory: SandboxDirectory, path: Path) -> _Block | None:
    """Return the block that the sandbox may replace, or None if the name is free; raise SandboxError otherwise."""
    block = _find_block(text, directory.name, path)
    if block is None and directory.name in _parse(text, path):
        msg = f"the profile '{directory.name}' in {path} is not the sandbox's; give another --name, or rename it"
        raise SandboxError(msg)
    if block is not None and block.directory != _directory_of(directory):
        other = SandboxDirectory(path=Path(json.loads(block.directory)))
        # The directory of the other sandbox may have been deleted without `down`, for example below /tmp.
        if other.state_file.exists():
            msg = (
                f"the profile '{directory.name}' in {path} is that of the sandbox in {other.path}; "
                "give another --name, or end that sandbox"
            )
            raise SandboxError(msg)
    return block


def _find_block(text: str, name: str, path: Path) -> _Block | None:
    """Return the block of a sandbox, or None if there is none or its profile has other keys, too."""
    match = re.search(
        rf"(?:^|(?<={_BYTE_ORDER_MARK}))\[{name}\]  {re.escape(_COMMENT)}"
        r'("(?:[^"\\\r\n]|\\.)*")\r?\n'
        rf'"bootstrap\.servers" = "((?:{re.escape(HOST)}:[0-9]+,?)+)"\r?\n'
        r'"security\.protocol" = "PLAINTEXT"(?:\r?\n|\Z)',
        text,
        re.MULTILINE,
    )
    if match is None:
        return None
    is_unchanged = _parse(text, path).get(name) == {"bootstrap.servers": match[2], "security.protocol": "PLAINTEXT"}
    return _Block(match[1], match[2], *match.span()) if is_unchanged else None


def _without(text: str, block: _Block | None) -> str:
    """Return the text without a block, and without the blank line before it."""
    if block is None:
        return text
    return re.sub(r"\n\r?\n\Z", "\n", text[: block.start]) + text[block.end :]


def _directory_of(directory: SandboxDirectory) -> str:
    """Return the path of a sandbox in quotes and in ASCII, because a comment must not contain every character."""
    return json.dumps(str(directory.path.resolve()))


def _read(path: Path) -> str:
    try:
        # Bytes, because reading text would change line ends.
        return read_regular(path).decode("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(path, error) from error


def _parse(text: str, path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(text.removeprefix(_BYTE_ORDER_MARK))
    except tomllib.TOMLDecodeError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> SandboxError:
    return SandboxError(f"the profiles file {path} cannot be read ({error}); correct it first")


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Exclude other sandboxes while the file is read and replaced; raise SandboxError if it cannot be written."""
    target = Path(os.path.realpath(path))  # `resolve` has an error of its own for a loop of links
    lock_file = target.with_name(f".{target.name}.lock")
    try:
        with lock(lock_file, timeout_s=_LOCK_TIMEOUT_S):
            try:
                yield
            finally:
                lock_file.unlink(missing_ok=True)
    except OSError as error:
        reason = "another command holds its lock" if isinstance(error, TimeoutError) else error.strerror
        msg = f"the profiles file {path} cannot be written: {reason}; check its permissions, or try again"
        raise SandboxError(msg) from error
