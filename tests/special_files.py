"""Special files of a test's own: device nodes, FIFOs with readers, another user, and access lists."""

from __future__ import annotations

import os
import stat
import struct
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

NOBODY = 65534
# The numbers of /dev/null and /dev/full on Linux: a node of a test does what they do, and is not the machine's.
NULL, FULL = (1, 3), (1, 7)
_ACL_VERSION = 2
_OWNER, _USER, _GROUP, _MASK, _OTHER = 0x01, 0x02, 0x04, 0x10, 0x20
_NO_ID = 0xFFFFFFFF


def cannot_run(reason: str) -> NoReturn:
    """Skip a test that needs root; in CI, which runs as root, let it fail."""
    if os.environ.get("CI"):
        pytest.fail(f"{reason}, and CI has to run this test")
    pytest.skip(reason)


def make_device(path: Path, numbers: tuple[int, int] = NULL) -> Path:
    """Create a node for a device that everybody may write to."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(*numbers))
        path.chmod(0o666)
        os.close(os.open(path, os.O_WRONLY))
    except PermissionError:
        cannot_run("making and opening a device node needs root, and a file system that allows devices")
    return path


def is_device(path: Path) -> bool:
    """Return whether the path itself is a node for a character device."""
    return stat.S_ISCHR(path.lstat().st_mode)


def is_fifo(path: Path) -> bool:
    """Return whether the path itself is a FIFO."""
    return stat.S_ISFIFO(path.lstat().st_mode)


@contextmanager
def reader_of(fifo: Path) -> Iterator[list[bytes]]:
    """Create a FIFO that a thread reads; the list has its content when the context has ended."""
    os.mkfifo(fifo)
    content: list[bytes] = []
    reader = threading.Thread(target=lambda: content.append(fifo.read_bytes()), daemon=True)
    reader.start()
    yield content
    reader.join(timeout=10)


@contextmanager
def another_user() -> Iterator[Path]:
    """Let this process be a user without privileges for a while, and yield a directory that everybody may enter."""
    if os.geteuid() != 0:
        cannot_run("becoming another user needs root")
    groups = os.getgroups()
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o777)
        os.setgroups([])
        os.setegid(NOBODY)
        os.seteuid(NOBODY)
        try:
            yield Path(directory)
        finally:
            os.seteuid(0)
            os.setegid(0)
            os.setgroups(groups)


@contextmanager
def as_root() -> Iterator[None]:
    """Be root again inside of `another_user`."""
    os.seteuid(0)
    os.setegid(0)
    try:
        yield
    finally:
        os.setegid(NOBODY)
        os.seteuid(NOBODY)


@contextmanager
def mounted_file(source: Path, target: Path) -> Iterator[None]:
    """Mount a file over another one, as containers do with a single file."""
    done = subprocess.run(["mount", "--bind", str(source), str(target)], check=False, capture_output=True)
    if done.returncode:
        cannot_run("mounting needs root, and a kernel that allows it")
    try:
        yield
    finally:
        subprocess.run(["umount", str(target)], check=True)


def set_access_list(path: Path, *, owner: int, user: int, group: int, mask: int) -> None:
    """Give a file an access list with rights for the user `nobody`, as setfacl does."""
    entries = [(_OWNER, owner, _NO_ID), (_USER, user, NOBODY), (_GROUP, group, _NO_ID), (_MASK, mask, _NO_ID)]
    packed = b"".join(struct.pack("<HHI", *entry) for entry in [*entries, (_OTHER, 0, _NO_ID)])
    kind = "default" if path.is_dir() else "access"
    try:
        os.setxattr(path, f"system.posix_acl_{kind}", struct.pack("<I", _ACL_VERSION) + packed)
    except OSError:
        pytest.skip("this file system has no access lists")


def access_list(path: Path) -> bytes | None:
    """Return the access list of a file; None if it has only a mode."""
    try:
        return os.getxattr(path, "system.posix_acl_access")
    except OSError:
        return None
