"""The views of `list`: a row is a GroupListing, or with --topic a TopicGroup."""

from __future__ import annotations

from typing import Final

from kafka_groups.kinds import GROUP_STATES, group_types
from kafka_groups.rendering.columns import View, name_column, number_column, text_column
from kafka_groups.rendering.schemas import Schema, document_schema, number_schema, text_schema

GROUP: Final = name_column("GROUP", "group", kafka_width=15, schema=text_schema("The group's id."))
TYPE: Final = text_column(
    "TYPE",
    "type",
    option="--type",
    kafka_width=20,
    kafka_missing="Unknown",
    schema=text_schema(
        f"{', '.join(group_types())}, as Kafka's tools print them; null if the broker does not return it.",
        nullable=True,
    ),
)
STATE: Final = text_column(
    "STATE",
    "state",
    option="--state",
    kafka_width=20,
    kafka_missing="Unknown",
    schema=text_schema(
        f"{', '.join(GROUP_STATES)}, as Kafka's tools print them; null if it is unknown.", nullable=True
    ),
)
PROTOCOL: Final = text_column(
    "PROTOCOL",
    "protocol_type",
    option="--verbose",
    kafka_width=20,
    schema=text_schema(
        "consumer, connect, share, streams or another; empty for a group that only has commits.", nullable=True
    ),
)
LISTING: Final = View((GROUP, TYPE, STATE, PROTOCOL))
encode_listing: Final = LISTING.encoder()
TOPIC_GROUPS: Final = View(
    (
        GROUP,
        TYPE,
        STATE._replace(option=None),
        PROTOCOL,
        number_column(
            "MEMBERS",
            "members",
            schema=number_schema(
                "With --topic: the members that own partitions of the topics; null if it is unknown, because an "
                "assignment cannot be read, the group is rebalancing, or it could not be described.",
            ),
        ),
        number_column(
            "COMMITTED-PARTITIONS",
            "committed_partitions",
            schema=number_schema("With --topic: the partitions of the topics with a commit.", nullable=False),
        ),
    )
)
encode_topic_group: Final = TOPIC_GROUPS.encoder()


def list_schema() -> Schema:
    """Return the JSON Schema of `list`; with --topic, groups have two keys more."""
    schema = document_schema(
        "list", LISTING.properties(), {"row": LISTING.properties(), "row_of_topic": TOPIC_GROUPS.properties()}
    )
    schema["properties"]["groups"]["items"] = {"anyOf": [TOPIC_GROUPS.schema(), LISTING.schema()]}
    return schema
