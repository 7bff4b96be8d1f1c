"""Which partition of `__consumer_offsets` has a group's records."""

from __future__ import annotations

import struct
from typing import Final

_INT32_MIN: Final = -(2**31)


def partition_of(group: str, partitions: int) -> int:
    """Return the partition of `__consumer_offsets`, out of so many, that all records of this group are in.

    As in GroupCoordinatorService.partitionFor: Utils.abs(group.hashCode()) % partitions.
    """
    if partitions < 1:
        msg = f"a topic of {partitions} partitions has none for any group"
        raise ValueError(msg)
    code = _java_hash(group)
    # Java's Math.abs of the smallest int is negative, so Kafka's Utils.abs makes it 0.
    return (0 if code == _INT32_MIN else abs(code)) % partitions


def _java_hash(text: str) -> int:
    """Return String.hashCode: over UTF-16 code units, so two for each character beyond the first 65,536."""
    units = text.encode("utf-16-be", "surrogatepass")
    code = 0
    for (unit,) in struct.iter_unpack(">H", units):
        code = (31 * code + unit) & 0xFFFF_FFFF
    return code - 2**32 if code >= 2**31 else code
