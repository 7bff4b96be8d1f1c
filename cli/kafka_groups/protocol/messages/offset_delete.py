"""OffsetDelete: deletes committed offsets of one group (KIP-496)."""

from kafka_groups.protocol import INT16, INT32, STRING, Array, Field
from kafka_groups.protocol.schema import Api

_RESPONSE_PARTITION = (Field("partition_index", INT32), Field("error_code", INT16))

OFFSET_DELETE = Api(
    key=47,
    name="OffsetDelete",
    lowest=0,
    highest=0,
    flexible_since=1,
    first_release="2.4",
    request=(
        Field("group_id", STRING),
        Field("topics", Array((Field("name", STRING), Field("partitions", Array((Field("partition_index", INT32),)))))),
    ),
    response=(
        # Unlike in other responses, the throttle time is not the first field.
        Field("error_code", INT16),
        Field("throttle_time_ms", INT32),
        Field("topics", Array((Field("name", STRING), Field("partitions", Array(_RESPONSE_PARTITION))))),
    ),
)
