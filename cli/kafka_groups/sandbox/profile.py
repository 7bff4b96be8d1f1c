"""The sandbox's entries in the user's profiles file, so that `--profile NAME` connects to it.

An entry is a block of lines whose comment names the directory of its sandbox. A sandbox replaces and removes only such
a block, and only while it is unchanged: every other line of the file is the user's, and stays as it is.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
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
_SERVERS: Final = "bootstrap.servers"
_STRING: Final = r'"(?:[^"\\\r\n]|\\.)*"'
_COMMENT: Final = "# written by `kafka-groups sandbox up`, removed by `kafka-groups sandbox down`: "


@dataclass(frozen=True, kw_only=True, slots=True)
class Profile:
    """A profile of a sandbox.

    `properties` returns all but the bootstrap servers, for a sandbox in a directory: those of a deleted sandbox with
    the same name differ by their paths alone.
    """

    name: str
    bootstrap: str
    properties: Callable[[Path], Mapping[str, str]]


class _Block(NamedTuple):
    """A profile as a sandbox wrote it, and its position in the file."""

    directory: str
    bootstrap: str
    start: int
    end: int


def plain_profile(directory: SandboxDirectory, bootstrap: str) -> Profile:
    """Return the profile of the listener PLAINTEXT, which has the name of the sandbox."""
    # The protocol is named, because a config file of the user's environment may set that of another cluster.
    return Profile(name=directory.name, bootstrap=bootstrap, properties=lambda _: {"security.protocol": "PLAINTEXT"})


def require_available_names(
    directory: SandboxDirectory, profiles: Sequence[Profile], *, path: Path | None = None
) -> None:
    """Raise SandboxError if `write_profiles` would: the file is invalid, or a profile of these names is in use."""
    path = path or profiles_file()
    text = _read(path)
    for profile in profiles:
        _replaceable_block(text, directory, profile, path)


def write_profiles(directory: SandboxDirectory, profiles: Sequence[Profile], *, path: Path | None = None) -> None:
    """Add the profiles of a sandbox, or replace those that an earlier start in the same directory left.

    Raises SandboxError if the file cannot be read or written, or if a profile of these names belongs to the user or to
    another sandbox.
    """
    path = path or profiles_file()
    with _locked(path):
        text = _read(path)
        # From the end, because a block is removed with the blank line before it.
        for profile in reversed(profiles):
            text = _without(text, _replaceable_block(text, directory, profile, path))
        for profile in profiles:
            separator = "" if not text else "\n" if text.endswith("\n") else "\n\n"
            text += separator + _block_text(directory, profile)
        # Private, because users add the passwords of their own clusters to this file.
        write_atomically(path, text, mode=PRIVATE, is_read_back=True)


def remove_profiles(directory: SandboxDirectory, profiles: Sequence[Profile], *, path: Path | None = None) -> None:
    """Remove the profiles of a sandbox, except those that are not what `write_profiles` wrote.

    Raises SandboxError if the file cannot be read or written.
    """
    path = path or profiles_file()
    if directory.name not in _read(path):
        return
    with _locked(path):
        text = before = _read(path)
        for profile in reversed(profiles):
            block = _find_block(text, profile, path)
            if block is not None and (block.directory, block.bootstrap) == (_quoted(directory), profile.bootstrap):
                text = _without(text, block)
        if text != before:
            write_atomically(path, text, mode=PRIVATE, is_read_back=True)


def _block_text(directory: SandboxDirectory, profile: Profile) -> str:
    properties = {_SERVERS: profile.bootstrap, **profile.properties(directory.path.resolve())}
    # Paths of a sandbox have no control characters, which a string of TOML must not have.
    lines = (f'"{key}" = {json.dumps(value, ensure_ascii=False)}\n' for key, value in properties.items())
    return f"[{profile.name}]  {_COMMENT}{_quoted(directory)}\n{''.join(lines)}"


def _replaceable_block(text: str, directory: SandboxDirectory, profile: Profile, path: Path) -> _Block | None:
    """Return the block that the sandbox may replace, or None if the name is free; raise SandboxError otherwise."""
    block = _find_block(text, profile, path)
    if block is None and profile.name in _parse(text, path):
        msg = f"the profile '{profile.name}' in {path} is not the sandbox's; give another --name, or rename it"
        raise SandboxError(msg)
    if block is not None and block.directory != _quoted(directory):
        other = SandboxDirectory(path=Path(json.loads(block.directory)))
        # The directory of the other sandbox may have been deleted without `down`, for example below /tmp.
        if other.state_file.exists():
            msg = (
                f"the profile '{profile.name}' in {path} is that of the sandbox in {other.path}; "
                "give another --name, or end that sandbox"
            )
            raise SandboxError(msg)
    return block


def _find_block(text: str, profile: Profile, path: Path) -> _Block | None:
    """Return the block of a sandbox, or None if there is none or its profile has other keys or values."""
    match = re.search(
        rf"(?:^|(?<={_BYTE_ORDER_MARK}))\[{profile.name}\]  {re.escape(_COMMENT)}"
        rf"({_STRING})\r?\n"
        rf'"{re.escape(_SERVERS)}" = "((?:{re.escape(HOST)}:[0-9]+,?)+)"(?:\r?\n|\Z)'
        rf'((?:"[a-z.]+" = {_STRING}(?:\r?\n|\Z))*)',
        text,
        re.MULTILINE,
    )
    if match is None or not _is_json(match[1]):
        return None
    written = {_SERVERS: match[2], **profile.properties(Path(json.loads(match[1])))}
    # The user may have added a key in a way that the pattern does not match.
    is_unchanged = _parse(text, path).get(profile.name) == written and len(_parse(match[3], path)) == len(written) - 1
    return _Block(match[1], match[2], *match.span()) if is_unchanged else None


def _without(text: str, block: _Block | None) -> str:
    """Return the text without a block, and without the blank line before it."""
    if block is None:
        return text
    return re.sub(r"\n\r?\n\Z", "\n", text[: block.start]) + text[block.end :]


def _is_json(text: str) -> bool:
    """Return whether a quoted path is one that `_quoted` may have returned; the user may have edited it."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _quoted(directory: SandboxDirectory) -> str:
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
