"""A sample: what all groups have committed, how they are, and where all logs end, at one time.

Where `__consumer_offsets` may not be read, samples fill the same tables; where it may, they bring what it does not
say: log ends, and states.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Final, TypeAlias

from kafka_groups.admin import GroupAdmin, IsolationLevel, OffsetSpec, Topic
from kafka_groups.groups.kinds import Operation, supports
from kafka_groups.model import Failure, GroupDescription, GroupListing, GroupOffsets, Member, Results, TopicPartition
from kafka_groups.pipeline.decode.columns import topic_id_text
from kafka_groups.pipeline.schemas import GROUP_EVENTS, OFFSET_COMMITS, OFFSETS_TOPIC, PARTITION_OFFSETS, SAMPLE_RUNS
from kafka_groups.pipeline.schemas.shape import Table, shaped
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.storage.layout import SAMPLE, new_batch_name
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND

# In the order of their commits: the last one makes the sample count.
_TABLES: Final = (OFFSET_COMMITS, GROUP_EVENTS, PARTITION_OFFSETS, SAMPLE_RUNS)
_NOT_LAST: Final = 0.5  # of the time that is left: a silent broker must not keep later requests from being sent
_GROUPS_AT_ONCE: Final = 1_000
_Columns: TypeAlias = Mapping[str, Sequence[Any]]
_Part: TypeAlias = tuple[Table, _Columns, Mapping[str, Any]]  # some rows of a table, and what all of them share


@dataclass(frozen=True, kw_only=True)
class Sampled:
    """What a sample wrote: rows by table, under the name of its batch; and what could not be read, item by item."""

    batch: str
    groups: int
    rows: Mapping[str, int]
    failures: tuple[Failure, ...]


def sample(admin: GroupAdmin, storage: Storage, *, cluster_id: str, now_ms: Callable[[], int]) -> Sampled:
    """Request everything in one pass, and write it as one batch: whole, with its row of SAMPLE_RUNS, or absent.

    Commits are requested before log ends, so that no commit is beyond the end that stands beside it. Groups of which
    the listing has all that is known (empty classic ones, share and streams groups, other protocols) are not
    described. A group that is deleted when it is described has no row and is no failure. Topics without
    commits are sampled too; internal ones only if a group has commits on them. A partition that exists but whose log
    end is not returned has a row without it, since one without a row was deleted. `now_ms` is the time, in milliseconds
    since 1970. Raises AdminError if the cluster cannot be reached at all, StorageError; other failures are returned.
    """
    groups_ms = now_ms()
    deadline = admin.deadline()
    groups = admin.list_groups(timeout=deadline.share(_NOT_LAST))
    incomplete = [name for name, group in groups.succeeded.items() if _is_incomplete(group)]
    described = admin.describe_consumer_groups(incomplete, timeout=deadline.share(_NOT_LAST))
    commits_ms = now_ms()
    readers = {name: None for name, group in groups.succeeded.items() if group.type != "Share"}
    commits = admin.list_consumer_group_offsets(readers, timeout=deadline.share(_NOT_LAST))
    topics = admin.list_topics(timeout=deadline.share(_NOT_LAST))
    partitions = _existing(topics, commits.succeeded)
    # In this order, start <= last stable <= end holds in every row.
    starts = admin.list_offsets(partitions, spec=OffsetSpec.earliest(), timeout=deadline.share(_NOT_LAST))
    level = IsolationLevel.READ_COMMITTED
    stable = admin.list_offsets(partitions, isolation_level=level, timeout=deadline.share(_NOT_LAST))
    ends_ms = now_ms()
    ends = admin.list_offsets(partitions, timeout=deadline)

    deleted = {name for name, failure in described.failed.items() if failure.code == GROUP_ID_NOT_FOUND}
    listed = [group for name, group in groups.succeeded.items() if name not in deleted]
    failures = [
        *_failures((groups, described, commits, topics, ends, stable, starts), deleted),
        *chain.from_iterable(offsets.failed.values() for offsets in commits.succeeded.values()),
    ]
    log_ends = dict(ends.succeeded)
    if groups.failed or OFFSETS_TOPIC in topics.failed:
        # Groups may be missing. Rows of the coordinators' topic without a log end say so, if need be a row alone.
        coordinators = [key for key in partitions if key.topic == OFFSETS_TOPIC] or [TopicPartition(OFFSETS_TOPIC, 0)]
        partitions = [*dict.fromkeys([*partitions, *coordinators])]
        log_ends |= dict.fromkeys(coordinators)

    offsets = {
        "log_start_offset": starts.succeeded,
        "log_end_offset": log_ends,
        "last_stable_offset": stable.succeeded,
    }
    parts = chain(
        [(PARTITION_OFFSETS, _log_columns(partitions, topics.succeeded, offsets), {"observed_at": ends_ms * 1000})],
        _group_parts(listed, described.succeeded, groups_ms),
        _commit_parts(commits.succeeded, commits_ms),
    )
    batch = new_batch_name(SAMPLE, datetime.fromtimestamp(ends_ms / 1000, UTC))
    rows = {table.name: 0 for table in _TABLES[:-1]}
    with storage.writer(batch) as writer:
        for table, columns, same in parts:
            size = len(next(iter(columns.values())))
            writer.write(table, shaped(table, size, columns, {**same, "cluster_id": cluster_id, "origin": "sample"}))
            rows[table.name] += size
        run = {
            "cluster_id": cluster_id,
            "sample": batch,
            "groups_at": groups_ms * 1000,
            "commits_at": commits_ms * 1000,
            "sampled_at": ends_ms * 1000,
            "groups": rows[GROUP_EVENTS.name],
            "commits": rows[OFFSET_COMMITS.name],
            "partitions": rows[PARTITION_OFFSETS.name],
            "failures": len(failures),
        }
        writer.write(SAMPLE_RUNS, shaped(SAMPLE_RUNS, 1, {}, run))
        files = writer.close()
    storage.append(files, tables=_TABLES)
    return Sampled(batch=batch, groups=len(listed), rows=rows, failures=tuple(failures))


def _is_incomplete(group: GroupListing) -> bool:
    """Return whether a description has more than the listing."""
    return supports(group, Operation.DESCRIBE) and (group.type != "Classic" or group.state not in ("Empty", "Dead"))


def _existing(topics: Results[str, Topic], commits: Mapping[str, GroupOffsets]) -> list[TopicPartition]:
    """Return the partitions that exist: those in Metadata, and those with commits of topics that are not in it now.

    Included are the internal topics that groups read, and the coordinators' own: one without a leader has groups that
    nobody listed.
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


