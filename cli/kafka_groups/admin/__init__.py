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
from kafka_groups.admin.producer_state import ProducerState

if TYPE_CHECKING:
    from kafka_groups.admin.handlers import ClusterDescription, Features, OffsetAndTimestamp, PartitionTime
    from kafka_groups.admin.network.connection_evidence import ClusterEvidence, ConnectionEvidence

_OF_HANDLERS: Final = {"ClusterDescription", "Features", "OffsetAndTimestamp", "PartitionTime"}
_OF_CHECKS: Final = {"ClusterEvidence", "ConnectionEvidence"}

__all__ = [
    "Admin",
    "ClusterDescription",
    "ClusterEvidence",
    "ConnectionEvidence",
    "Deadline",
    "Features",
    "GroupAdmin",
    "IsolationLevel",
    "MemberIdentity",
    "OffsetAndTimestamp",
    "OffsetSpec",
    "PartitionTime",
    "ProducerState",
    "RecordPosition",
    "RecordTime",
    "Timeout",
    "Topic",
]


def __getattr__(name: str) -> Any:
    if name in _OF_CHECKS:
        from kafka_groups.admin.network import connection_evidence

        return getattr(connection_evidence, name)
    if name not in _OF_HANDLERS:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    return getattr(handlers, name)
