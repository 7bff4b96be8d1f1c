"""A draft: a file beside its target, which takes the target's place once it is complete and on the disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final, NamedTuple

from kafka_groups.files.streams import write_all

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
# O_PATH needs no right to list the directory; macOS has none.
_FOLDER: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_PERMISSIONS: Final = 0o777
# The access list decides what the group's bits of the mode mean. A label of SELinux decides who may read a file.
_KEPT_ATTRIBUTES: Final = ("system.posix_acl_access", "security.selinux")
# Where the file system has no attributes, or this file has no such one.
_NO_ATTRIBUTE: Final = frozenset({errno.ENODATA, errno.ENOTSUP})
# Where a file system cannot wait for the disk, it has no disk to wait for.
_NO_SYNC: Final = frozenset({errno.EINVAL, errno.ENOSYS, errno.ENOTSUP})


class Draft(NamedTuple):
    """An open file without content, and where it is; both names are in the directory `folder`."""

    descriptor: int
    folder: int
    name: str
    target: str

    def write(self, content: bytes) -> None:
        """Write the whole content, and wait until it is on the disk."""
        write_all(self.descriptor, content)
        sync(self.descriptor)

    def link_target(self) -> None:
        """Give the draft the name of its target, too, which must be free. Raises FileExistsError if it is not."""
        os.link(self.name, self.target, src_dir_fd=self.folder, dst_dir_fd=self.folder)
        try:
            sync_names(self.folder)
        except BaseException:
            # A file that may not be on the disk was not created.
            os.unlink(self.target, dir_fd=self.folder)
            raise

    def replace_target(self) -> None:
        """Give the draft the name of its target, in one step, and wait until the name is on the disk."""
        os.rename(self.name, self.target, src_dir_fd=self.folder, dst_dir_fd=self.folder)
        sync_names(self.folder)


@contextmanager
def open_draft(target: str, mode: int) -> Iterator[Draft]:
    """Create a draft beside the target, and delete it at the end unless it has taken the target's place."""
    folder = os.open(os.path.dirname(target) or ".", _FOLDER)
    try:
        # The name is short, so that it fits wherever the target's does.
        name = f".{os.urandom(8).hex()}.draft"
        descriptor = os.open(name, _NEW, mode, dir_fd=folder)
        try:
            yield Draft(descriptor, folder, name, os.path.basename(target))
        finally:
            os.close(descriptor)
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
    finally:
        os.close(folder)


def copy_access(source: int, target: int) -> None:
    """Give an open file the owner, the permissions and the access list of another. Raises OSError if it may not.

    The bits set-user-ID and set-group-ID are dropped, as the kernel does when a file is written.
    """
    old = os.fstat(source)
    new = os.fstat(target)
    if (old.st_uid, old.st_gid) != (new.st_uid, new.st_gid):
        os.fchown(target, old.st_uid, old.st_gid)
    for name in _KEPT_ATTRIBUTES if hasattr(os, "getxattr") else ():
        value = _attribute(source, name)
        if value == _attribute(target, name):
            continue
        if value is None:
            os.removexattr(target, name)  # the directory's default access list gave it one
        else:
            os.setxattr(target, name, value)
    os.fchmod(target, old.st_mode & _PERMISSIONS)


def _attribute(descriptor: int, name: str) -> bytes | None:
    try:
        return os.getxattr(descriptor, name)
    except OSError as error:
        if error.errno not in _NO_ATTRIBUTE:
            raise
        return None


def sync(descriptor: int) -> None:
    """Wait until a file is on the disk."""
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise


def sync_names(folder: int) -> None:
    """Wait until the names in a directory are on the disk, if this user may list it."""
    with suppress(PermissionError):
        descriptor = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=folder)
        try:
            sync(descriptor)
        finally:
            os.close(descriptor)
