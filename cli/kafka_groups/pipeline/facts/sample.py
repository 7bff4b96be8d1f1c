"""A sample: the commits and states of all groups, and the offsets of all logs, at one time.

A sample writes rows into the tables that an ingest fills, and adds what `__consumer_offsets` does not contain: log end
offsets, and the states of groups. `sample_rows.py` builds the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import chain
from typing import Any, Final

from kafka_groups.admin import GroupAdmin, IsolationLevel, OffsetSpec, Topic
from kafka_groups.admin.api import TimePlan
from kafka_groups.groups import steps
from kafka_groups.kinds import STATES_WITHOUT_MEMBERS, Operation, kind_of, supports
from kafka_groups.model import Failure, GroupDescription, GroupListing, GroupOffsets, Results, TopicPartition
from kafka_groups.pipeline.facts.sample_rows import Offsets, group_batches, offset_commit_batches, partition_batches
from kafka_groups.pipeline.frames.batches import make_batch
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.store.data_files import SAMPLE, new_batch_name
from kafka_groups.pipeline.tables import (
    GROUP_EVENTS,
    OFFSET_COMMITS,
    OFFSETS_TOPIC,
    PARTITION_OFFSETS,
    SAMPLE_RUNS,
    UNLISTED_LOG_END,
    Table,
)
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND

# The tables with rows of groups and partitions, in the order of their commits.
_FACT_TABLES: Final = (OFFSET_COMMITS, GROUP_EVENTS, PARTITION_OFFSETS)
# With a time plan, a broker that does not respond takes no time from the steps after it.
_STEPS: Final = (
    steps.COORDINATORS,
    steps.LISTING,
    steps.GROUPS,
    steps.COMMITS,
    steps.TOPICS,
    steps.LOG_STARTS,
    steps.STABLE_ENDS,
    steps.LOG_ENDS,
)


@dataclass(frozen=True, kw_only=True)
class SampleResult:
    """The result of a sample: the name of its batch, the number of groups, and the number of rows by table name.

    `failures` has one failure for each group, partition and broker whose rows are missing.
    """

    cluster_id: str
    batch: str
    groups: int
    rows: Mapping[str, int]
    failures: tuple[Failure, ...]


@dataclass(frozen=True, kw_only=True)
class _Responses:
    """The responses of the brokers for one sample. Times are µs since 1970, each taken before its requests were sent.

    - `listing_brokers` are the ids of the brokers that listed their groups.
    - `coordinators` has the leader of each partition of `__consumer_offsets` before groups were listed.
    - `partitions` are the partitions whose offsets were requested.
    """

    groups_at: int
    commits_at: int
    sampled_at: int
    coordinators: Mapping[int, int]
    listing_brokers: Collection[int]
    groups: Results[str, GroupListing]
    descriptions: Results[str, GroupDescription]
    commits: Results[str, GroupOffsets]
    topics: Results[str, Topic]
    partitions: list[TopicPartition]
    log_starts: Results[TopicPartition, int | None]
    last_stable_offsets: Results[TopicPartition, int | None]
    log_ends: Results[TopicPartition, int | None]

    def deleted_groups(self) -> set[str]:
        """Return the ids of the groups that were deleted between the listing and the description."""
        return {name for name, failure in self.descriptions.failed.items() if failure.code == GROUP_ID_NOT_FOUND}


def sample(admin: GroupAdmin, storage: Storage, *, now_ms: Callable[[], int]) -> SampleResult:
    """Take a sample of a cluster, and write it as one batch: readers see all of the sample, or nothing.

    `now_ms` returns the current time in ms since 1970. A group that is deleted before it is described has no row, and
    is not a failure. Topics without commits are sampled, too, but internal topics only if a group has commits on them
    (`__consumer_offsets` always). A partition whose log end offset is unknown has a row with a null offset, because
    readers treat a partition without a row as deleted.

    Raises StorageError, and AdminError if the cluster cannot be reached at all; then no directory is created. Failures
    of single groups, partitions and brokers are in the result.
    """
    cluster_id = admin.cluster_id()
    storage.make()
    return _write(storage, cluster_id, _request(admin, now_ms))


def _request(admin: GroupAdmin, now_ms: Callable[[], int]) -> _Responses:
    """Send the requests of a sample. Raises AdminError if no broker responds to a request for all groups or topics.

    Commits are requested before log end offsets, so that no commit is beyond the log end offset in the same sample.
    """
    plan = TimePlan(admin.deadline(), _STEPS)
    # A broker that fails during the listing loses its partitions to others before topics are listed.
    before = admin.describe_topics([OFFSETS_TOPIC], timeout=plan.until(steps.COORDINATORS)).succeeded
    groups_at = now_ms() * 1_000
    groups = admin.list_groups(timeout=plan.until(steps.LISTING))
    listing_brokers = admin.brokers().keys() - groups.failed.keys()
    described = [name for name, group in groups.succeeded.items() if _needs_description(group)]
    descriptions = admin.describe_groups(described, timeout=plan.until(steps.GROUPS))
    commits_at = now_ms() * 1_000
    readers = {name: None for name, group in groups.succeeded.items() if kind_of(group).has_commits}
    commits = admin.list_group_offsets(readers, timeout=plan.until(steps.COMMITS))
    topics = admin.list_topics(timeout=plan.until(steps.TOPICS))
    partitions = _existing_partitions(topics, commits.succeeded)
    # In this order, log start offset <= last stable offset <= log end offset holds in every row.
    log_starts = admin.list_offsets(partitions, spec=OffsetSpec.earliest(), timeout=plan.until(steps.LOG_STARTS))
    level = IsolationLevel.READ_COMMITTED
    last_stable_offsets = admin.list_offsets(partitions, isolation_level=level, timeout=plan.until(steps.STABLE_ENDS))
    sampled_at = now_ms() * 1_000
    log_ends = admin.list_offsets(partitions, timeout=plan.until(steps.LOG_ENDS))
    return _Responses(
        groups_at=groups_at,
        commits_at=commits_at,
        sampled_at=sampled_at,
        coordinators=before[OFFSETS_TOPIC].leaders if OFFSETS_TOPIC in before else {},
        listing_brokers=listing_brokers,
        groups=groups,
        descriptions=descriptions,
        commits=commits,
        topics=topics,
        partitions=partitions,
        log_starts=log_starts,
        last_stable_offsets=last_stable_offsets,
        log_ends=log_ends,
    )


def _count_members(responses: _Responses) -> dict[str, int]:
    """Return the number of members of each group for which it is known."""
    counts = {
        name: 0
        for name, group in responses.groups.succeeded.items()
        if group.state in STATES_WITHOUT_MEMBERS and not _needs_description(group)
    }
    described = {name: group.member_count for name, group in responses.descriptions.succeeded.items()}
    return counts | {name: count for name, count in described.items() if count is not None}


def _needs_description(group: GroupListing) -> bool:
    """Return whether the description of a group has more than its listing: members, an epoch, or the type."""
    has_more = group.type is None or kind_of(group).has_epochs or group.state not in STATES_WITHOUT_MEMBERS
    return supports(group, Operation.DESCRIBE) and has_more


def _existing_partitions(topics: Results[str, Topic], commits: Mapping[str, GroupOffsets]) -> list[TopicPartition]:
    """Return the partitions whose offsets a sample requests.

    These are all partitions of `__consumer_offsets`, of topics that are not internal, and of internal topics on which a
    group has commits. Of a topic whose metadata cannot be read, only partitions with commits are known.
    """
    committed: dict[str, set[int]] = {}
    for offsets in commits.values():
        for name, numbers in offsets.partitions():
            committed.setdefault(name, set()).update(numbers)
    existing: dict[str, Iterable[int]] = {
        name: topic.partitions
        for name, topic in topics.succeeded.items()
        if not topic.internal or name in committed or name == OFFSETS_TOPIC
    }
    existing |= {name: sorted(committed[name]) for name in topics.failed if name in committed}
    return [TopicPartition(name, number) for name, numbers in existing.items() for number in numbers]


def _silent_coordinators(responses: _Responses) -> list[TopicPartition]:
    """Return the partitions of `__consumer_offsets` whose groups may be missing in the sample (UNLISTED_LOG_END).

    Leadership may move while groups are listed. So the leaders before and after the listing must both be known, and
    must both have listed their groups. If the topic cannot be described and a broker did not list its groups, partition
    0 stands for all partitions.
    """
    partitions = [key for key in responses.partitions if key.topic == OFFSETS_TOPIC]
    described = responses.topics.succeeded.get(OFFSETS_TOPIC)
    leaders = {} if described is None else described.leaders
    if not partitions and (responses.groups.failed or OFFSETS_TOPIC in responses.topics.failed):
        return [TopicPartition(OFFSETS_TOPIC, 0)]
    coordinators = (responses.coordinators, leaders)
    return [
        key
        for key in partitions
        if not all(brokers.get(key.partition) in responses.listing_brokers for brokers in coordinators)
    ]


def _failures(responses: _Responses) -> tuple[Failure, ...]:
    """Return one failure for each group, partition and broker that failed.

    A partition without a leader fails in all three requests for its offsets; the first failure counts.
    """
    results: tuple[Results[Any, Any] | GroupOffsets, ...] = (
        responses.groups,
        responses.descriptions,
        responses.commits,
        responses.topics,
        responses.log_ends,
        responses.last_stable_offsets,
        responses.log_starts,
        *responses.commits.succeeded.values(),
    )
    deleted = responses.deleted_groups()
    by_item: dict[object, Failure] = {}
    for failure in chain.from_iterable(result.failed.values() for result in results):
        is_deletion = failure.group in deleted and failure.code == GROUP_ID_NOT_FOUND
        if not is_deletion:
            item = (failure.group, failure.topic, failure.partition)
            by_item.setdefault(failure.broker if item == (None, None, None) else item, failure)
    return tuple(by_item.values())


def _table_batches(cluster_id: str, responses: _Responses) -> Mapping[Table, Iterable[Any]]:
    """Return the record batches of each table, which are built while they are read."""
    silent = _silent_coordinators(responses)
    log_ends: Offsets = {**responses.log_ends.succeeded, **dict.fromkeys(silent, UNLISTED_LOG_END)}
    deleted = responses.deleted_groups()
    groups = [group for name, group in responses.groups.succeeded.items() if name not in deleted]
    source = {"cluster_id": cluster_id, "origin": "sample"}
    commit_times = {"record_time": responses.commits_at, "commit_time": responses.commits_at}
    return {
        OFFSET_COMMITS: offset_commit_batches(
            responses.commits.succeeded, _count_members(responses), shared={**source, **commit_times}
        ),
        GROUP_EVENTS: group_batches(
            groups, responses.descriptions.succeeded, shared={**source, "record_time": responses.groups_at}
        ),
        PARTITION_OFFSETS: partition_batches(
            [*dict.fromkeys([*responses.partitions, *silent])],
            responses.topics.succeeded,
            log_starts=responses.log_starts.succeeded,
            log_ends=log_ends,
            last_stable_offsets=responses.last_stable_offsets.succeeded,
            shared={**source, "observed_at": responses.sampled_at},
        ),
    }


def _write(storage: Storage, cluster_id: str, responses: _Responses) -> SampleResult:
    """Write the rows of a sample and its row of SAMPLE_RUNS, and return what was written. Raises StorageError."""
    failures = _failures(responses)
    batch = new_batch_name(SAMPLE, datetime.fromtimestamp(responses.sampled_at / 1_000_000, UTC))
    rows = {table.name: 0 for table in _FACT_TABLES}
    with storage.writer(batch) as writer:
        for table, batches in _table_batches(cluster_id, responses).items():
            for table_rows in batches:
                writer.write(table, table_rows)
                rows[table.name] += table_rows.num_rows
        run = {
            "cluster_id": cluster_id,
            "sample": batch,
            "groups_at": responses.groups_at,
            "commits_at": responses.commits_at,
            "sampled_at": responses.sampled_at,
            "groups": rows[GROUP_EVENTS.name],
            "commits": rows[OFFSET_COMMITS.name],
            "partitions": rows[PARTITION_OFFSETS.name],
            "failures": len(failures),
        }
        writer.write(SAMPLE_RUNS, make_batch(SAMPLE_RUNS.frame, run, size=1))
        files = writer.close()
    # Readers ignore a sample without its row of SAMPLE_RUNS, so that table is committed last.
    storage.append(files, tables=(*_FACT_TABLES, SAMPLE_RUNS))
    return SampleResult(
        cluster_id=cluster_id, batch=batch, groups=rows[GROUP_EVENTS.name], rows=rows, failures=failures
    )
