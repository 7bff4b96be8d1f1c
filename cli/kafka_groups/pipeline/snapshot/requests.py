"""The requests of a sample, and their order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from kafka_groups.admin import GroupAdmin, IsolationLevel, OffsetSpec, Topic
from kafka_groups.groups.kinds import Operation, supports
from kafka_groups.model import Failure, GroupDescription, GroupListing, GroupOffsets, Results, TopicPartition
from kafka_groups.pipeline.decode.texts import topic_id_text
from kafka_groups.pipeline.schemas import OFFSETS_TOPIC
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND

_NOT_LAST: Final = 0.5  # of the time that is left: a silent broker must not keep later requests from being sent


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The responses of one pass, and when (milliseconds since 1970) each part was requested."""

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


def ask(admin: GroupAdmin, now_ms: Callable[[], int]) -> Asked:
    """Request everything that is in a sample, each part once; `now_ms` is the time, in milliseconds since 1970.

    Raises AdminError if the cluster cannot be reached at all; what failed otherwise is among the failures.
    """
    groups_ms = now_ms()
    deadline = admin.deadline()
    groups = admin.list_groups(timeout=deadline.share(_NOT_LAST))
    telling = [name for name, group in groups.succeeded.items() if _has_more_to_tell(group)]
    described = admin.describe_consumer_groups(telling, timeout=deadline.share(_NOT_LAST))
    commits_ms = now_ms()
    commits = admin.list_consumer_group_offsets(
        {name: None for name, group in groups.succeeded.items() if group.type != "Share"},
        timeout=deadline.share(_NOT_LAST),
    )
    topics = admin.list_topics(timeout=deadline.share(_NOT_LAST))
    partitions = _known(topics, commits.succeeded)
    # In this order, start <= last stable <= end holds in every row.
    starts = admin.list_offsets(partitions, spec=OffsetSpec.earliest(), timeout=deadline.share(_NOT_LAST))
    stable = admin.list_offsets(
        partitions, isolation_level=IsolationLevel.READ_COMMITTED, timeout=deadline.share(_NOT_LAST)
    )
    ends_ms = now_ms()
    ends = admin.list_offsets(partitions, timeout=deadline)
    is_whole = not groups.failed and OFFSETS_TOPIC not in topics.failed
    deleted = {name for name, failure in described.failed.items() if failure.code == GROUP_ID_NOT_FOUND}
    return Asked(
        groups={name: group for name, group in groups.succeeded.items() if name not in deleted},
        groups_ms=groups_ms,
        described=described.succeeded,
        commits=commits.succeeded,
        commits_ms=commits_ms,
        partitions=(*partitions, *_unknown_coordinators(partitions, is_whole=is_whole)),
        ends={key: end for key, end in ends.succeeded.items() if is_whole or key.topic != OFFSETS_TOPIC},
        starts=starts.succeeded,
        stable=stable.succeeded,
        ends_ms=ends_ms,
        topic_ids={
            name: topic_id_text(topic.topic_id.bytes) if topic.topic_id else None
            for name, topic in topics.succeeded.items()
        },
        failures=tuple(
            _failures((groups, described, commits, topics, ends, stable, starts), commits.succeeded, deleted)
        ),
    )


def _known(topics: Results[str, Topic], commits: Mapping[str, GroupOffsets]) -> tuple[TopicPartition, ...]:
    """Return the partitions that exist: those in Metadata, and those with commits of topics that are not in it now.

    Included are the internal topics that groups read, and the coordinators' own: one without a leader has groups that
    nobody listed.
    """
    read: dict[str, set[int]] = {}
    for offsets in commits.values():
        for name, partitions in offsets.partitions():
            read.setdefault(name, set()).update(partitions)
    there = {
        name: topic.partitions
        for name, topic in topics.succeeded.items()
        if not topic.internal or name in read or name == OFFSETS_TOPIC
    } | {name: tuple(sorted(read[name])) for name in topics.failed if name in read}
    return tuple(TopicPartition(name, partition) for name, partitions in there.items() for partition in partitions)


def _unknown_coordinators(known: Iterable[TopicPartition], *, is_whole: bool) -> Iterator[TopicPartition]:
    """Yield one that stands for all, where groups may be missing and brokers do not return the coordinators' topic."""
    if not is_whole and all(key.topic != OFFSETS_TOPIC for key in known):
        yield TopicPartition(OFFSETS_TOPIC, 0)


def _has_more_to_tell(group: GroupListing) -> bool:
    if not supports(group, Operation.DESCRIBE):
        return False
    return group.type != "Classic" or group.state not in ("Empty", "Dead")


def _failures(
    responses: Iterable[Results[Any, Any]], commits: Mapping[str, GroupOffsets], deleted: Collection[str]
) -> Iterator[Failure]:
    """Yield every item that failed, once: a partition without a leader fails in all three requests about it."""
    seen: set[tuple[object, ...]] = set()
    for failure in chain.from_iterable(response.failed.values() for response in responses):
        item = (failure.group, failure.topic, failure.partition)
        key = item if any(each is not None for each in item) else (failure.broker,)
        if key not in seen and not (failure.group in deleted and failure.code == GROUP_ID_NOT_FOUND):
            seen.add(key)
            yield failure
    for offsets in commits.values():
        yield from offsets.failed.values()
