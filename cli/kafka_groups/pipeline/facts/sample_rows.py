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
    common_columns: SharedValues,
) -> Iterator[Any]:
    """Yield batches of PARTITION_OFFSETS with a row for each partition, in the given order.

    An offset that is None or absent is null, and so is the id of a topic that is not in `topics`.
    """
    topic_ids = {name: topic_id_text(topic.topic_id.bytes) for name, topic in topics.items() if topic.topic_id}
    for first_index in range(0, len(partitions), _BATCH_ROWS):
        batch_partitions = partitions[first_index : first_index + _BATCH_ROWS]
        columns = {
            "topic": [partition.topic for partition in batch_partitions],
            "partition": [partition.partition for partition in batch_partitions],
            "topic_id": [topic_ids.get(partition.topic) for partition in batch_partitions],
            "log_start_offset": [log_starts.get(partition) for partition in batch_partitions],
            "log_end_offset": [log_ends.get(partition) for partition in batch_partitions],
            "last_stable_offset": [last_stable_offsets.get(partition) for partition in batch_partitions],
        }
        yield make_batch(PARTITION_OFFSETS.frame, {**common_columns, **columns}, fill_null=True)


def group_batches(
    groups: Sequence[GroupListing], descriptions: Mapping[str, GroupDescription], *, common_columns: SharedValues
) -> Iterator[Any]:
    """Yield batches of GROUP_EVENTS with a row for each listed group: its sampled state.

    A group without a description has the type and the state of the listing; its epoch, assignor and members are null.
    """
    common_columns = {**common_columns, "record_name": "Snapshot", "event_type": "state_seen", "is_tombstone": False}
    for first_index in range(0, len(groups), _BATCH_ROWS):
        listings = groups[first_index : first_index + _BATCH_ROWS]
        batch_descriptions = [descriptions.get(listing.group) for listing in listings]
        listings_and_descriptions = [*zip(listings, batch_descriptions, strict=True)]
        columns = {
            "group": [listing.group for listing in listings],
            "protocol_type": [listing.protocol_type for listing in listings],
            "group_type": [
                (description and description.type) or listing.type for listing, description in listings_and_descriptions
            ],
            "state": [
                (description and description.state) or listing.state
                for listing, description in listings_and_descriptions
            ],
            "epoch": [description and description.group_epoch for description in batch_descriptions],
            "protocol": [(description and description.assignor) or None for description in batch_descriptions],
            "members": [
                description and [*map(_make_member, description.members)] for description in batch_descriptions
            ],
            "workers": [description and _make_workers(description) for description in batch_descriptions],
            "tasks": [description and _make_tasks(description) for description in batch_descriptions],
        }
        yield make_batch(GROUP_EVENTS.frame, {**common_columns, **columns}, fill_null=True)


def _make_member(member: Member) -> dict[str, Any]:
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


def _make_workers(description: GroupDescription) -> list[dict[str, Any]] | None:
    """Return the workers of a Connect group as the column `workers`; None for other groups."""
    if not kind_of(description).has_workers:
        return None
    return [worker_row(member.member_id, member.worker) for member in description.members]


def _make_tasks(description: GroupDescription) -> list[dict[str, Any]] | None:
    """Return the tasks of the members of a streams group as the column `tasks`; None for other groups."""
    if not kind_of(description).has_tasks:
        return None
    return [
        task_row(member.member_id, member.streams.tasks) for member in description.members if member.streams is not None
    ]


def offset_commit_batches(
    commits: Mapping[str, GroupOffsets], member_counts: Mapping[str, int], *, common_columns: SharedValues
) -> Iterator[Any]:
    """Yield batches of OFFSET_COMMITS with a row for each committed offset of each group.

    Both mappings are by id of the group. `member_counts` has the groups whose number of members is known.
    """
    common_columns = {**common_columns, "is_tombstone": False}
    commit_columns = _CommitColumns()
    for group, offsets in commits.items():
        commit_columns.add(group, offsets, member_counts.get(group))
        if len(commit_columns) >= _BATCH_ROWS:
            yield commit_columns.batch(common_columns)
            commit_columns = _CommitColumns()
    if len(commit_columns):
        yield commit_columns.batch(common_columns)


def share_offset_batches(offsets: Mapping[str, GroupOffsets], *, common_columns: SharedValues) -> Iterator[Any]:
    """Yield batches of SHARE_OFFSETS with a row for each partition of each share group, by id of the group."""
    rows = [
        (group, partition.topic, partition.partition, start_offset, (group_offsets.lags or {}).get(partition))
        for group, group_offsets in offsets.items()
        for partition, start_offset in group_offsets.rows()
    ]
    for first_index in range(0, len(rows), _BATCH_ROWS):
        groups, topics, partitions, start_offsets, lags = zip(
            *rows[first_index : first_index + _BATCH_ROWS], strict=True
        )
        columns = {
            "group": groups,
            "topic": topics,
            "partition": partitions,
            "start_offset": [start_offset and start_offset.offset for start_offset in start_offsets],
            "leader_epoch": [start_offset and start_offset.leader_epoch for start_offset in start_offsets],
            "lag": lags,
        }
        yield make_batch(SHARE_OFFSETS.frame, {**common_columns, **columns}, fill_null=True)


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

    def batch(self, common_columns: SharedValues) -> Any:
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
        rows = make_batch(OFFSET_COMMITS.frame, {**common_columns, **columns}, fill_null=True)
        return rows.filter(pc.is_valid(rows["committed_offset"]))
