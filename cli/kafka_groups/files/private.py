"""Files for libraries that read only files: no other user can read them, and nothing of them stays."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from kafka_groups.files.output import PRIVATE
from kafka_groups.files.streams import write_all

_DESCRIPTOR_PATH: Final = "/proc/self/fd/{}"


@contextmanager
def private_file(content: str) -> Iterator[str]:
    """Yield the path of a file that only this user can read; it is in memory where the system has such files.

    A file in memory has no name, so no other user can open it, and it ends with this process (memfd_create of Linux).
    Elsewhere it is a temporary file, which is deleted afterwards.
    """
    with _open_private() as (descriptor, path):
        write_all(descriptor, content.encode())
        yield path


@contextmanager
def _open_private() -> Iterator[tuple[int, str]]:
    memory = _open_memory()
    if memory is not None:
        try:
            yield memory, _DESCRIPTOR_PATH.format(memory)
        finally:
            os.close(memory)
        return
    import tempfile

    descriptor, path = tempfile.mkstemp(prefix="kafka-groups-")
    try:
        yield descriptor, path
    finally:
        os.close(descriptor)
        os.unlink(path)


def _open_memory() -> int | None:
    """Return a descriptor of a file in memory; None where there is none, or where no path leads to it."""
    try:
        descriptor = os.memfd_create("kafka-groups")
    except (AttributeError, OSError):
        return None
    if os.path.exists(_DESCRIPTOR_PATH.format(descriptor)):
        os.fchmod(descriptor, PRIVATE)
        return descriptor
    os.close(descriptor)
    return None
