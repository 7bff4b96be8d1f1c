"""Atomic file writes, and locks between processes."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

PUBLIC: Final = 0o666
PRIVATE: Final = 0o600


def write_atomically(path: Path, content: str | bytes, *, mode: int = PUBLIC) -> None:
    """Replace the content of a file in one step, so that a reader sees the old content or the new one.

    Text is encoded as UTF-8. A symbolic link stays a link: the file that it points to is replaced. An existing file
    keeps its mode; a new one gets `mode`, less the umask. Raises OSError, and then leaves the old content and no draft.
    """
    target = path.resolve()
    draft = target.with_name(f".{secrets.token_hex(8)}.draft")
    try:
        # The draft may hold a password, so nobody else may read it before it has its final mode.
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode & PRIVATE if target.exists() else mode)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
            file.flush()
            os.fsync(descriptor)
            with suppress(FileNotFoundError):
                os.fchmod(descriptor, target.stat().st_mode & 0o7777)
        draft.replace(target)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


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
