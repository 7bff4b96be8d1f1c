"""The handlers of the operations, a module each, which is imported when one of its names is used.

A command needs one or two of them, and all of them take as long to import as `list` takes to read 2,000 groups.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kafka_groups.admin.handlers.alter_consumer_group_offsets import AlterConsumerGroupOffsetsHandler
    from kafka_groups.admin.handlers.alter_share_group_offsets import AlterShareGroupOffsetsHandler
    from kafka_groups.admin.handlers.delete_consumer_group_offsets import DeleteConsumerGroupOffsetsHandler
    from kafka_groups.admin.handlers.delete_consumer_groups import DeleteConsumerGroupsHandler
    from kafka_groups.admin.handlers.delete_share_group_offsets import DeleteShareGroupOffsetsHandler
    from kafka_groups.admin.handlers.describe_cluster import (
        ClusterDescription,
        ClusterMetadataHandler,
        DescribeClusterHandler,
    )
    from kafka_groups.admin.handlers.describe_features import DescribeFeaturesHandler
    from kafka_groups.admin.handlers.describe_producers import DescribeProducersHandler
    from kafka_groups.admin.handlers.describe_topic_configs import DescribeTopicConfigsHandler
    from kafka_groups.admin.handlers.describe_topics import DescribeTopicsHandler
    from kafka_groups.admin.handlers.list_consumer_group_offsets import ListConsumerGroupOffsetsHandler
    from kafka_groups.admin.handlers.list_groups import ListGroupsHandler, merge_listings
    from kafka_groups.admin.handlers.list_offsets import ListOffsetsHandler
    from kafka_groups.admin.handlers.list_share_group_offsets import ListShareGroupOffsetsHandler
    from kafka_groups.admin.handlers.list_topics import ListTopicsHandler
    from kafka_groups.admin.handlers.offsets_for_times import OffsetAndTimestamp, OffsetsForTimesHandler, PartitionTime
    from kafka_groups.admin.handlers.remove_members_from_consumer_group import RemoveMembersFromConsumerGroupHandler
    from kafka_groups.protocol.features import Features

_MODULES: Final = {
    "AlterConsumerGroupOffsetsHandler": "alter_consumer_group_offsets",
    "AlterShareGroupOffsetsHandler": "alter_share_group_offsets",
    "ClusterDescription": "describe_cluster",
    "ClusterMetadataHandler": "describe_cluster",
    "DeleteConsumerGroupOffsetsHandler": "delete_consumer_group_offsets",
    "DeleteConsumerGroupsHandler": "delete_consumer_groups",
    "DeleteShareGroupOffsetsHandler": "delete_share_group_offsets",
    "DescribeClusterHandler": "describe_cluster",
    "DescribeFeaturesHandler": "describe_features",
    "DescribeProducersHandler": "describe_producers",
    "DescribeTopicConfigsHandler": "describe_topic_configs",
    "DescribeTopicsHandler": "describe_topics",
    "Features": "describe_features",
    "ListConsumerGroupOffsetsHandler": "list_consumer_group_offsets",
    "ListGroupsHandler": "list_groups",
    "ListOffsetsHandler": "list_offsets",
    "ListShareGroupOffsetsHandler": "list_share_group_offsets",
    "ListTopicsHandler": "list_topics",
    "OffsetAndTimestamp": "offsets_for_times",
    "OffsetsForTimesHandler": "offsets_for_times",
    "PartitionTime": "offsets_for_times",
    "RemoveMembersFromConsumerGroupHandler": "remove_members_from_consumer_group",
    "merge_listings": "list_groups",
}

__all__ = [
    "AlterConsumerGroupOffsetsHandler",
    "AlterShareGroupOffsetsHandler",
    "ClusterDescription",
    "ClusterMetadataHandler",
    "DeleteConsumerGroupOffsetsHandler",
    "DeleteConsumerGroupsHandler",
    "DeleteShareGroupOffsetsHandler",
    "DescribeClusterHandler",
    "DescribeFeaturesHandler",
    "DescribeProducersHandler",
    "DescribeTopicConfigsHandler",
    "DescribeTopicsHandler",
    "Features",
    "ListConsumerGroupOffsetsHandler",
    "ListGroupsHandler",
    "ListOffsetsHandler",
    "ListShareGroupOffsetsHandler",
    "ListTopicsHandler",
    "OffsetAndTimestamp",
    "OffsetsForTimesHandler",
    "PartitionTime",
    "RemoveMembersFromConsumerGroupHandler",
    "merge_listings",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    # From now on Python finds the name without this function.
    value = globals()[name] = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value
