"""Which type of group supports which operation, as the handlers of the operations declare it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum
from functools import cache

from kafka_groups.model import GroupDescription, GroupListing


class Operation(Enum):
    """An operation that not every type of group supports."""

    DESCRIBE = "describe"
    LIST_OFFSETS = "list committed offsets"


@cache
def _supported(operation: Operation) -> Mapping[str, Collection[str]]:
    """Return the types of group that the operation supports, with the protocol types of their members."""
    # These modules are imported only by commands that describe groups or list offsets.
    if operation is Operation.DESCRIBE:
        from kafka_groups.admin.handlers.describe_consumer_groups import HANDLERS

        return {handler.group_type: handler.protocol_types for handler in HANDLERS}
    from kafka_groups.admin.handlers.list_consumer_group_offsets import ListConsumerGroupOffsetsHandler

    return ListConsumerGroupOffsetsHandler.protocol_types


def supports(group: GroupListing | GroupDescription, operation: Operation) -> bool:
    """Return whether the group supports the operation, by its type and the protocol type of its members.

    A group without a type was listed by a broker before Kafka 3.8, which has only classic ones. A classic group whose
    members are not consumers (Connect) supports nothing.
    """
    return group.protocol_type in _supported(operation).get(group.type or "Classic", ())


def kind_of(group: GroupListing) -> str:
    """Return the name of the group's kind: its type if no operation supports that type, else its protocol type."""
    is_supported = any(group.type in types for types in map(_supported, Operation))
    return group.type if group.type is not None and not is_supported else group.protocol_type
