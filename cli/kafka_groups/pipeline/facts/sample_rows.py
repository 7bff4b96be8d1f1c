"""Rows of a sample's tables, as record batches from one list of values for each column.

A sample of a large cluster has a million commits: a dict for each row would take several times as long. A column that
all rows of a table share (the cluster, the origin, the time) is passed as one value. Columns that a sample does not
know are null.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, Final, TypeAlias

import pyarrow.compute as pc

from kafka_groups.admin import Topic
from kafka_groups.kinds import kind_of
from kafka_groups.model import GroupDescription, GroupListing, GroupOffsets, Member, TopicPartition
from kafka_groups.pipeline.facts.decode.conversions import topic_id_text
from kafka_groups.pipeline.facts.decode.task_elements import task_row, worker_row
from kafka_groups.pipeline.frames.batches import make_batch
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS, SHARE_OFFSETS

# With this number of rows in a batch, Arrow's fixed cost is small, and the batch stays small in memory.
_BATCH_ROWS: Final = 5_000
Offsets: TypeAlias = Mapping[TopicPartition, int | None]
SharedValues: TypeAlias = Mapping[str, Any]


def partition_batches(
    partitions: Sequence[TopicPartition],
    topics: Mapping[str, Topic],
    *,
    log_starts: Offsets,
    log_ends: Offsets,
    last_stable_offsets: Offsets,
    shared: SharedValues,
) -> Iterator[Any]:
    """Yield batches of PARTITION_OFFSETS with a row for each partition, in the given order.

    An offset that is None or absent is null, and so is the id of a topic that is not in `topics`.
    """
    ids = {name: topic_id_text(topic.topic_id.bytes) for name, topic in topics.items() if topic.topic_id}
    for first in range(0, len(partitions), _BATCH_ROWS):
        keys = partitions[first : first + _BATCH_ROWS]
        columns = {
            "topic": [key.topic for key in keys],
            "partition": [key.partition for key in keys],
            "topic_id": [ids.get(key.topic) for key in keys],
            "log_start_offset": [log_starts.get(key) for key in keys],
            "log_end_offset": [log_ends.get(key) for key in keys],
            "last_stable_offset": [last_stable_offsets.get(key) for key in keys],
        }
        yield make_batch(PARTITION_OFFSETS.frame, {**shared, **columns}, fill_null=True)


def group_batches(
    groups: Sequence[GroupListing], descriptions: Mapping[str, GroupDescription], *, shared: SharedValues
) -> Iterator[Any]:
    """Yield batches of GROUP_EVENTS with a row for each listed group: its sampled state.

    A group without a description has the type and the state of the listing; its epoch, assignor and members are null.
    """
    shared = {**shared, "record_name": "Snapshot", "event_type": "state_seen", "is_tombstone": False}
    for first in range(0, len(groups), _BATCH_ROWS):
        listings = groups[first : first + _BATCH_ROWS]
        described = [descriptions.get(listing.group) for listing in listings]
        pairs = [*zip(listings, described, strict=True)]
        columns = {
            "group": [listing.group for listing in listings],
            "protocol_type": [listing.protocol_type for listing in listings],
            "group_type": [(description and description.type) or listing.type for listing, description in pairs],
            "state": [(description and description.state) or listing.state for listing, description in pairs],
            "epoch": [description and description.group_epoch for description in described],
            "protocol": [(description and description.assignor) or None for description in described],
            "members": [description and [*map(_member, description.members)] for description in described],
            "workers": [description and _workers(description) for description in described],
            "tasks": [description and _tasks(description) for description in described],
        }
        yield make_batch(GROUP_EVENTS.frame, {**shared, **columns}, fill_null=True)


def _member(member: Member) -> dict[str, Any]:
    """Return a member as an element of the column `members`; an assignment that is unreadable is None."""
    assignment = None
    if member.assignment is not None:
        assignment = [{"topic": topic.topic, "partitions": [*topic.partitions]} for topic in member.assignment]
    return {
        "member_id": member.member_id,
        "group_instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "client_host": member.host,
        "assignment": assignment,
    }


def _workers(description: GroupDescription) -> list[dict[str, Any]] | None:
    """Return the workers of a Connect group as the column `workers`; None for other groups."""
    if not kind_of(description).has_workers:
        return None
    return [worker_row(member.member_id, member.worker) for member in description.members]


def _tasks(description: GroupDescription) -> list[dict[str, Any]] | None:
    """Return the tasks of the members of a streams group as the column `tasks`; None for other groups."""
    if not kind_of(description).has_tasks:
        return None
    return [
        task_row(member.member_id, member.streams.tasks) for member in description.members if member.streams is not None
    ]


def offset_commit_batches(
    commits: Mapping[str, GroupOffsets], member_counts: Mapping[str, int], *, shared: SharedValues
) -> Iterator[Any]:
    """Yield batches of OFFSET_COMMITS with a row for each committed offset of each group.

    Both mappings are by id of the group. `member_counts` has the groups whose number of members is known.
    """
    shared = {**shared, "is_tombstone": False}
    columns = _CommitColumns()
    for group, offsets in commits.items():
        columns.add(group, offsets, member_counts.get(group))
        if len(columns) >= _BATCH_ROWS:
            yield columns.batch(shared)
            columns = _CommitColumns()
    if len(columns):
        yield columns.batch(shared)


def share_offset_batches(offsets: Mapping[str, GroupOffsets], *, shared: SharedValues) -> Iterator[Any]:
    """Yield batches of SHARE_OFFSETS with a row for each partition of each share group, by id of the group."""
    rows = [
        (group, key.topic, key.partition, start, (of_group.lags or {}).get(key))
        for group, of_group in offsets.items()
        for key, start in of_group.rows()
    ]
    for first in range(0, len(rows), _BATCH_ROWS):
        groups, topics, partitions, starts, lags = zip(*rows[first : first + _BATCH_ROWS], strict=True)
        columns = {
            "group": groups,
            "topic": topics,
            "partition": partitions,
            "start_offset": [start and start.offset for start in starts],
            "leader_epoch": [start and start.leader_epoch for start in starts],
            "lag": lags,
        }
        yield make_batch(SHARE_OFFSETS.frame, {**shared, **columns}, fill_null=True)


class _CommitColumns:
    """Columns of OFFSET_COMMITS, as lists of one length that grow group by group."""

    def __init__(self) -> None:
        self._groups: list[str] = []
        self._topics: list[str] = []
        self._partitions: list[int] = []
        self._offsets: list[int | None] = []
        self._leader_epochs: list[int | None] = []
        self._metadata: list[str | None] = []
        self._member_counts: list[int | None] = []

    def __len__(self) -> int:
        return len(self._groups)

    def add(self, group: str, offsets: GroupOffsets, member_count: int | None) -> None:
        """Add a row for each partition of a group."""
        for topic, commits in offsets.topics:
            if len(commits):
                partitions, committed_offsets, leader_epochs, metadata = zip(*commits, strict=True)
                self._groups.extend(repeat(group, len(partitions)))
                self._topics.extend(repeat(topic, len(partitions)))
                self._partitions.extend(partitions)
                self._offsets.extend(committed_offsets)
                self._leader_epochs.extend(leader_epochs)
                self._metadata.extend(metadata)
                self._member_counts.extend(repeat(member_count, len(partitions)))

    def batch(self, shared: SharedValues) -> Any:
        """Return the rows as a batch, except for partitions that have no committed offset."""
        columns = {
            "group": self._groups,
            "topic": self._topics,
            "partition": self._partitions,
            "committed_offset": self._offsets,
            "leader_epoch": self._leader_epochs,
            "metadata": self._metadata,
            "member_count": self._member_counts,
        }
        rows = make_batch(OFFSET_COMMITS.frame, {**shared, **columns}, fill_null=True)
        return rows.filter(pc.is_valid(rows["committed_offset"]))
