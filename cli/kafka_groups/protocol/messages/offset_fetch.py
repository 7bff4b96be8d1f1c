"""OffsetFetch: the committed offsets of groups; all topics since version 2 (KIP-88), many groups since 8 (KIP-709)."""

from kafka_groups.protocol import BOOL, INT16, INT32, INT64, STRING, Array, Field
from kafka_groups.protocol.schema import Api

ALL_TOPICS_SINCE = 2
REQUIRE_STABLE_SINCE = 7
BATCHED_SINCE = 8
_LAST_SINGLE = BATCHED_SINCE - 1

_REQUEST_TOPIC = (Field("name", STRING), Field("partition_indexes", Array(INT32)))
PARTITION = (
    Field("partition_index", INT32),
    Field("committed_offset", INT64),
    Field("committed_leader_epoch", INT32, since=5, default=-1),
    Field("metadata", STRING, nullable_since=0),
    Field("error_code", INT16),
)
TOPIC = (Field("name", STRING), Field("partitions", Array(PARTITION)))

OFFSET_FETCH = Api(
    key=9,
    name="OffsetFetch",
    lowest=1,
    # Version 10 replaces topic names by ids and would lose topics whose id is unknown.
    highest=9,
    flexible_since=6,
    throttle_since=3,
    request=(
        Field("group_id", STRING, until=_LAST_SINGLE),
        Field("topics", Array(_REQUEST_TOPIC), until=_LAST_SINGLE, nullable_since=ALL_TOPICS_SINCE, default=None),
        Field(
            "groups",
            Array(
                (
                    Field("group_id", STRING),
                    # For an empty member id a KIP-848 group returns UNKNOWN_MEMBER_ID.
                    Field("member_id", STRING, since=9, nullable_since=9, default=None),
                    Field("member_epoch", INT32, since=9, default=-1),
                    Field("topics", Array(_REQUEST_TOPIC), nullable_since=8, default=None),
                )
            ),
            since=BATCHED_SINCE,
        ),
        Field("require_stable", BOOL, since=REQUIRE_STABLE_SINCE),
    ),
    response=(
        Field("throttle_time_ms", INT32, since=3),
        Field("topics", Array(TOPIC), until=_LAST_SINGLE),
        Field("error_code", INT16, since=2, until=_LAST_SINGLE),
        Field(
            "groups",
            Array((Field("group_id", STRING), Field("topics", Array(TOPIC)), Field("error_code", INT16))),
            since=BATCHED_SINCE,
        ),
    ),
)
