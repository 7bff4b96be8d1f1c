"""The files that commands write: atomically where a file can be replaced, in place where it cannot.

A regular file, or one that does not exist yet, is replaced by a draft, so that a reader sees the old content or the
new one. Symbolic links are followed. The file keeps its owner, its permissions and its access list; other names of the
same file (hard links) keep the old content, as copies that a backup made with links must.

Written in place, and not in one step, are FIFOs, devices and descriptors such as /dev/stdout; and a regular file that
this user may write and not replace: its directory is not writable, its owner is another user, or it is mounted by
itself, as a file of a container may be.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO, Final, NamedTuple

from kafka_groups.files.draft import copy_access, open_draft, sync, sync_names
from kafka_groups.files.streams import (
    SpecialFileError,
    find_open_descriptor,
    open_stream,
    require_regular,
    write_all,
    write_to_descriptor,
)

PUBLIC: Final = 0o666
PRIVATE: Final = 0o600
_WRITE: Final = os.O_WRONLY | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
# Nothing but the draft, its owner or its new name was refused: the file itself is open for writing.
_NOT_REPLACEABLE: Final = frozenset(
    {errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY, errno.EXDEV, errno.ENOTSUP, errno.EINVAL}
)
_NO_HARD_LINKS: Final = frozenset({errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK})
_NO_FALLOCATE: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP})


class _Target(NamedTuple):
    """What a name leads to: its status (None if it does not exist), and a descriptor of this process, if it is one."""

    name: str
    status: os.stat_result | None
    descriptor: int | None


def write_atomically(
    path: str | os.PathLike[str], content: str | bytes, *, mode: int = PUBLIC, is_read_back: bool = False
) -> None:
    """Replace the content of a regular file, in one step; write to a FIFO, a device or a descriptor in place.

    Text is encoded as UTF-8. A new file gets `mode`, less the umask. `is_read_back` refuses whatever the tool could
    not read later: SpecialFileError. Raises OSError, and then leaves the old content and no draft; only a file that
    cannot be replaced may be left with a part of the new content.
    """
    encoded = content.encode() if isinstance(content, str) else content
    target = _find(os.fspath(path), is_read_back=is_read_back)
    if target.descriptor is not None:
        write_to_descriptor(target.descriptor, encoded)
    elif target.status is None:
        with open_draft(os.path.realpath(target.name), mode) as draft:
            draft.write(encoded)
            draft.replace_target()
    elif stat.S_ISREG(target.status.st_mode):
        _write_regular(target.name, encoded)
    else:
        descriptor = open_stream(target.name, target.status)
        try:
            write_all(descriptor, encoded)
        finally:
            os.close(descriptor)


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise the OSError with which `write_atomically` would refuse the path, and change nothing.

    Whether a process reads a FIFO is not known: opening it would end the reader's input.
    """
    target = _find(os.fspath(path), is_read_back=False)
    if target.descriptor is not None:
        return
    if target.status is None:
        with open_draft(os.path.realpath(target.name), PRIVATE):
            pass
    elif stat.S_ISREG(target.status.st_mode):
        os.close(os.open(target.name, _WRITE))
    elif stat.S_ISSOCK(target.status.st_mode):
        open_stream(target.name, target.status)
    elif not os.access(target.name, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), target.name)


def is_same_file(path: str, other: str) -> bool:
    """Return whether two names lead to the same file, by links or another spelling, also if it does not exist yet."""
    try:
        return os.path.samefile(path, other)
    except FileNotFoundError:
        return os.path.realpath(path) == os.path.realpath(other)
    except OSError:
        # A name that cannot be followed is reported where its file is opened.
        return False


@contextmanager
def open_new_file(path: str | os.PathLike[str], *, mode: int = PUBLIC) -> Iterator[BinaryIO]:
    """Open a file that gets its name when the context ends without an error, with content that is then on the disk."""
    with open_draft(os.path.realpath(path), mode) as draft, open(os.dup(draft.descriptor), "wb") as file:
        yield file
        if not file.closed:  # by a writer of Arrow
            file.flush()
        sync(draft.descriptor)
        draft.replace_target()


def create_file(path: str, content: bytes, mode: int) -> bool:
    """Create a file that appears when it is whole; return False if there is one, also a link that leads nowhere."""
    with open_draft(path, mode) as draft:
        draft.write(content)
        try:
            draft.link_target()
        except FileExistsError:
            return False
        except OSError as error:
            if error.errno not in _NO_HARD_LINKS:
                raise
            return _create_in_place(path, content, mode)
    return True


