"""Rows of tables from the responses of a sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pyarrow as pa

from kafka_groups.model import Assignment, GroupDescription, GroupListing, GroupOffsets, Member
from kafka_groups.pipeline.schemas import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS, SAMPLE_RUNS, Table
from kafka_groups.pipeline.schemas.row_batches import shaped, spread
from kafka_groups.pipeline.snapshot.requests import Asked

ORIGIN: Final = "sample"
_ROWS_AT_ONCE: Final = 200_000
_GROUPS_AT_ONCE: Final = 10_000


def rows_of(asked: Asked, cluster_id: str) -> Iterator[tuple[Table, pa.RecordBatch]]:
    """Yield all rows of a sample, in batches of bounded size, each with the table that it belongs to."""
    whole = {"cluster_id": cluster_id, "origin": ORIGIN}
    yield PARTITION_OFFSETS, _of_partitions(asked, whole)
    names = list(asked.groups)
    for at in range(0, len(names), _GROUPS_AT_ONCE):
        yield GROUP_EVENTS, _of_groups(asked, names[at : at + _GROUPS_AT_ONCE], whole)
    for commits in _Commits.cut(asked.commits):
        yield OFFSET_COMMITS, commits.rows(asked.commits_ms, whole)


def row_of_run(asked: Asked, cluster_id: str, sample: str, rows: Mapping[str, int]) -> pa.RecordBatch:
    """Return the row of SAMPLE_RUNS of a sample that wrote so many rows, by table."""
    row = {
        "cluster_id": cluster_id,
        "sample": sample,
        "groups_at": asked.groups_ms * 1000,
        "commits_at": asked.commits_ms * 1000,
        "sampled_at": asked.ends_ms * 1000,
        "groups": rows[GROUP_EVENTS.name],
        "commits": rows[OFFSET_COMMITS.name],
        "partitions": rows[PARTITION_OFFSETS.name],
        "failures": len(asked.failures),
    }
    return shaped(SAMPLE_RUNS, 1, {}, row)


def _of_partitions(asked: Asked, whole: Mapping[str, Any]) -> pa.RecordBatch:
    keys = asked.partitions
    columns = {
        "topic": pa.array([key.topic for key in keys], pa.string()),
        "partition": pa.array([key.partition for key in keys], pa.int32()),
        "topic_id": pa.array([asked.topic_ids.get(key.topic) for key in keys], pa.string()),
        "log_start_offset": pa.array([asked.starts.get(key) for key in keys], pa.int64()),
        "log_end_offset": pa.array([asked.ends.get(key) for key in keys], pa.int64()),
        "last_stable_offset": pa.array([asked.stable.get(key) for key in keys], pa.int64()),
    }
    return shaped(PARTITION_OFFSETS, len(keys), columns, {**whole, "observed_at": asked.ends_ms * 1000})


def _of_groups(asked: Asked, names: list[str], whole: Mapping[str, Any]) -> pa.RecordBatch:
    rows = [_group(asked.groups[name], asked.described.get(name)) for name in names]
    schema = GROUP_EVENTS.arrow()
    columns = {
        name: pa.array([row.get(name) for row in rows], schema.field(name).type)
        for name in ("group", "group_type", "state", "protocol_type", "epoch", "protocol", "members")
    }
    same = {"record_time": asked.groups_ms * 1000, "type": "Snapshot", "event_type": "state_seen", "tombstone": False}
    return shaped(GROUP_EVENTS, len(rows), columns, {**whole, **same})


def _group(listed: GroupListing, described: GroupDescription | None) -> dict[str, Any]:
    row = {
        "group": listed.group,
        "group_type": listed.type,
        "state": listed.state,
        "protocol_type": listed.protocol_type,
    }
    if described is None:
        return row
    return row | {
        "group_type": described.type or listed.type,
        "state": described.state or listed.state,
        "epoch": described.group_epoch,
        "protocol": described.assignor or None,
        "members": [_member(member) for member in described.members],
    }


def _member(member: Member) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "group_instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "client_host": member.host,
        "assignment": [_assigned(topic) for topic in member.assignment],
    }


def _assigned(topic: Assignment) -> dict[str, Any]:
    return {"topic": topic.topic, "partitions": list(topic.partitions)}


class _Commits:
    """Commits of some groups, column by column: a cluster has a million of them."""

    def __init__(self) -> None:
        self._groups: list[str] = []
        self._of_group: list[int] = []
        self._topics: dict[str, int] = {}
        self._of_topic: list[int] = []
        self._sizes: list[int] = []
        self._commits: list[tuple[int, int | None, int | None, str | None]] = []

    @classmethod
    def cut(cls, commits: Mapping[str, GroupOffsets]) -> Iterator[_Commits]:
        """Yield all groups' commits, a bounded number of rows at once."""
        part = cls()
        for group, offsets in commits.items():
            part._add(group, offsets)
            if len(part._commits) >= _ROWS_AT_ONCE:
                yield part
                part = cls()
        yield part

    def rows(self, asked_ms: int, whole: Mapping[str, Any]) -> pa.RecordBatch:
        """Return rows of OFFSET_COMMITS."""
        partitions, offsets, epochs, metadata = zip(*self._commits, strict=True) if self._commits else ((), (), (), ())
        columns = {
            "group": spread(self._groups, self._of_group, self._sizes),
            "topic": spread(list(self._topics), self._of_topic, self._sizes),
            "partition": pa.array(partitions, pa.int32()),
            "committed_offset": pa.array(offsets, pa.int64()),
            "leader_epoch": pa.array(epochs, pa.int32()),
            "metadata": pa.array(metadata, pa.string()),
        }
        times = {"record_time": asked_ms * 1000, "commit_time": asked_ms * 1000}
        return shaped(OFFSET_COMMITS, len(self._commits), columns, {**whole, **times, "tombstone": False})

    def _add(self, group: str, offsets: GroupOffsets) -> None:
        self._groups.append(group)
        for topic, rows in offsets.topics:
            found = [row for row in rows if row[1] is not None]
            self._of_group.append(len(self._groups) - 1)
            self._of_topic.append(self._topics.setdefault(topic, len(self._topics)))
            self._sizes.append(len(found))
            self._commits += found
