"""Locks between processes, in files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class LockedError(OSError):
    """A lock that another process holds; `holder` is a text that names it."""

    def __init__(self, holder: str) -> None:
        super().__init__(f"locked by {holder}")
        self.holder = holder


@contextmanager
def lock(path: Path, *, timeout_s: float | None = None) -> Iterator[None]:
    """Hold a lock that excludes other processes and other threads, and make its directory where it is missing.

    Waits for at most `timeout_s` seconds, without an end if None. Raises TimeoutError if somebody else
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

    Raises LockedError at once if another process holds it, and OSError if the file cannot be written.
    """
    import fcntl  # here, because Windows has none
    import socket
    from datetime import UTC, datetime

    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    with os.fdopen(descriptor, "r+b", buffering=0) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LockedError(file.read().decode(errors="replace") or "another process") from error
        since = datetime.now(UTC).isoformat(timespec="milliseconds")
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()} (since {since})".encode())
        try:
            yield
        finally:
            file.truncate(0)
