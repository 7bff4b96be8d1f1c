"""The Admin client for groups, in the shape of Kafka's Admin API (KIP-88, KIP-518, KIP-699, KIP-709).

    with GroupAdmin({"bootstrap.servers": "localhost:9092"}) as admin:
        results = admin.list_consumer_group_offsets({"checkout": None, "billing": [("payments", 0)]})
        print(results.succeeded["checkout"])    # its committed offsets, by partition
        print(results.failed)                   # a failure for each group that has no result

`client` has the operations, `change_client` those that change groups, `cluster_client` their base, `driver` their
state, `lookup` finds brokers, `handlers` build requests and handle responses, `network` sends and receives bytes,
`event_loop` runs drivers on the network, and `repeats` decides what is sent again because a broker is late.
"""

from typing import TYPE_CHECKING, Any, Final

from kafka_groups.admin import handlers
from kafka_groups.admin.api import (
    Admin,
    Deadline,
    IsolationLevel,
    MemberIdentity,
    OffsetSpec,
    RecordPosition,
    RecordTime,
    Timeout,
    Topic,
)
from kafka_groups.admin.client import GroupAdmin

if TYPE_CHECKING:
    from kafka_groups.admin.handlers import Features, OffsetAndTimestamp, PartitionTime

_OF_HANDLERS: Final = {"Features", "OffsetAndTimestamp", "PartitionTime"}

__all__ = [
    "Admin",
    "Deadline",
    "Features",
    "GroupAdmin",
    "IsolationLevel",
    "MemberIdentity",
    "OffsetAndTimestamp",
    "OffsetSpec",
    "PartitionTime",
    "RecordPosition",
    "RecordTime",
    "Timeout",
    "Topic",
]


def __getattr__(name: str) -> Any:
    if name not in _OF_HANDLERS:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(handlers, name)
