"""OffsetCommit: commits offsets of one group."""

from kafka_groups.protocol import INT16, INT32, INT64, STRING, Array, Field
from kafka_groups.protocol.schema import Api

_REQUEST_PARTITION = (
    Field("partition_index", INT32),
    Field("committed_offset", INT64),
    Field("committed_leader_epoch", INT32, since=6, default=-1),
    Field("committed_metadata", STRING, nullable_since=0),
)
_RESPONSE_PARTITION = (Field("partition_index", INT32), Field("error_code", INT16))

OFFSET_COMMIT = Api(
    key=8,
    name="OffsetCommit",
    lowest=2,
    # Version 10 replaces topic names by ids.
    highest=9,
    flexible_since=8,
    throttle_since=3,
    first_release="0.9",
    request=(
        Field("group_id", STRING),
        Field("generation_id_or_member_epoch", INT32, default=-1),
        Field("member_id", STRING),
        Field("group_instance_id", STRING, since=7, nullable_since=7, default=None),
        Field("retention_time_ms", INT64, until=4, default=-1),
        Field("topics", Array((Field("name", STRING), Field("partitions", Array(_REQUEST_PARTITION))))),
    ),
    response=(
        Field("throttle_time_ms", INT32, since=3),
        Field("topics", Array((Field("name", STRING), Field("partitions", Array(_RESPONSE_PARTITION))))),
    ),
)
