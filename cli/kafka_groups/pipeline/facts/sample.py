"""A sample: what all groups have committed, how they are, and where all logs end, at one time.

It fills the tables that an ingest fills, and adds what `__consumer_offsets` does not say: log ends, and states.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any, Final, TypeAlias

from kafka_groups.admin import GroupAdmin, IsolationLevel, OffsetSpec, Topic
from kafka_groups.admin.api import TimePlan
from kafka_groups.groups import steps
from kafka_groups.kinds import STATES_WITHOUT_MEMBERS, Operation, kind_of, supports
from kafka_groups.model import Failure, GroupDescription, GroupListing, GroupOffsets, Member, Results, TopicPartition
from kafka_groups.pipeline.facts.decode.columns import topic_id_text
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.store.data_files import SAMPLE, new_batch_name
from kafka_groups.pipeline.tables import (
    GROUP_EVENTS,
    OFFSET_COMMITS,
    OFFSETS_TOPIC,
    PARTITION_OFFSETS,
    SAMPLE_RUNS,
    Table,
)
from kafka_groups.pipeline.tables.shape import shaped
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND

# In the order of their commits: the last one makes the sample count.
_TABLES: Final = (OFFSET_COMMITS, GROUP_EVENTS, PARTITION_OFFSETS, SAMPLE_RUNS)
# A silent broker must not keep later requests from being sent.
_STEPS: Final = (
    steps.LISTING,
    steps.GROUPS,
    steps.COMMITS,
    steps.TOPICS,
    steps.LOG_STARTS,
    steps.STABLE_ENDS,
    steps.LOG_ENDS,
)
_ROWS_AT_ONCE: Final = 5_000
# The columns that differ from row to row, in the order of the rows that are made here, and what others have.
_PARTITIONS: Final = ("topic", "partition", "topic_id", "log_start_offset", "log_end_offset", "last_stable_offset")
_GROUPS: Final = ("group", "group_type", "state", "protocol_type", "epoch", "protocol", "members")
_STATE: Final = {"type": "Snapshot", "event_type": "state_seen", "tombstone": False}
_COMMITS: Final = ("group", "topic", "partition", "committed_offset", "leader_epoch", "metadata")
_Rows: TypeAlias = Iterator[Sequence[Any]]
_Part: TypeAlias = tuple[Table, Sequence[str], _Rows, Mapping[str, Any]]  # the last is what all of its rows share


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """What a sample wrote: rows by table, under the name of its batch; and what could not be read, item by item."""

    cluster_id: str
    batch: str
    groups: int
    rows: Mapping[str, int]
    failures: tuple[Failure, ...]


def sample(admin: GroupAdmin, storage: Storage, *, now_ms: Callable[[], int]) -> Sampled:
    """Request everything in one pass, and write it as one batch: whole, with its row of SAMPLE_RUNS, or absent.

    Commits are requested before log ends, so that no commit is beyond the end that stands beside it. A group that is
    deleted when it is described has no row and is no failure. Topics without commits are sampled too; internal ones
    only if a group has commits on them. A partition whose log end is not returned has a row without it, since one
    without a row was deleted. `now_ms` is the time since 1970. Raises StorageError, and AdminError if the cluster
    cannot be reached at all: then no directory is made. Other failures are returned.
    """
    cluster_id = admin.cluster_id()
    storage.make()
    groups_at = now_ms() * 1_000
    plan = TimePlan(admin.deadline(), _STEPS)
    groups = admin.list_groups(timeout=plan.until(steps.LISTING))
    incomplete = [name for name, group in groups.succeeded.items() if _is_incomplete(group)]
    described = admin.describe_consumer_groups(incomplete, timeout=plan.until(steps.GROUPS))
    commits_at = now_ms() * 1_000
    readers = {name: None for name, group in groups.succeeded.items() if kind_of(group).has_commits}
    commits = admin.list_consumer_group_offsets(readers, timeout=plan.until(steps.COMMITS))
    topics = admin.list_topics(timeout=plan.until(steps.TOPICS))
    partitions = _existing(topics, commits.succeeded)
    # In this order, start <= last stable <= end holds in every row.
    starts = admin.list_offsets(partitions, spec=OffsetSpec.earliest(), timeout=plan.until(steps.LOG_STARTS))
    level = IsolationLevel.READ_COMMITTED
    stable = admin.list_offsets(partitions, isolation_level=level, timeout=plan.until(steps.STABLE_ENDS))
    sampled_at = now_ms() * 1_000
    ends = admin.list_offsets(partitions, timeout=plan.until(steps.LOG_ENDS))

    deleted = {name for name, failure in described.failed.items() if failure.code == GROUP_ID_NOT_FOUND}
    listed = [group for name, group in groups.succeeded.items() if name not in deleted]
    failures = _failures(
        (groups, described, commits, topics, ends, stable, starts, *commits.succeeded.values()), deleted
    )
    log_ends = dict(ends.succeeded)
    if groups.failed or OFFSETS_TOPIC in topics.failed:
        # Groups may be missing. Rows of the coordinators' topic without a log end say so, if need be a row alone.
        coordinators = [key for key in partitions if key.topic == OFFSETS_TOPIC] or [TopicPartition(OFFSETS_TOPIC, 0)]
        partitions = [*dict.fromkeys([*partitions, *coordinators])]
        log_ends |= dict.fromkeys(coordinators)
    located = _partition_rows(partitions, topics.succeeded, (starts.succeeded, log_ends, stable.succeeded))
    committed = {"record_time": commits_at, "commit_time": commits_at, "tombstone": False}
    parts = (
        (PARTITION_OFFSETS, _PARTITIONS, located, {"observed_at": sampled_at}),
        (GROUP_EVENTS, _GROUPS, _group_rows(listed, described.succeeded), {"record_time": groups_at, **_STATE}),
        (OFFSET_COMMITS, _COMMITS, _commit_rows(commits.succeeded), committed),
    )
    times = {"groups_at": groups_at, "commits_at": commits_at, "sampled_at": sampled_at}
    return _write(storage, cluster_id, parts, times, failures)


def _write(
    storage: Storage, cluster_id: str, parts: Iterable[_Part], times: Mapping[str, int], failures: tuple[Failure, ...]
) -> Sampled:
    batch = new_batch_name(SAMPLE, datetime.fromtimestamp(times["sampled_at"] / 1_000_000, UTC))
    sizes = {table.name: 0 for table in _TABLES[:-1]}
    with storage.writer(batch) as writer:
        for table, names, rows, same in parts:
            shared = {**same, "cluster_id": cluster_id, "origin": "sample"}
            while some := [*islice(rows, _ROWS_AT_ONCE)]:
                columns = dict(zip(names, zip(*some, strict=True), strict=True))
                writer.write(table, shaped(table.arrow(), len(some), columns, shared))
                sizes[table.name] += len(some)
        commits, groups, partitions = sizes.values()
        counts = {"groups": groups, "commits": commits, "partitions": partitions, "failures": len(failures)}
        run = {"cluster_id": cluster_id, "sample": batch, **times, **counts}
        writer.write(SAMPLE_RUNS, shaped(SAMPLE_RUNS.arrow(), 1, {}, run))
        files = writer.close()
    storage.append(files, tables=_TABLES)
    return Sampled(cluster_id=cluster_id, batch=batch, groups=groups, rows=sizes, failures=failures)


def _is_incomplete(group: GroupListing) -> bool:
    """Return whether a description has more than the listing."""
    has_more = group.type is None or kind_of(group).has_epochs or group.state not in STATES_WITHOUT_MEMBERS
    return supports(group, Operation.DESCRIBE) and has_more


def _existing(topics: Results[str, Topic], commits: Mapping[str, GroupOffsets]) -> list[TopicPartition]:
    """Return the partitions that exist: those in Metadata, and those with commits of topics that are not in it now.

    Included is the coordinators' own topic: a partition without a leader has groups that nobody listed.
    """
    read: dict[str, set[int]] = {}
    for offsets in commits.values():
        for name, partitions in offsets.partitions():
            read.setdefault(name, set()).update(partitions)
    found: dict[str, Iterable[int]] = {
        name: topic.partitions
        for name, topic in topics.succeeded.items()
        if not topic.internal or name in read or name == OFFSETS_TOPIC
    }
    found |= {name: sorted(read[name]) for name in topics.failed if name in read}
    return [TopicPartition(name, partition) for name, partitions in found.items() for partition in partitions]


def _failures(responses: Iterable[Results[Any, Any] | GroupOffsets], deleted: Collection[str]) -> tuple[Failure, ...]:
    """Return every item that failed, once: a partition without a leader fails in all three requests about it."""
    by_item: dict[object, Failure] = {}
    for failure in chain.from_iterable(response.failed.values() for response in responses):
        item = (failure.group, failure.topic, failure.partition)
        if failure.group not in deleted or failure.code != GROUP_ID_NOT_FOUND:
            by_item.setdefault(failure.broker if item == (None, None, None) else item, failure)
    return tuple(by_item.values())


def _partition_rows(
    partitions: Iterable[TopicPartition], topics: Mapping[str, Topic], offsets: Sequence[Mapping[Any, int | None]]
) -> _Rows:
    ids = {name: topic_id_text(topic.topic_id.bytes) for name, topic in topics.items() if topic.topic_id}
    return ((*key, ids.get(key.topic), *(found.get(key) for found in offsets)) for key in partitions)


def _group_rows(groups: Iterable[GroupListing], described: Mapping[str, GroupDescription]) -> _Rows:
    for group in groups:
        if (found := described.get(group.group)) is None:
            yield group.group, group.type, group.state, group.protocol_type, None, None, None
        else:
            members = [_member(member) for member in found.members]
            kind, state = found.type or group.type, found.state or group.state
            yield group.group, kind, state, group.protocol_type, found.group_epoch, found.assignor or None, members


def _member(member: Member) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "group_instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "client_host": member.host,
        "assignment": None
        if member.assignment is None
        else [{"topic": each.topic, "partitions": [*each.partitions]} for each in member.assignment],
    }


def _commit_rows(commits: Mapping[str, GroupOffsets]) -> _Rows:
    return (
        (group, topic, *commit)
        for group, offsets in commits.items()
        for topic, found in offsets.topics
        for commit in found
        if commit[1] is not None
    )
