"""DescribeProducers: the producers that wrote to partitions, with their open transactions (KIP-664)."""

from kafka_groups.protocol import INT16, INT32, INT64, STRING, Array, Field
from kafka_groups.protocol.schema import Api

_PRODUCER = (
    Field("producer_id", INT64),
    Field("producer_epoch", INT32),
    Field("last_sequence", INT32, default=-1),
    Field("last_timestamp", INT64, default=-1),
    Field("coordinator_epoch", INT32),
    Field("current_txn_start_offset", INT64, default=-1),
)
_PARTITION = (
    Field("partition_index", INT32),
    Field("error_code", INT16),
    Field("error_message", STRING, nullable_since=0, default=None),
    Field("active_producers", Array(_PRODUCER)),
)

DESCRIBE_PRODUCERS = Api(
    key=61,
    name="DescribeProducers",
    lowest=0,
    highest=0,
    flexible_since=0,
    throttle_since=0,
    first_release="2.8",
    request=(
        Field(
            "topics",
            Array(
                (
                    Field("name", STRING),
                    Field("partition_indexes", Array(INT32)),
                )
            ),
        ),
    ),
    response=(
        Field("throttle_time_ms", INT32),
        Field(
            "topics",
            Array(
                (
                    Field("name", STRING),
                    Field("partitions", Array(_PARTITION)),
                )
            ),
        ),
    ),
)
