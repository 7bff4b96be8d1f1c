"""Which type of group supports which operation."""

from __future__ import annotations

from enum import Enum
from typing import Final

from kafka_groups.model import CONSUMER_PROTOCOL_TYPES, GroupListing


class Operation(Enum):
    """An operation that not every type of group supports."""

    DESCRIBE = "describe"
    LIST_OFFSETS = "list committed offsets"


_SUPPORTED: Final = {
    "Classic": frozenset({Operation.DESCRIBE, Operation.LIST_OFFSETS}),
    "Consumer": frozenset({Operation.DESCRIBE, Operation.LIST_OFFSETS}),
    "Share": frozenset[Operation](),
    "Streams": frozenset[Operation](),
}


def supports(group: GroupListing, operation: Operation) -> bool:
    """Return whether the group's type supports the operation.

    A group without a type was listed by a broker before Kafka 3.8, which has only classic ones. A classic group whose
    protocol is not a consumer's (Connect) supports nothing.
    """
    if operation not in _SUPPORTED.get(group.type or "Classic", ()):
        return False
    return group.protocol_type in CONSUMER_PROTOCOL_TYPES


def kind_of(group: GroupListing) -> str:
    """Return what a user calls the group's kind: its type if no operation supports that, else its protocol."""
    return group.type if group.type is not None and not _SUPPORTED.get(group.type) else group.protocol_type
