"""The view of `offsets`: a row is a partition of a group with its commit."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final, NamedTuple

from kafka_groups.model import CommittedOffset, GroupOffsets, TopicPartition
from kafka_groups.rendering.columns import Entry, View, name_column, number_column, text_column
from kafka_groups.rendering.schemas import Document, Schema, array_schema, document_schema, number_schema, text_schema
from kafka_groups.rendering.views.list_groups import GROUP

TOPIC: Final = name_column("TOPIC", "topic", kafka_width=15, schema=text_schema("The topic's name."))
PARTITION: Final = number_column(
    "PARTITION", "partition", kafka_width=10, schema=number_schema("The partition's number.", nullable=False)
)
COMMITTED_SCHEMA: Final = number_schema("The committed offset; null without a commit.")
LEADER_EPOCH: Final = number_column(
    "LEADER-EPOCH",
    "leader_epoch",
    kafka_width=15,
    option="--verbose",
    schema=number_schema("The leader epoch of the commit; null if the commit has none."),
)
METADATA: Final = text_column(
    "METADATA",
    "metadata",
    when_narrow="fold",
    option="--verbose",
    schema=text_schema("The metadata of the commit, often empty; null without a commit.", nullable=True),
)
COMMITS: Final = View(
    (
        GROUP,
        TOPIC,
        PARTITION,
        number_column("COMMITTED-OFFSET", "committed_offset", schema=COMMITTED_SCHEMA),
        LEADER_EPOCH,
        METADATA,
    )
)


class CommitRow(NamedTuple):
    """A partition of a group; the last three are None without a commit."""

    group: str
    topic: str
    partition: int
    committed_offset: int | None
    leader_epoch: int | None
    metadata: str | None


def commit_rows(group: str, offsets: Iterable[tuple[TopicPartition, CommittedOffset | None]]) -> list[CommitRow]:
    """Return a row for each partition, by topic and partition."""
    return [
        CommitRow(group, topic, partition, *(commit or (None, None, None)))
        for (topic, partition), commit in sorted(offsets)
    ]


_encode_commit: Final = COMMITS.encoder(without=("group",))


def offsets_document(group: str, rows: Iterable[CommitRow]) -> Document:
    """Return the JSON object of a group."""
    return {"group": group, "offsets": [_encode_commit(row) for row in rows]}


def offsets_entry(group: str, offsets: GroupOffsets) -> Entry:
    """Return a group as it is written."""
    rows = commit_rows(group, offsets.rows())
    return Entry(COMMITS.columns, rows, partial(offsets_document, group, rows))


def offsets_schema() -> Schema:
    """Return the JSON Schema of `offsets`."""
    commit = COMMITS.schema(without=("group",))
    offsets = array_schema("The partitions with a commit, and those that --topic names.", commit)
    return document_schema(
        "offsets", {"group": COMMITS.properties()["group"], "offsets": offsets}, {"row": COMMITS.properties()}
    )
