"""File systems that refuse: a disk as small as a test wants it, and one that takes nothing."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(where: Path, *, megabytes: float) -> Iterator[Path]:
    """Yield a file system of that size, for root; the test is skipped where mounting is forbidden."""
    where.mkdir()
    options = f"size={int(megabytes * 1024)}k"
    mounted = subprocess.run(["/bin/mount", "-t", "tmpfs", "-o", options, "none", str(where)], check=False)
    if mounted.returncode:
        pytest.skip("mounting is forbidden here")
    try:
        yield where
    finally:
        # Lazily: a JVM may have files open still.
        subprocess.run(["/bin/umount", "-l", str(where)], check=True)


def make_read_only(disk: Path) -> None:
    """Make the disk refuse all writes from now on."""
    subprocess.run(["/bin/mount", "-o", "remount,ro", str(disk)], check=True)
