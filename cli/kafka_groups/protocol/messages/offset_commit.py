"""OffsetCommit: commits offsets of one group, of topics by their names or, since version 10, by their ids."""

from kafka_groups.protocol import INT16, INT32, INT64, STRING, UUID_, Array, Field
from kafka_groups.protocol.schema import Api

# Topic ids replace names (Kafka 4.2).
TOPIC_IDS_SINCE = 10
_LAST_WITH_NAMES = TOPIC_IDS_SINCE - 1

_TOPIC = (Field("name", STRING, until=_LAST_WITH_NAMES), Field("topic_id", UUID_, since=TOPIC_IDS_SINCE))
_REQUEST_PARTITION = (
    Field("partition_index", INT32),
    Field("committed_offset", INT64),
    Field("committed_leader_epoch", INT32, since=6, default=-1),
    Field("committed_metadata", STRING, nullable_since=0),
)
_RESPONSE_PARTITION = (Field("partition_index", INT32), Field("error_code", INT16))


def _offset_commit(highest: int) -> Api:
    return Api(
        key=8,
        name="OffsetCommit",
        lowest=2,
        highest=highest,
        flexible_since=8,
        throttle_since=3,
        first_release="0.9",
        request=(
            Field("group_id", STRING),
            Field("generation_id_or_member_epoch", INT32, default=-1),
            Field("member_id", STRING),
            Field("group_instance_id", STRING, since=7, nullable_since=7, default=None),
            Field("retention_time_ms", INT64, until=4, default=-1),
            Field("topics", Array((*_TOPIC, Field("partitions", Array(_REQUEST_PARTITION))))),
        ),
        response=(
            Field("throttle_time_ms", INT32, since=3),
            Field("topics", Array((*_TOPIC, Field("partitions", Array(_RESPONSE_PARTITION))))),
        ),
    )


OFFSET_COMMIT = _offset_commit(TOPIC_IDS_SINCE)
# For topics whose ids are not known.
OFFSET_COMMIT_BY_NAME = _offset_commit(_LAST_WITH_NAMES)
