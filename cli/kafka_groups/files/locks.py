"""Locks between processes, in files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
