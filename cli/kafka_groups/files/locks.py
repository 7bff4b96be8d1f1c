"""Locks between processes, in files, by the package filelock."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class LockedError(OSError):
    """Raised where another process holds a lock; `holder` is a text that names that process."""

    def __init__(self, holder: str) -> None:
        super().__init__(f"locked by {holder}")
        self.holder = holder


@contextmanager
def lock(path: Path, *, timeout_s: float | None = None) -> Iterator[None]:
    """Hold a lock that excludes other processes and other threads, and make its directory where it is missing.

    Waits for at most `timeout_s` seconds, without an end if None. Raises TimeoutError if another process or thread
    holds the lock for that long, and OSError if the file cannot be created.
    """
    # The bare install has no command that locks; see the extra `sandbox`.
    from filelock import FileLock

    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path, timeout=-1 if timeout_s is None else timeout_s, thread_local=False):
        yield


@contextmanager
def lock_until_exit(path: str) -> Iterator[None]:
    """Hold a lock that the kernel ends with the process, however it ends. The file names its holder and stays.

    Raises LockedError at once if another process holds it, and OSError if the file cannot be written, or if its file
    system has no locks.
    """
    # The bare install has no command that locks; see the extra `pipeline`.
    from filelock import FileLock, Timeout

    # Where the kernel has no locks, filelock would create a file instead, which outlives a killed process.
    file_lock = FileLock(path, timeout=0, thread_local=False, fallback_to_soft=False, on_acquired=_write_holder)
    try:
        file_lock.acquire()
    except Timeout as error:
        holder = Path(path).read_text(errors="replace")
        raise LockedError(holder or "another process") from error
    try:
        yield
    finally:
        # The file may have been deleted, and the text in it means nothing without the lock.
        with suppress(OSError):
            os.truncate(path, 0)
        file_lock.release()


def _write_holder(descriptor: int) -> None:
    """Write which process holds the lock, on which machine and since when, in place of what the file held."""
    import socket
    from datetime import UTC, datetime

    since = datetime.now(UTC).isoformat(timespec="milliseconds")
    os.truncate(descriptor, 0)
    os.write(descriptor, f"process {os.getpid()} on {socket.gethostname()} (since {since})".encode())
