"""The values of share groups (KIP-932): schema files ShareGroup*Value.json of Apache Kafka 4.4.0, all version 0.

4.0, where share groups were an early access, wrote Metadata without its hash and StatePartitionMetadata without
the topics being initialised, under the same version number. What it wrote is too short to be read as of today.
"""

from __future__ import annotations

from typing import Final

from kafka_groups.pipeline.decode.values.shape import ValueSchema
from kafka_groups.protocol import INT8, INT32, INT64, STRING, UUID_, Array, Field

METADATA: Final = ValueSchema((Field("epoch", INT32), Field("metadata_hash", INT64)), once=(Field("epoch", INT32),))

MEMBER_METADATA: Final = ValueSchema(
    (
        Field("rack_id", STRING, nullable_since=0),
        Field("client_id", STRING),
        Field("client_host", STRING),
        Field("subscribed_topic_names", Array(STRING)),
    )
)

CURRENT_MEMBER_ASSIGNMENT: Final = ValueSchema(
    (
        Field("member_epoch", INT32),
        Field("previous_member_epoch", INT32),
        Field("state", INT8),
        Field("assigned_partitions", Array((Field("topic_id", UUID_), Field("partitions", Array(INT32))))),
    )
)

_TOPIC_PARTITIONS: Final = Array(
    (Field("topic_id", UUID_), Field("topic_name", STRING), Field("partitions", Array(INT32)))
)

_SINCE_4_0: Final = (
    Field("initialized_topics", _TOPIC_PARTITIONS),
    Field("deleting_topics", Array((Field("topic_id", UUID_), Field("topic_name", STRING)))),
)

STATE_PARTITION_METADATA: Final = ValueSchema(
    (Field("initializing_topics", _TOPIC_PARTITIONS), *_SINCE_4_0), once=_SINCE_4_0
)
