"""The partition of `__consumer_offsets` that has the records of a group."""

from __future__ import annotations

import struct


def partition_of(group: str, partitions: int) -> int:
    """Return the number of the partition with all records of a group; the topic has `partitions` partitions, 0 to n-1.

    The result is that of Kafka's GroupCoordinatorService.partitionFor.
    """
    unsigned_hash = 0
    # Java's String.hashCode takes UTF-16 code units; a character beyond the first 65,536 has two.
    for (unit,) in struct.iter_unpack(">H", group.encode("utf-16-be", "surrogatepass")):
        unsigned_hash = (31 * unsigned_hash + unit) & 0xFFFF_FFFF
    # Java's hash is a signed number, and the smaller one of these two is its absolute value.
    absolute_hash = min(unsigned_hash, 2**32 - unsigned_hash)
    # The absolute value of Integer.MIN_VALUE is no integer of Java, so Kafka's Utils.abs returns 0 for it.
    return absolute_hash % 2**31 % partitions
