"""The Admin client for groups, in the shape of Kafka's Admin API (KIP-88, KIP-518, KIP-699, KIP-709).

    with GroupAdmin(settings) as admin:
        results = admin.list_consumer_group_offsets({"orders": None, "billing": [("payments", 0)]})
        results.succeeded["orders"]    # its committed offsets, by partition
        results.failed                 # a failure for each group that has no result

`client` has the operations, `driver` their state, `lookup` finds brokers, `handlers` build requests and handle
responses, `network` sends and receives bytes, and `event_loop` runs drivers on the network.
"""

from kafka_groups.admin.api import Admin, Deadline, IsolationLevel, OffsetSpec, Timeout
from kafka_groups.admin.client import GroupAdmin
from kafka_groups.admin.handlers.describe_features import Features
from kafka_groups.admin.handlers.list_topics import Topic
from kafka_groups.admin.handlers.offsets_for_times import OffsetAndTimestamp, PartitionTime

__all__ = [
    "Admin",
    "Deadline",
    "Features",
    "GroupAdmin",
    "IsolationLevel",
    "OffsetAndTimestamp",
    "OffsetSpec",
    "PartitionTime",
    "Timeout",
    "Topic",
]
