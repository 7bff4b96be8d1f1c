"""One process at a time: locks that a dead process does not keep."""

from __future__ import annotations

import fcntl
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, Final

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.storage.root_directory import RootDirectory
from kafka_groups.pipeline.storage.storage_errors import as_storage_error

LOCKS: Final = ".locks"


@contextmanager
def hold(place: RootDirectory, name: str) -> Iterator[None]:
    """Hold the lock of this name, which the kernel releases when the process dies; object stores have none.

    StorageError that says who has it.
    """
    if not place.is_local:
        yield
        return
    place.make(place.join(LOCKS))
    path = place.join(LOCKS, f"{name}.json")
    with as_storage_error("lock", path):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        if not _locked(handle):
            message = f"{place.into} is locked ({name}) by {_holder(place, path)}; wait for it, or end it"
            raise StorageError(message)
        with as_storage_error("write", path):
            os.ftruncate(handle, 0)
            os.pwrite(handle, _owner().encode(), 0)
        try:
            yield
        finally:
            os.ftruncate(handle, 0)
    finally:
        os.close(handle)


def _locked(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _owner() -> str:
    since = datetime.now(UTC).isoformat(timespec="milliseconds")
    return json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since})


def _holder(place: RootDirectory, path: str) -> str:
    owner = _read(place, path)
    if "pid" not in owner:
        return "another process"
    return f"process {owner['pid']} on {owner.get('host')} (since {owner.get('since')})"


def _read(place: RootDirectory, path: str) -> dict[str, Any]:
    try:
        found = json.loads(place.read_text(path) or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
