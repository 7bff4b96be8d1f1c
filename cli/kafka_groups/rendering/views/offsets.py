"""The views of `offsets`: a row is a partition of a group with its commit, or with its start offset."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
START_OFFSETS: Final = View(
    (
        GROUP,
        TOPIC,
        PARTITION,
        number_column(
            "START-OFFSET",
            "start_offset",
            schema=number_schema("The start offset of a share group; null if the broker does not know one."),
        ),
        LEADER_EPOCH._replace(schema=number_schema("The leader epoch of the start offset; null if it is unknown.")),
        number_column(
            "LAG",
            "lag",
            schema=number_schema("The records whose delivery is not final; null if they are unknown."),
        ),
    )
)
# All rows of a table have the columns of one of these views.
_VIEWS: Final = {False: COMMITS, True: START_OFFSETS}


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


class StartOffsetRow(NamedTuple):
    """A partition of a share group; the last three are None if they are unknown."""

    group: str
    topic: str
    partition: int
    start_offset: int | None
    leader_epoch: int | None
    lag: int | None


def start_offset_rows(group: str, offsets: GroupOffsets) -> list[StartOffsetRow]:
    """Return a row for each partition of a share group, by topic and partition."""
    lags = offsets.lags or {}
    return [
        StartOffsetRow(
            group,
            key.topic,
            key.partition,
            start_offset=start.offset if start is not None else None,
            leader_epoch=start.leader_epoch if start is not None else None,
            lag=lags.get(key),
        )
        for key, start in sorted(offsets.rows())
    ]


_encode: Final = {has_starts: view.encoder(without=("group",)) for has_starts, view in _VIEWS.items()}


def offsets_document(group: str, rows: Iterable[CommitRow | StartOffsetRow], *, has_starts: bool = False) -> Document:
    """Return the JSON object of a group; one that `has_starts` has start offsets in place of commits."""
    return {"group": group, "offsets": [_encode[has_starts](row) for row in rows]}


def group_by_table(offsets: Mapping[str, GroupOffsets]) -> Mapping[str, list[str]]:
    """Return the ids of groups by the table that they are in: those with committed offsets, then share groups."""
    tables: dict[str, list[str]] = {}
    for name, has_starts in (("consumer groups", False), ("share groups", True)):
        groups = [group for group, found in offsets.items() if (found.lags is not None) is has_starts]
        if groups:
            tables[name] = groups
    return tables


def offsets_entry(group: str, offsets: GroupOffsets) -> Entry:
    """Return a group as it is written."""
    has_starts = offsets.lags is not None
    rows = start_offset_rows(group, offsets) if has_starts else commit_rows(group, offsets.rows())
    view = _VIEWS[has_starts]
    return Entry(
        view.columns,
        rows,
        partial(offsets_document, group, rows, has_starts=has_starts),
        view=view,
        csv_columns=view.columns,
    )


def offsets_schema() -> Schema:
    """Return the JSON Schema of `offsets`."""
    rows = {"anyOf": [view.schema(without=("group",)) for view in _VIEWS.values()]}
    description = "The partitions with a commit, or a start offset of a share group, and those that --topic names."
    return document_schema(
        "offsets",
        {"group": COMMITS.properties()["group"], "offsets": array_schema(description, rows)},
        {"row": COMMITS.properties(), "share_row": START_OFFSETS.properties()},
    )