def _failures(responses: Iterable[Results[Any, Any]], deleted: Collection[str]) -> Iterable[Failure]:
    """Return every item that failed, once: a partition without a leader fails in all three requests about it."""
    by_item: dict[object, Failure] = {}
    for failure in chain.from_iterable(response.failed.values() for response in responses):
        item = (failure.group, failure.topic, failure.partition)
        if failure.group not in deleted:
            by_item.setdefault(failure.broker if item == (None, None, None) else item, failure)
    return by_item.values()


def _log_columns(
    partitions: Sequence[TopicPartition],
    topics: Mapping[str, Topic],
    offsets: Mapping[str, Mapping[TopicPartition, int | None]],
) -> _Columns:
    ids = {name: topic_id_text(topic.topic_id.bytes) for name, topic in topics.items() if topic.topic_id}
    return {
        "topic": [key.topic for key in partitions],
        "partition": [key.partition for key in partitions],
        "topic_id": [ids.get(key.topic) for key in partitions],
        **{name: [found.get(key) for key in partitions] for name, found in offsets.items()},
    }


def _group_parts(
    groups: Sequence[GroupListing], described: Mapping[str, GroupDescription], groups_ms: int
) -> Iterator[_Part]:
    same = {"record_time": groups_ms * 1000, "type": "Snapshot", "event_type": "state_seen", "tombstone": False}
    for at in range(0, len(groups), _GROUPS_AT_ONCE):
        pairs = [(group, described.get(group.group)) for group in groups[at : at + _GROUPS_AT_ONCE]]
        columns: _Columns = {
            "group": [group.group for group, _ in pairs],
            "group_type": [(found and found.type) or group.type for group, found in pairs],
            "state": [(found and found.state) or group.state for group, found in pairs],
            "protocol_type": [group.protocol_type for group, _ in pairs],
            "epoch": [found and found.group_epoch for _, found in pairs],
            "protocol": [(found and found.assignor) or None for _, found in pairs],
            "members": [found and [_member(member) for member in found.members] for _, found in pairs],
        }
        yield GROUP_EVENTS, columns, same


def _member(member: Member) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "group_instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "client_host": member.host,
        "assignment": [{"topic": each.topic, "partitions": [*each.partitions]} for each in member.assignment],
    }


def _commit_parts(commits: Mapping[str, GroupOffsets], commits_ms: int) -> Iterator[_Part]:
    names = ("group", "topic", "partition", "committed_offset", "leader_epoch", "metadata")
    same = {"record_time": commits_ms * 1000, "commit_time": commits_ms * 1000, "tombstone": False}
    groups = list(commits)
    for at in range(0, len(groups), _GROUPS_AT_ONCE):
        rows = [
            (group, topic, *commit)
            for group in groups[at : at + _GROUPS_AT_ONCE]
            for topic, found in commits[group].topics
            for commit in found
            if commit[1] is not None
        ]
        if rows:
            yield OFFSET_COMMITS, dict(zip(names, zip(*rows, strict=True), strict=True)), same
