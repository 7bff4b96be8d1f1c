"""A sample: the commits and states of all groups, and the offsets of all logs, at one time.

A sample writes rows into the tables that an ingest fills, and adds what `__consumer_offsets` does not contain: log end
offsets, and the states of groups. `sample_rows.py` builds the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple

from kafka_groups.admin import GroupAdmin, IsolationLevel, OffsetSpec, Topic
from kafka_groups.admin.api import TimePlan
from kafka_groups.groups import steps
from kafka_groups.kinds import STATES_WITHOUT_MEMBERS, Operation, kind_of, supports
from kafka_groups.model import Failure, GroupListing, GroupOffsets, Results, TopicPartition
from kafka_groups.pipeline.facts.sample_responses import SampleResponses, collect_failures, unlisted_partitions
from kafka_groups.pipeline.facts.sample_rows import (
    Offsets,
    group_batches,
    offset_commit_batches,
    partition_batches,
    share_offset_batches,
)
from kafka_groups.pipeline.frames.batches import make_batch
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.store.data_files import SAMPLE, new_batch_name
from kafka_groups.pipeline.tables import (
    GROUP_EVENTS,
    OFFSET_COMMITS,
    OFFSETS_TOPIC,
    PARTITION_OFFSETS,
    SAMPLE_RUNS,
    SHARE_OFFSETS,
    UNLISTED_LOG_END,
    Table,
)

# The tables with rows of groups and partitions, in the order of their commits.
_FACT_TABLES: Final = (OFFSET_COMMITS, GROUP_EVENTS, PARTITION_OFFSETS, SHARE_OFFSETS)
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


class SampleReading(NamedTuple):
    """What the brokers of a cluster returned for a sample, before it is written."""

    cluster_id: str
    responses: SampleResponses


@dataclass(frozen=True, kw_only=True)
class SampleResult:
    """The result of a sample: the name of its batch, the number of groups, and the number of rows by table name.

    `failures` has one failure for each group, partition and broker whose rows are missing.
    """

    cluster_id: str
    batch_name: str
    groups: int
    rows: Mapping[str, int]
    failures: tuple[Failure, ...]


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
    return write_sample(storage, SampleReading(cluster_id, _send_requests(admin, now_ms)))


def read_sample(admin: GroupAdmin, *, now_ms: Callable[[], int]) -> SampleReading:
    """Read a sample of a cluster, for `write_sample`. Raises AdminError if the cluster cannot be reached at all."""
    return SampleReading(admin.cluster_id(), _send_requests(admin, now_ms))


def _send_requests(admin: GroupAdmin, now_ms: Callable[[], int]) -> SampleResponses:
    """Send the requests of a sample. Raises AdminError if no broker responds to a request for all groups or topics.

    Commits are requested before log end offsets, so that no commit is beyond the log end offset in the same sample.
    """
    plan = TimePlan(admin.deadline(), _STEPS)
    # A broker that fails during the listing loses its partitions to others before topics are listed.
    topics_before = admin.describe_topics([OFFSETS_TOPIC], timeout=plan.until(steps.COORDINATORS)).succeeded
    groups_at = now_ms() * 1_000
    groups = admin.list_groups(timeout=plan.until(steps.LISTING))
    listing_brokers = admin.brokers().keys() - groups.failed.keys()
    groups_to_describe = [name for name, group in groups.succeeded.items() if _needs_description(group)]
    descriptions = admin.describe_groups(groups_to_describe, timeout=plan.until(steps.GROUPS))
    commits_at = now_ms() * 1_000
    groups_with_offsets = {name: None for name, group in groups.succeeded.items() if kind_of(group).has_offsets}
    commits = _order_by_group(
        admin.list_group_offsets(groups_with_offsets, timeout=plan.until(steps.COMMITS)), groups_with_offsets
    )
    topics = admin.list_topics(timeout=plan.until(steps.TOPICS))
    partitions = _find_existing_partitions(topics, commits.succeeded)
    # In this order, log start offset <= last stable offset <= log end offset holds in every row.
    log_starts = admin.list_offsets(partitions, spec=OffsetSpec.earliest(), timeout=plan.until(steps.LOG_STARTS))
    isolation_level = IsolationLevel.READ_COMMITTED
    last_stable_offsets = admin.list_offsets(
        partitions, isolation_level=isolation_level, timeout=plan.until(steps.STABLE_ENDS)
    )
    sampled_at = now_ms() * 1_000
    log_ends = admin.list_offsets(partitions, timeout=plan.until(steps.LOG_ENDS))
    return SampleResponses(
        groups_at=groups_at,
        commits_at=commits_at,
        sampled_at=sampled_at,
        coordinators=topics_before[OFFSETS_TOPIC].leaders if OFFSETS_TOPIC in topics_before else {},
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


def _order_by_group(offsets: Results[str, GroupOffsets], groups: Iterable[str]) -> Results[str, GroupOffsets]:
    """Return the offsets in the order of the groups, whichever broker responded first."""
    names = [*groups]
    return Results(
        succeeded={name: offsets.succeeded[name] for name in names if name in offsets.succeeded},
        failed={name: offsets.failed[name] for name in names if name in offsets.failed},
    )


def _count_members(responses: SampleResponses) -> dict[str, int]:
    """Return the number of members of each group for which it is known."""
    counts = {
        name: 0
        for name, group in responses.groups.succeeded.items()
        if group.state in STATES_WITHOUT_MEMBERS and not _needs_description(group)
    }
    described_counts = {name: group.member_count for name, group in responses.descriptions.succeeded.items()}
    return counts | {name: count for name, count in described_counts.items() if count is not None}


def _needs_description(group: GroupListing) -> bool:
    """Return whether the description of a group has more than its listing: members, an epoch, or the type."""
    description_has_more = group.type is None or kind_of(group).has_epochs or group.state not in STATES_WITHOUT_MEMBERS
    return supports(group, Operation.DESCRIBE) and description_has_more


def _find_existing_partitions(topics: Results[str, Topic], commits: Mapping[str, GroupOffsets]) -> list[TopicPartition]:
    """Return the partitions whose offsets a sample requests.

    These are all partitions of `__consumer_offsets`, of topics that are not internal, and of internal topics on which a
    group has commits. If a topic's metadata cannot be read, only its partitions with commits are known.
    """
    committed_partitions: dict[str, set[int]] = {}
    for offsets in commits.values():
        for topic_name, partition_numbers in offsets.partitions():
            committed_partitions.setdefault(topic_name, set()).update(partition_numbers)
    existing_partitions: dict[str, Iterable[int]] = {
        topic_name: topic.partitions
        for topic_name, topic in topics.succeeded.items()
        if not topic.internal or topic_name in committed_partitions or topic_name == OFFSETS_TOPIC
    }
    existing_partitions |= {
        topic_name: sorted(committed_partitions[topic_name])
        for topic_name in topics.failed
        if topic_name in committed_partitions
    }
    return [
        TopicPartition(topic_name, partition_number)
        for topic_name, partition_numbers in existing_partitions.items()
        for partition_number in partition_numbers
    ]


def _make_table_batches(cluster_id: str, responses: SampleResponses) -> Mapping[Table, Iterable[Any]]:
    """Return the record batches of each table, which are built while they are read."""
    unlisted = unlisted_partitions(responses)
    log_ends: Offsets = {**responses.log_ends.succeeded, **dict.fromkeys(unlisted, UNLISTED_LOG_END)}
    deleted_groups = responses.deleted_groups()
    groups = [group for name, group in responses.groups.succeeded.items() if name not in deleted_groups]
    source_columns = {"cluster_id": cluster_id, "origin": "sample"}
    commit_times = {"record_time": responses.commits_at, "commit_time": responses.commits_at}
    return {
        OFFSET_COMMITS: offset_commit_batches(
            responses.offsets_of(share_groups=False),
            _count_members(responses),
            common_columns={**source_columns, **commit_times},
        ),
        GROUP_EVENTS: group_batches(
            groups,
            responses.descriptions.succeeded,
            common_columns={**source_columns, "record_time": responses.groups_at},
        ),
        PARTITION_OFFSETS: partition_batches(
            [*dict.fromkeys([*responses.partitions, *unlisted])],
            responses.topics.succeeded,
            log_starts=responses.log_starts.succeeded,
            log_ends=log_ends,
            last_stable_offsets=responses.last_stable_offsets.succeeded,
            common_columns={**source_columns, "observed_at": responses.sampled_at},
        ),
        SHARE_OFFSETS: share_offset_batches(
            responses.offsets_of(share_groups=True),
            common_columns={"cluster_id": cluster_id, "observed_at": responses.sampled_at},
        ),
    }


def write_sample(storage: Storage, reading: SampleReading) -> SampleResult:
    """Write the rows of a sample and its row of SAMPLE_RUNS, and return what was written. Raises StorageError."""
    cluster_id, responses = reading
    storage.make()
    failures = collect_failures(responses)
    batch_name = new_batch_name(SAMPLE, datetime.fromtimestamp(responses.sampled_at / 1_000_000, UTC))
    row_counts = {table.name: 0 for table in _FACT_TABLES}
    with storage.writer(batch_name) as writer:
        for table, batches in _make_table_batches(cluster_id, responses).items():
            for table_rows in batches:
                writer.write(table, table_rows)
                row_counts[table.name] += table_rows.num_rows
        run_columns = {
            "cluster_id": cluster_id,
            "sample": batch_name,
            "groups_at": responses.groups_at,
            "commits_at": responses.commits_at,
            "sampled_at": responses.sampled_at,
            "groups": row_counts[GROUP_EVENTS.name],
            "commits": row_counts[OFFSET_COMMITS.name],
            "partitions": row_counts[PARTITION_OFFSETS.name],
            "share_offsets": row_counts[SHARE_OFFSETS.name],
            "failures": len(failures),
        }
        writer.write(SAMPLE_RUNS, make_batch(SAMPLE_RUNS.frame, run_columns, size=1))
        files = writer.close()
    # Readers ignore a sample without its row of SAMPLE_RUNS, so that table is committed last.
    storage.append(files, tables=(*_FACT_TABLES, SAMPLE_RUNS))
    return SampleResult(
        cluster_id=cluster_id,
        batch_name=batch_name,
        groups=row_counts[GROUP_EVENTS.name],
        rows=row_counts,
        failures=failures,
    )
