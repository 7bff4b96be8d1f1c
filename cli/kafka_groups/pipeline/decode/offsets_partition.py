"""Which partition of `__consumer_offsets` has a group's records."""

from __future__ import annotations

import struct


def partition_of(group: str, partitions: int) -> int:
    """Return the partition of `__consumer_offsets`, out of so many, that all records of this group are in.

    As in GroupCoordinatorService.partitionFor: Utils.abs(group.hashCode()) % partitions.
    """
    code = 0
    # Java's String.hashCode goes over UTF-16 code units, so two for each character beyond the first 65,536.
    for (unit,) in struct.iter_unpack(">H", group.encode("utf-16-be", "surrogatepass")):
        code = (31 * code + unit) & 0xFFFF_FFFF
    # As a signed number. Java's Math.abs of the smallest one is negative, so Kafka's Utils.abs makes it 0.
    return min(code, 2**32 - code) % 2**31 % partitions
