"""The views of `list`: a row is a GroupListing, or with --topic a TopicGroup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from kafka_groups.kinds import GROUP_STATES, group_types
from kafka_groups.rendering.columns import Column, Entry, View, name_column, number_column, text_column
from kafka_groups.rendering.schemas import (
    Schema,
    document_schema,
    number_schema,
    object_schema,
    text_schema,
    with_cluster,
)
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.writers import Writer, open_writer

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
_encode_listing: Final = LISTING.encoder()
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
                "With --topic: the members that own partitions of the topics, and members of share groups that "
                "subscribe to one and have no partition of it yet; null if it is unknown, because an "
                "assignment cannot be read, the group is rebalancing, or it could not be described.",
            ),
        ),
        number_column(
            "COMMITTED-PARTITIONS",
            "committed_partitions",
            schema=number_schema(
                "With --topic: the partitions of the topics with a commit, or a start offset; null if a start offset "
                "is unknown."
            ),
        ),
    )
)
_encode_topic_group: Final = TOPIC_GROUPS.encoder()


class ListView(NamedTuple):
    """The list with the columns that options add. `end_of_id` is set for bare ids: a newline or NUL."""

    columns: Sequence[Column]
    output_format: str
    end_of_id: str | None = None
    of_topics: bool = False

    def make_writer(self, screen: Screen) -> Writer:
        """Return the writer of the format; in a pipe, a table of one column is bare ids."""
        is_bare = len(self.columns) == 1 and self.output_format in {"table", "kafka"} and not screen.names_clusters
        if self.end_of_id or (is_bare and (self.output_format == "kafka" or not screen.out_is_terminal)):
            from kafka_groups.rendering.writers.ids import IdWriter

            return IdWriter(screen, GROUP, end_of_value=self.end_of_id or "\n")
        if self.output_format == "kafka":
            from kafka_groups.rendering.writers.kafka import KafkaListWriter

            return KafkaListWriter(screen, self.columns)
        view = TOPIC_GROUPS if self.of_topics else LISTING
        return open_writer(screen, self.output_format, command="list", view=view, columns=self.columns)

    def entries(self, groups: Sequence[Any]) -> Iterator[Entry]:
        """Yield an entry for each group in JSON and of topics, else one for all groups, as their rows are alike."""
        encode = _encode_topic_group if self.of_topics else _encode_listing
        if self.output_format == "json" or self.of_topics:
            yield from (Entry(self.columns, (group,), partial(encode, group)) for group in groups)
        elif groups:
            yield Entry(self.columns, groups, dict)


def list_schema() -> Schema:
    """Return the JSON Schema of `list`; with --topic, groups have two keys more."""
    schema = document_schema(
        "list", LISTING.properties(), {"row": LISTING.properties(), "row_of_topic": TOPIC_GROUPS.properties()}
    )
    schema["properties"]["groups"]["items"] = {
        "anyOf": [object_schema(with_cluster(view.properties())) for view in (TOPIC_GROUPS, LISTING)]
    }
    return schema
