"""FIFOs, devices and open descriptors, which are written in place, and the check that a file is none of them."""

from __future__ import annotations

import errno
import os
import select
import stat
import sys
import time
from contextlib import suppress
from typing import Final

_WRITE: Final = os.O_WRONLY | os.O_CLOEXEC | os.O_NOCTTY
_STDOUT = 1
_STDERR = 2
_OWN_DESCRIPTORS: Final = ("/proc/self/fd", "/proc/thread-self/fd")
_MOST_LINKS: Final = 40  # what Linux follows
# A script may start the writer of a FIFO before its reader.
_READER_TIMEOUT_S: Final = 3.0
_READER_POLL_S: Final = 0.02
_KINDS: Final = {
    stat.S_IFIFO: "a FIFO",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


class SpecialFileError(OSError):
    """A FIFO, a device, a socket or an open descriptor in place of a regular file."""

    def __init__(self, name: str, kind: str) -> None:
        super().__init__(errno.EINVAL, f"it is {kind}; name a regular file", name)


def read_regular(path: str | os.PathLike[str], most_bytes: int = -1) -> bytes:
    """Return the content of a file, at most its first `most_bytes` if that is not negative.

    Raises OSError, for a FIFO or a device at once.
    """
    name = os.fspath(path)
    require_regular(name, os.stat(name))
    # Without O_NONBLOCK, a FIFO that has just replaced the file would be waited for.
    with open(os.open(name, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
        require_regular(name, os.fstat(file.fileno()))
        return file.read(most_bytes)


def require_regular(name: str, status: os.stat_result) -> None:
    """Raise SpecialFileError for a FIFO, a device or a socket, and IsADirectoryError for a directory."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), name)
    if not stat.S_ISREG(status.st_mode):
        raise SpecialFileError(name, _KINDS.get(stat.S_IFMT(status.st_mode), "a special file"))


def find_open_descriptor(name: str, status: os.stat_result | None) -> int | None:
    """Return the descriptor of this process that a name leads to: /dev/stdout, /dev/fd/63, or the file of stdout.

    A file that is opened a second time has a second position, and both writers would overwrite each other. Raises
    OSError for a descriptor that this process did not inherit: it is closed, or a connection to a broker.
    """
    named = _named_descriptor(name)
    if named is not None and not os.get_inheritable(named):
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), name)
    if named is not None or status is None:
        return named
    for descriptor in (_STDOUT, _STDERR):
        with suppress(OSError):
            if os.path.samestat(status, os.fstat(descriptor)):
                return descriptor
    return None


def _named_descriptor(name: str) -> int | None:
    """Follow links up to one of /proc/self/fd, whose own target may be a pipe or a deleted file."""
    for _ in range(_MOST_LINKS):
        folder, last = os.path.split(name)
        if last.isdecimal() and os.path.realpath(folder) in map(os.path.realpath, _OWN_DESCRIPTORS):
            return int(last)
        try:
            name = os.path.join(folder, os.readlink(name))
        except OSError:
            return None
    return None


def write_to_descriptor(descriptor: int, content: bytes) -> None:
    """Write behind what was written to this descriptor before."""
    stream = {_STDOUT: sys.stdout, _STDERR: sys.stderr}.get(descriptor)
    if stream is not None:
        stream.flush()
    write_all(descriptor, content)


def open_stream(name: str, status: os.stat_result) -> int:
    """Open a FIFO or a device for writing; raise OSError for a socket, and for a FIFO that no process reads."""
    if stat.S_ISSOCK(status.st_mode):
        raise OSError(errno.ENXIO, "it is a socket; name a regular file, a FIFO or a device", name)
    return _open_fifo(name) if stat.S_ISFIFO(status.st_mode) else os.open(name, _WRITE)


def _open_fifo(name: str) -> int:
    """Open a FIFO once a process reads it; wait for seconds only, because a job of cron must end."""
    end = time.monotonic() + _READER_TIMEOUT_S
    while True:
        try:
            descriptor = os.open(name, _WRITE | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            if time.monotonic() >= end:
                raise OSError(errno.ENXIO, "no process reads this FIFO; start its reader first", name) from error
            time.sleep(_READER_POLL_S)
        else:
            os.set_blocking(descriptor, True)
            return descriptor


def write_all(descriptor: int, content: bytes) -> None:
    """Write to a descriptor, and wait where it is a pipe that is full."""
    rest = memoryview(content)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:  # the process that opened it made it non-blocking
            waiting = select.poll()
            waiting.register(descriptor, select.POLLOUT)
            waiting.poll()
