"""Directories of a local file system change places in one step, where the kernel can do that."""

from __future__ import annotations

import ctypes
import errno
import os
from functools import cache
from typing import Final

_HERE: Final = -100  # AT_FDCWD
_EXCHANGE: Final = 2  # RENAME_EXCHANGE
# What a kernel, a C library or a file system says that does not know the exchange (NFS and overlays, for instance).
_UNABLE: Final = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)


def exchange(one: str, other: str) -> bool:
    """Swaps two directories of one file system atomically; False, and nothing done, where that cannot be had.

    Raises OSError for everything else.
    """
    library = _library()
    if library is None or library.renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return library is not None
    number = ctypes.get_errno()
    if number in _UNABLE:
        return False
    raise OSError(number, os.strerror(number), one)


def flush(path: str) -> None:
    """What was written to a file, or the names in a directory, survive a loss of power from here on."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@cache
def _library() -> ctypes.CDLL | None:
    library = ctypes.CDLL(None, use_errno=True)
    return library if hasattr(library, "renameat2") else None
