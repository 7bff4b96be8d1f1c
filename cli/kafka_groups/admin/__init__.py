"""The door to a cluster's groups, shaped after the Admin API of KIP-88, KIP-518, KIP-699 and KIP-709.

    with GroupAdmin(settings) as admin:
        answers = admin.list_consumer_group_offsets({"orders": None, "billing": [("payments", 0)]})
        answers.succeeded["orders"]        # what it has committed, by partition
        answers.failed                 # what could not be answered, and why, item by item

`routing` decides who is asked what, `lookups` find brokers, `questions` build requests and read
responses, `wire` moves bytes, `asking` is the loop between them.
"""

from kafka_groups.admin.client import GroupAdmin
from kafka_groups.admin.handlers.describe_features import Features
from kafka_groups.admin.handlers.list_topics import Topic
from kafka_groups.admin.handlers.offsets_for_times import PartitionTime, Point
from kafka_groups.admin.offsets import GroupOffsets
from kafka_groups.protocol.messages.list_offsets import EARLIEST, LAST_STABLE, LATEST

__all__ = [
    "EARLIEST",
    "LAST_STABLE",
    "LATEST",
    "Features",
    "GroupAdmin",
    "GroupOffsets",
    "PartitionTime",
    "Point",
    "Topic",
]
