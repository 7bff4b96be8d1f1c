"""What a file system refuses, as one sentence for the user: what could not be done, where, and the next step."""

from __future__ import annotations

import errno
import re
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
# Object stores respond in XML, and their library colours the steps of an error.
_MARKS: Final = re.compile(r"\x1b\[[0-9;]*m|↳|<\?xml[^>]*\?>")
_WANTS_CREDENTIALS: Final = re.compile("loading credentials|credential provider|performing token request")
_NO_CREDENTIALS: Final = (
    "no credentials of the store were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or what its client takes"
)
_MESSAGE: Final = re.compile(r"<Message>(.*?)</Message>", re.DOTALL)


@contextmanager
def as_storage_error(what: str, where: str) -> Iterator[None]:
    """Turn an error of a file system inside into a StorageError: `what` was not possible in `where`."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        message = f"cannot {what} in {where}: {next_step(error)}"
        raise StorageError(message) from error


def next_step(error: Exception) -> str:
    """Return what happened and what helps, without a full stop at the end."""
    number = getattr(error, "errno", None)
    known = _NEXT_STEPS.get(number) if number is not None else None
    return known or _plain(str(error)) or type(error).__name__


def _plain(text: str) -> str:
    if _WANTS_CREDENTIALS.search(text):
        return _NO_CREDENTIALS
    said = _MESSAGE.search(text)
    steps = _MARKS.sub(" ", text).partition("<Error>")[0]
    return " ".join(f"{steps} {said[1] if said else ''}".split()).rstrip(".")
