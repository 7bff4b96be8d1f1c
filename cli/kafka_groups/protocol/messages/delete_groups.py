"""DeleteGroups: deletes groups without members, with their commits (KIP-229)."""

from kafka_groups.protocol import INT16, INT32, STRING, Array, Field
from kafka_groups.protocol.schema import Api

DELETE_GROUPS = Api(
    key=42,
    name="DeleteGroups",
    lowest=0,
    # Version 3 (Kafka 4.4) adds the message of each group.
    highest=3,
    flexible_since=2,
    throttle_since=0,
    first_release="1.1",
    request=(Field("groups_names", Array(STRING)),),
    response=(
        Field("throttle_time_ms", INT32),
        Field(
            "results",
            Array(
                (
                    Field("group_id", STRING),
                    Field("error_code", INT16),
                    Field("error_message", STRING, since=3, nullable_since=3, default=None),
                )
            ),
        ),
    ),
)
