"""What a file system refuses, as one sentence for the user: what could not be done, where, and the next step."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import pyarrow as pa

from kafka_groups.errors import StorageError

_NEXT_STEPS: Final = {
    errno.ENOSPC: "no space is left on the file system; free some, and run the command again",
    errno.EDQUOT: "the disk quota is used up; free some space, and run the command again",
    errno.EACCES: "permission denied; give this user the permission, or name another directory",
    errno.EPERM: "operation not permitted; give this user the permission, or name another directory",
    errno.EROFS: "the file system is read-only; name another directory",
    errno.ENOTDIR: "a part of the path is a file; name another directory",
    errno.ENAMETOOLONG: "the name is too long; name another directory",
}


@contextmanager
def told(what: str, where: str) -> Iterator[None]:
    """An error of a file system inside becomes a StorageError: `what` was not possible in `where`."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        message = f"cannot {what} in {where}: {next_step(error)}"
        raise StorageError(message) from error


def next_step(error: Exception) -> str:
    """What happened and what helps, without a full stop at the end."""
    number = getattr(error, "errno", None)
    known = _NEXT_STEPS.get(number) if number is not None else None
    return known or (" ".join(str(error).split()).rstrip(".") or type(error).__name__)