def _create_in_place(path: str, content: bytes, mode: int) -> bool:
    """Create a file on a file system without hard links, where a reader may see a part of it."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    except FileExistsError:
        return False
    try:
        write_all(descriptor, content)
        sync(descriptor)
    except BaseException:
        os.unlink(path)
        raise
    finally:
        os.close(descriptor)
    return True


def make_directory(path: str, mode: int, *, is_durable: bool) -> None:
    """Create a directory, and missing ones above it; `is_durable` waits until their names are on the disk."""
    if os.path.isdir(path):
        return
    parent = os.path.dirname(path)
    make_directory(parent, mode, is_durable=is_durable)
    try:
        os.mkdir(path, mode)
    except FileExistsError as error:
        if not os.path.isdir(path):
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), path) from error
    if is_durable:
        folder = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            sync_names(folder)
        finally:
            os.close(folder)


def open_log(path: str | os.PathLike[str]) -> int:
    """Return a descriptor that appends to a log, which only the user can read if it is new. Raises OSError.

    A FIFO without a reader is an error, too.
    """
    target = _find(os.fspath(path), is_read_back=False)
    if target.status is None or stat.S_ISREG(target.status.st_mode):
        return os.open(target.name, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, PRIVATE)
    return open_stream(target.name, target.status)


def _find(name: str, *, is_read_back: bool) -> _Target:
    """Return what the name leads to. Raises OSError for a directory, a loop of links, and what cannot be read back."""
    if os.path.basename(name) in {"", os.curdir, os.pardir}:
        # open() calls an empty name absent, and each of the others a directory, also where there is none.
        number = errno.EISDIR if name else errno.ENOENT
        raise OSError(number, os.strerror(number), name)
    status = _status_of(name)
    if status is not None and (is_read_back or stat.S_ISDIR(status.st_mode)):
        require_regular(name, status)
    descriptor = find_open_descriptor(name, status)
    if is_read_back and descriptor is not None:
        raise SpecialFileError(name, "an open file of this program, such as its output")
    return _Target(name, status, descriptor)


def _status_of(name: str) -> os.stat_result | None:
    """Return the status of the file that the name and its links lead to; None if there is none."""
    try:
        return os.stat(name)
    except FileNotFoundError:
        return None


def _write_regular(name: str, content: bytes) -> None:
    """Replace a regular file if this user may write it, and otherwise raise OSError as open() does."""
    descriptor = os.open(name, _WRITE)
    try:
        try:
            _replace(name, descriptor, content)
        except OSError as error:
            if error.errno not in _NOT_REPLACEABLE:
                raise
            _overwrite(descriptor, content)
    finally:
        os.close(descriptor)


def _replace(name: str, descriptor: int, content: bytes) -> None:
    target = os.path.realpath(name)
    status = _status_of(target)
    if status is None or not os.path.samestat(status, os.fstat(descriptor)):
        # A link of /proc/PID/fd leads to the file itself, whatever its name is now.
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), name)
    # The draft may hold a password, so nobody else may read it before it has the final permissions.
    with open_draft(target, PRIVATE) as draft:
        copy_access(descriptor, draft.descriptor)
        draft.write(content)
        draft.replace_target()


def _overwrite(descriptor: int, content: bytes) -> None:
    """Replace the content of an open file, not in one step. A full disk leaves the old content."""
    size = os.fstat(descriptor).st_size
    if content and hasattr(os, "posix_fallocate"):
        try:
            os.posix_fallocate(descriptor, 0, len(content))
        except OSError as error:
            os.ftruncate(descriptor, size)
            if error.errno not in _NO_FALLOCATE:
                raise
    write_all(descriptor, content)
    os.ftruncate(descriptor, len(content))
    sync(descriptor)


def append_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Append to a file that exists, and return when it is on the disk; if that fails, nothing is appended."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    try:
        size = os.fstat(descriptor).st_size
        try:
            write_all(descriptor, content)
            os.fsync(descriptor)
        except OSError:
            # What comes next must not be appended to a part of this.
            with suppress(OSError):
                os.ftruncate(descriptor, size)
            raise
    finally:
        os.close(descriptor)
