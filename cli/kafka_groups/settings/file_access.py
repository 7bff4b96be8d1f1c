"""Who can read and write the files of settings: a file with a secret or a command is for its owner alone."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from kafka_groups.errors import SettingsError

_OTHERS_WRITE: Final = stat.S_IWGRP | stat.S_IWOTH
_OTHERS_READ: Final = stat.S_IRGRP | stat.S_IROTH
_ROOT: Final = 0


class SettingsFile(NamedTuple):
    """The bytes of a file, which may be secret, and the status of the same open file."""

    path: Path
    data: bytes
    status: os.stat_result

    def __repr__(self) -> str:
        return f"SettingsFile(path={self.path!r})"


def read_file(path: Path) -> SettingsFile:
    """Return the content and the status of a file. Raises OSError, and ValueError for a path with a NUL character."""
    with path.open("rb") as file:
        return SettingsFile(path, file.read(), os.fstat(file.fileno()))


def refuse_foreign_writers(file: SettingsFile, keys: Sequence[str]) -> None:
    """Raise SettingsError if others could change the commands of a file; `keys` name them.

    Others are the group and all other users, and an owner who is neither this user nor root. Windows has no such modes.
    """
    if not keys or sys.platform == "win32":
        return
    lead = f"{file.path} names a command ({', '.join(keys)})"
    if file.status.st_uid not in {os.geteuid(), _ROOT}:
        owner = f"it belongs to another user (uid {file.status.st_uid})"
        msg = f"{lead}, and {owner}, who can change the command; copy it to a file of your own, with the mode 600"
        raise SettingsError(msg)
    if file.status.st_mode & _OTHERS_WRITE:
        msg = f"{lead}, and other users can write it; run: chmod go-w {_quote(file.path)}"
        raise SettingsError(msg)


def describe_readers(path: Path, keys: Sequence[str]) -> str | None:
    """Return a warning if others can read a file with the secrets of `keys`, None if not.

    It is None as well for a file that this user cannot chmod: another user's, a symbolic link or a file of a read-only
    file system, as Kubernetes and Docker mount secrets.
    """
    if sys.platform == "win32":
        return None
    try:
        status = path.lstat()
        is_fixed = bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except (OSError, ValueError):
        # The file was read before; it is gone, or it is a pipe of the shell.
        return None
    if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or is_fixed:
        return None
    if not status.st_mode & _OTHERS_READ:
        return None
    return f"other users can read {path}, which has a secret ({', '.join(keys)}); run: chmod 600 {_quote(path)}"


def _quote(path: Path) -> str:
    import shlex

    return shlex.quote(str(path))
