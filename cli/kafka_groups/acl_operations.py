"""The operations of Kafka's ACLs, and the sets of them that brokers return (KIP-430)."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

# What a broker returns that was not requested to find the operations out, or cannot.
UNKNOWN_OPERATIONS: Final = -(2**31)


class AclOperation(IntEnum):
    """An operation, with the code of AclOperation.java."""

    READ = 3
    WRITE = 4
    CREATE = 5
    DELETE = 6
    ALTER = 7
    DESCRIBE = 8
    CLUSTER_ACTION = 9
    DESCRIBE_CONFIGS = 10
    ALTER_CONFIGS = 11
    IDEMPOTENT_WRITE = 12
    CREATE_TOKENS = 13
    DESCRIBE_TOKENS = 14
    TWO_PHASE_COMMIT = 15


def operations_of(bits: int) -> frozenset[AclOperation] | None:
    """Return the operations in a field such as `authorized_operations`: bit N is code N. None if they are unknown."""
    if bits == UNKNOWN_OPERATIONS:
        return None
    return frozenset(operation for operation in AclOperation if bits >> operation & 1)
