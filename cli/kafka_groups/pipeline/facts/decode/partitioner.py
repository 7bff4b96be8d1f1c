"""The partition of `__consumer_offsets` that has the records of a group."""

from __future__ import annotations

import struct


def partition_for(group_id: str, partition_count: int) -> int:
    """Return the number of the partition that has all records of a group, as Kafka's GroupCoordinatorService does.

    The topic has `partition_count` partitions, which are numbered from 0.
    """
    unsigned_hash = 0
    # Java's String.hashCode takes UTF-16 code units; a character beyond the first 65,536 has two.
    for (unit,) in struct.iter_unpack(">H", group_id.encode("utf-16-be", "surrogatepass")):
        unsigned_hash = (31 * unsigned_hash + unit) & 0xFFFF_FFFF
    # Java's hash is a signed number, and the smaller one of these two is its absolute value.
    absolute_hash = min(unsigned_hash, 2**32 - unsigned_hash)
    # The absolute value of Integer.MIN_VALUE does not fit into Java's integers, so Kafka's Utils.abs returns 0 for it.
    return absolute_hash % 2**31 % partition_count
