"""The bytes of workers of Kafka Connect, put together by hand."""

from __future__ import annotations

import struct


def string(text: str) -> bytes:
    return struct.pack(">h", len(text)) + text.encode()


def work(*connectors: tuple[str, tuple[int, ...]]) -> bytes:
    """Return the bytes of an array of connectors with tasks."""
    rows = (string(name) + struct.pack(f">i{len(tasks)}i", len(tasks), *tasks) for name, tasks in connectors)
    return struct.pack(">i", len(connectors)) + b"".join(rows)


def assigned(version: int, packed_work: bytes) -> bytes:
    """Return an assignment without the fields after the assigned work."""
    return struct.pack(">hh", version, 0) + string("w-2") + string("http://w-2/") + struct.pack(">q", 3) + packed_work


def state(version: int, allocation: bytes | None = None) -> bytes:
    """Return the metadata of a worker."""
    packed = struct.pack(">h", version) + string("http://w-1/") + struct.pack(">q", 3)
    if version == 0:
        return packed
    return packed + (struct.pack(">i", -1) if allocation is None else struct.pack(">i", len(allocation)) + allocation)
