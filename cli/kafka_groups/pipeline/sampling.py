"""A sample: what all groups have committed, how they are, and where all logs end, at one time, asked of the brokers.

Where `__consumer_offsets` may not be read, samples fill the same tables; where it may, they bring what it does not
say: log ends, and states.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Final

import pyarrow as pa

from kafka_groups.admin import EARLIEST, LAST_STABLE, LATEST, GroupAdmin, GroupOffsets, Topic
from kafka_groups.admin.wire.error_codes import GROUP_ID_NOT_FOUND
from kafka_groups.model import Answers, Assignment, Failure, GroupDescription, GroupListing, Member, TopicPartition
from kafka_groups.pipeline.records.texts import topic_id_text
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.storage.staging import StagedWriter
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS, Table
from kafka_groups.pipeline.tables.filling import shaped, spread

ORIGIN: Final = "sample"
_NOT_LAST: Final = 0.5  # of the time that is left: a silent broker must not keep later questions from being asked
_ROWS_AT_ONCE: Final = 200_000
_GROUPS_AT_ONCE: Final = 10_000


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """What a sample wrote: rows by table, under the name of its batch; and what could not be asked, item by item."""

    batch: str
    groups: int
    rows: Mapping[str, int]
    failures: tuple[Failure, ...]


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """The answers of one pass, and when (milliseconds since 1970) each part was asked for."""

    groups: Mapping[str, GroupListing]
    groups_ms: int
    described: Mapping[str, GroupDescription]
    commits: Mapping[str, GroupOffsets]
    commits_ms: int
    partitions: tuple[TopicPartition, ...]
    ends: Mapping[TopicPartition, int | None]
    starts: Mapping[TopicPartition, int | None]
    stable: Mapping[TopicPartition, int | None]
    ends_ms: int
    topic_ids: Mapping[str, str | None]
    failures: tuple[Failure, ...]


def sample(admin: GroupAdmin, storage: Storage, *, cluster_id: str, now_ms: Callable[[], int]) -> Sampled:
    """Ask for everything in one pass, and write it as one batch, which appears whole or not at all.

    Commits are asked for before log ends, so that no commit is beyond the end that stands beside it. Groups of which
    the listing tells all there is to tell (empty classic ones, share and streams groups, other protocols) are not
    described. A group that is gone when it is described has no row and is no failure. Topics without
    commits are sampled too; internal ones only if a group has commits on them. A partition that is there but does not
    tell where its log ends has a row without that, for what has none is gone. `now_ms` is the time, in milliseconds
    since 1970. Raises AdminError if the cluster cannot be reached at all, StorageError; other failures are returned.
    """
    asked = _ask(admin, now_ms)
    batch = f"sample-{datetime.fromtimestamp(asked.ends_ms / 1000, UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(6)}"
    writer = StagedWriter(storage.stage())
    rows = {table.name: 0 for table in (OFFSET_COMMITS, GROUP_EVENTS, PARTITION_OFFSETS)}
    try:
        for table, part in _rows(asked, cluster_id):
            writer.write(table, part)
            rows[table.name] += part.num_rows
        storage.publish(batch, writer.close())
    except BaseException:
        writer.abort()
        raise
    return Sampled(batch=batch, groups=len(asked.groups), rows=rows, failures=asked.failures)


def _ask(admin: GroupAdmin, now_ms: Callable[[], int]) -> _Asked:
    groups_ms = now_ms()
    groups = admin.list_groups(share=_NOT_LAST)
    telling = [name for name, group in groups.found.items() if _has_more_to_tell(group)]
    described = admin.describe_groups(telling, share=_NOT_LAST)
    commits_ms = now_ms()
    commits = admin.list_consumer_group_offsets(
        {name: None for name, group in groups.found.items() if group.type != "Share"}, share=_NOT_LAST
    )
    topics = admin.list_topics(share=_NOT_LAST)
    partitions = _known(topics, commits.found)
    # In this order, start <= last stable <= end holds in every row.
    starts = admin.list_offsets(partitions, at=EARLIEST, share=_NOT_LAST)
    stable = admin.list_offsets(partitions, at=LAST_STABLE, share=_NOT_LAST)
    ends_ms = now_ms()
    ends = admin.list_offsets(partitions, at=LATEST)
    gone = {name for name, failure in described.failed.items() if failure.code == GROUP_ID_NOT_FOUND}
    return _Asked(
        groups={name: group for name, group in groups.found.items() if name not in gone},
        groups_ms=groups_ms,
        described=described.found,
        commits=commits.found,
        commits_ms=commits_ms,
        partitions=partitions,
        ends=ends.found,
        starts=starts.found,
        stable=stable.found,
        ends_ms=ends_ms,
        topic_ids={
            name: topic_id_text(topic.topic_id.bytes) if topic.topic_id else None
            for name, topic in topics.found.items()
        },
        failures=tuple(_failures((groups, described, commits, topics, ends, stable, starts), commits.found, gone)),
    )


def _known(topics: Answers[str, Topic], commits: Mapping[str, GroupOffsets]) -> tuple[TopicPartition, ...]:
    """Partitions that are there: as Metadata tells, and those with commits of topics that it cannot tell of now."""
    read: dict[str, set[int]] = {}
    for offsets in commits.values():
        for name, partitions in offsets.partitions():
            read.setdefault(name, set()).update(partitions)
    there = {name: topic.partitions for name, topic in topics.found.items() if not topic.internal or name in read} | {
        name: tuple(sorted(read[name])) for name in topics.failed if name in read
    }
    return tuple(TopicPartition(name, partition) for name, partitions in there.items() for partition in partitions)


def _has_more_to_tell(group: GroupListing) -> bool:
    if group.type not in ("Classic", "Consumer", None) or group.protocol_type not in ("consumer", ""):
        return False
    return group.type != "Classic" or group.state not in ("Empty", "Dead")


def _failures(
    answers: Iterable[Answers[Any, Any]], commits: Mapping[str, GroupOffsets], gone: Collection[str]
) -> Iterator[Failure]:
    """Every item that failed, once: a partition without a leader fails in all three questions about it."""
    told: set[tuple[object, ...]] = set()
    for failure in chain.from_iterable(answer.failed.values() for answer in answers):
        item = (failure.group, failure.topic, failure.partition)
        key = item if any(each is not None for each in item) else (failure.broker,)
        if key not in told and not (failure.group in gone and failure.code == GROUP_ID_NOT_FOUND):
            told.add(key)
            yield failure
    for group, offsets in commits.items():
        yield from offsets.failures(group)


def _rows(asked: _Asked, cluster_id: str) -> Iterator[tuple[Table, pa.RecordBatch]]:
    whole = {"cluster_id": cluster_id, "origin": ORIGIN}
    yield PARTITION_OFFSETS, _of_partitions(asked, whole)
    names = list(asked.groups)
    for at in range(0, len(names), _GROUPS_AT_ONCE):
        yield GROUP_EVENTS, _of_groups(asked, names[at : at + _GROUPS_AT_ONCE], whole)
    for commits in _Commits.cut(asked.commits):
        yield OFFSET_COMMITS, commits.rows(asked.commits_ms, whole)


def _of_partitions(asked: _Asked, whole: Mapping[str, Any]) -> pa.RecordBatch:
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


def _of_groups(asked: _Asked, names: list[str], whole: Mapping[str, Any]) -> pa.RecordBatch:
    rows = [_group(asked.groups[name], asked.described.get(name)) for name in names]
    schema = GROUP_EVENTS.arrow()
    columns = {
        name: pa.array([row.get(name) for row in rows], schema.field(name).type)
        for name in ("group", "group_type", "state", "protocol_type", "epoch", "protocol", "members")
    }
    same = {"record_time": asked.groups_ms * 1000, "type": "Snapshot", "meaning": "state_seen", "tombstone": False}
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
        """All groups' commits, a bounded number of rows at once."""
        part = cls()
        for group, offsets in commits.items():
            part._add(group, offsets)
            if len(part._commits) >= _ROWS_AT_ONCE:
                yield part
                part = cls()
        yield part

    def rows(self, asked_ms: int, whole: Mapping[str, Any]) -> pa.RecordBatch:
        """Rows of OFFSET_COMMITS."""
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
        for topic, rows in offsets.by_topic():
            found = [row for row in rows if row[1] is not None]
            self._of_group.append(len(self._groups) - 1)
            self._of_topic.append(self._topics.setdefault(topic, len(self._topics)))
            self._sizes.append(len(found))
            self._commits += found
