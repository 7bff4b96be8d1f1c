"""ListOffsets: the offset of a partition at a timestamp, or the log start or log end offset."""

from kafka_groups.protocol import INT8, INT16, INT32, INT64, STRING, Array, Field
from kafka_groups.protocol.schema import Api

ISOLATION_SINCE = 2

LIST_OFFSETS = Api(
    key=2,
    name="ListOffsets",
    lowest=1,
    highest=10,
    flexible_since=6,
    throttle_since=2,
    request=(
        Field("replica_id", INT32, default=-1),
        Field("isolation_level", INT8, since=ISOLATION_SINCE),
        Field(
            "topics",
            Array(
                (
                    Field("name", STRING),
                    Field(
                        "partitions",
                        Array(
                            (
                                Field("partition_index", INT32),
                                Field("current_leader_epoch", INT32, since=4, default=-1),
                                Field("timestamp", INT64),
                            )
                        ),
                    ),
                )
            ),
        ),
        Field("timeout_ms", INT32, since=10),
    ),
    response=(
        Field("throttle_time_ms", INT32, since=2),
        Field(
            "topics",
            Array(
                (
                    Field("name", STRING),
                    Field(
                        "partitions",
                        Array(
                            (
                                Field("partition_index", INT32),
                                Field("error_code", INT16),
                                Field("timestamp", INT64, default=-1),
                                Field("offset", INT64, default=-1),
                                Field("leader_epoch", INT32, since=4, default=-1),
                            )
                        ),
                    ),
                )
            ),
        ),
    ),
)
