"""Why a file system or an object store refused something, and the next step, as one sentence for the user."""

from __future__ import annotations

import errno
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypeAlias

# What a caller wants to be raised: a class, or a function, that takes the whole sentence.
Failure: TypeAlias = Callable[[str], Exception]


class FileSystemError(OSError):
    """A directory or an object store that cannot be used; the text is a sentence for the user."""


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
def as_failure(failure: Failure, what: str, where: str) -> Iterator[None]:
    """Turn an error of a file system inside into a failure: `what` was not possible in `where`."""
    try:
        yield
    except Exception as error:
        if isinstance(error, FileSystemError) or not isinstance(error, (OSError, *_arrow_errors())):
            raise
        message = f"cannot {what} in {where}: {next_step(error)}"
        raise failure(message) from error


def next_step(error: Exception) -> str:
    """Return what happened and what helps, without a full stop at the end."""
    number = getattr(error, "errno", None)
    text = str(error)
    if number in _NEXT_STEPS:
        return _NEXT_STEPS[number]
    if _WANTS_CREDENTIALS.search(text):
        return _NO_CREDENTIALS
    response = _MESSAGE.search(text)
    steps = _MARKS.sub(" ", text).partition("<Error>")[0]
    return " ".join(f"{steps} {response[1] if response else ''}".split()).rstrip(".") or type(error).__name__


def _arrow_errors() -> tuple[type[Exception], ...]:
    """Return the root of Arrow's errors; nothing while Arrow is not imported, because it then raised nothing."""
    arrow = sys.modules.get("pyarrow")
    return () if arrow is None else (arrow.ArrowException,)
