"""The measurement of lag: one round of batched requests, and what it means by group, topic, member or partition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from kafka_groups.admin.api import Admin, Deadline, IsolationLevel, TimePlan
from kafka_groups.groups import steps
from kafka_groups.groups.assignments import has_unknown_assignments
from kafka_groups.groups.descriptions import DescribedGroups, describe_groups, description_steps
from kafka_groups.groups.lag.columns import PartitionColumns, offset_columns
from kafka_groups.groups.lag.lag_row import LagKey, order_of
from kafka_groups.groups.lag.polls import Polls
from kafka_groups.groups.lag.reading import LagReading, with_pace
from kafka_groups.groups.lag.retention import Retention, Retentions, read_retentions
from kafka_groups.groups.lag.rows import distinct_partitions, has_offset_rows, offset_rows
from kafka_groups.groups.lag.start_offsets import judge_start_offsets
from kafka_groups.groups.lag.summary import GroupSummary, summarize_lag, summarize_total
from kafka_groups.groups.lag.time_lag import CAUGHT_UP, NOT_MEASURED, TimeLags, read_time_lags, time_lag_of
from kafka_groups.groups.log_offsets import Details
from kafka_groups.groups.notes import Note
from kafka_groups.groups.selection import NO_MATCH, Selectors, listing_steps, select_groups
from kafka_groups.groups.topic_scope import (
    NO_GROUP_OF_TOPIC,
    TopicScope,
    TopicScopeReading,
    note_others,
    read_topic_scope,
)
from kafka_groups.kinds import Operation, kind_of
from kafka_groups.model import Failure, GroupDescription, OffsetRow
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND

# A group with its partitions: as rows, or as columns for totals alone.
GroupPartitions: TypeAlias = tuple[GroupDescription, Sequence[OffsetRow]]
GroupColumns: TypeAlias = tuple[GroupDescription, PartitionColumns]


class LagMeasurement(NamedTuple):
    """What was read of the selected groups. `time_lags` is None unless time lag was measured.

    `retentions` has retention.ms of topics whose records are deleted by age, where it was read.

    `anything_read` says whether a group was read, or none is there to read. `is_whole_cluster`: the selectors select
    every group, so that one that was not read does not exist, if nothing failed. `other_groups` were read, and read
    none of the topics that the caller named; `topic_notes` are about them.
    """

    described: DescribedGroups
    isolation_level: IsolationLevel
    time_lags: TimeLags | None
    retentions: Retentions
    failures: tuple[Failure, ...]
    anything_read: bool
    is_whole_cluster: bool
    other_groups: tuple[str, ...] = ()
    topic_notes: tuple[Note, ...] = ()

    def retention_of(self, row: OffsetRow) -> Retention:
        """Return the retention of a row's topic, and how long it still keeps the record at the commit."""
        topic_ms = self.retentions.by_topic.get(row.topic)
        time_lag = NOT_MEASURED if self.time_lags is None else time_lag_of([row], self.time_lags)
        left_ms = None if topic_ms is None or time_lag.ms is None else topic_ms - time_lag.ms
        return Retention(topic_ms, left_ms, is_caught_up=CAUGHT_UP in time_lag.notes)

    def partitions(self) -> Iterator[GroupPartitions]:
        """Yield each group with its rows, which are made now: a large cluster's rows are never all in memory."""
        for group, description in self.described.descriptions.items():
            yield description, offset_rows(self.described, group)

    def columns(self) -> Iterator[GroupColumns]:
        """Yield each group with its partitions in columns, half of the work of rows."""
        for group, description in self.described.descriptions.items():
            yield description, offset_columns(self.described, group)


def measure_lag(
    admin: Admin,
    selectors: Selectors,
    *,
    isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    with_time: bool = False,
    with_retention: bool = False,
    topics: Mapping[str, Sequence[int]] = MappingProxyType({}),
    deadline: Deadline | None = None,
) -> LagMeasurement:
    """Measure the lag of the selected groups, all groups if none is selected, by one round of batched requests.

    With READ_COMMITTED it is measured to the last stable offset, where a consumer of that level stops. `with_time`
    reads a record of each partition that lags, too, and `with_retention` the retention of topics with such a record.
    `topics` narrows it to topics, or to partitions of them, none for all of a topic. It costs a Metadata request, which
    also finds the leaders; log offsets of other partitions are not requested.
    """
    if with_time:
        admin.require_record_times()
    selected = selectors._replace(all_groups=True) if selectors.is_empty() else selectors
    details = Details(
        offsets=True, log_start_offsets=True, whole_topics=True, offsets_only=True, isolation_level=isolation_level
    )
    time_steps = ((steps.RECORDS,) if with_time else ()) + ((steps.CONFIGS,) if with_retention else ())
    topic_steps = (steps.TOPICS,) if topics else ()
    plan = TimePlan(deadline, (*topic_steps, *listing_steps(selected), *description_steps(details), *time_steps))
    named = read_topic_scope(admin, topics, deadline=plan.until(steps.TOPICS)) if topics else None
    if named is not None:
        details = details._replace(scope=named.scope)
    selection = select_groups(admin, selected, operation=Operation.LIST_OFFSETS, plan=plan)
    described = describe_groups(admin, selection, details=details, operation=Operation.LIST_OFFSETS, plan=plan)
    narrowed = _narrow(described, named, selectors)
    described = narrowed.described
    time_lags = None
    failures = described.failures
    if with_time:
        rows = (row for group in described.descriptions for row in offset_rows(described, group))
        measured = read_time_lags(admin, rows, isolation_level=isolation_level, deadline=plan.until(steps.RECORDS))
        time_lags = measured.time_lags
        failures = (*failures, *measured.failures)
    retentions = Retentions()
    if with_retention and time_lags is not None:
        retentions = read_retentions(admin, time_lags, deadline=plan.until(steps.CONFIGS))
    return LagMeasurement(
        described=described,
        isolation_level=isolation_level,
        time_lags=time_lags,
        retentions=retentions,
        failures=failures,
        anything_read=narrowed.anything_read or (not selection.groups and selection.anything_listed),
        is_whole_cluster=selectors.selects_all() and not (selectors.states or selectors.types),
        other_groups=narrowed.other_groups,
        topic_notes=narrowed.notes,
    )


class _NarrowedGroups(NamedTuple):
    """The groups that read the named topics, the ids of the others, and notes on them."""

    described: DescribedGroups
    anything_read: bool
    other_groups: tuple[str, ...] = ()
    notes: tuple[Note, ...] = ()


def _narrow(described: DescribedGroups, named: TopicScopeReading | None, selectors: Selectors) -> _NarrowedGroups:
    """Return the groups that may read the named topics; all of them if there are no topics."""
    descriptions = described.descriptions
    if named is None:
        return _NarrowedGroups(described, anything_read=bool(descriptions))
    readers = {group: each for group, each in descriptions.items() if _may_read(described, group, named.scope)}
    others = tuple(group for group in descriptions if group not in readers)
    failures = (*named.failures, *described.failures)
    notes = note_others(group for group in others if group in selectors.named)
    if not (readers or notes or failures or NO_MATCH in described.notes):
        notes = [NO_GROUP_OF_TOPIC]
    return _NarrowedGroups(
        described._replace(descriptions=readers, failures=failures),
        anything_read=bool(readers) or (bool(others) and named.is_complete),
        other_groups=others,
        notes=tuple(notes),
    )


def _may_read(described: DescribedGroups, group: str, scope: TopicScope) -> bool:
    """Return whether a group has a row on named topics, or members that may read them, as in `list --topic`."""
    description = described.descriptions[group]
    if description.is_described and (
        has_unknown_assignments(description) or any(map(scope.is_read_by, description.members))
    ):
        return True
    if scope.has_whole_topics():
        return has_offset_rows(described, group)
    return bool(offset_rows(described, group))


def summarize(measurement: LagMeasurement, by: LagKey = LagKey.GROUP) -> LagReading:
    """Return the lag of each group in total, and by topic, member or partition."""
    if by is LagKey.GROUP and measurement.time_lags is None:
        return summarize_totals(measurement, measurement.columns())
    return _reading(measurement, (_summarize(measurement, by, *group) for group in measurement.partitions()))


def summarize_totals(measurement: LagMeasurement, columns: Iterable[GroupColumns]) -> LagReading:
    """Return the lag of each group in total, without time lag; `columns` are those of the measurement.

    They come from a caller that needs the partitions of each group, too.
    """
    return _reading(measurement, (summarize_total(*group, measurement.isolation_level) for group in columns))


def add_poll(
    polls: Polls,
    measurement: LagMeasurement,
    at_ms: int,
    by: LagKey = LagKey.GROUP,
    partitions: Iterable[GroupPartitions] | None = None,
) -> LagReading:
    """Add a measurement to the polls, and return the lag of each group with rates, trend and verdict, and known resets.

    What was deleted since the last poll is forgotten. `partitions` are those of the measurement, from a caller that
    needs the rows of each group, too.
    """
    groups = []
    for description, rows in measurement.partitions() if partitions is None else partitions:
        summary = _summarize(measurement, by, description, rows)
        if kind_of(description).has_commits:
            polls.observe(distinct_partitions(rows), at_ms, description.member_count, measurement.retention_of)
        else:
            verdict = judge_start_offsets(rows, polls.limits)
            polls.observe_judged(description.group, summary.total.lag, at_ms, verdict)
        groups.append(summary)
    absent = [each.group for each in measurement.failures if each.code == GROUP_ID_NOT_FOUND and each.group is not None]
    polls.end_poll(
        [*measurement.described.descriptions, *measurement.other_groups, *absent],
        unread={
            (failure.group, failure.topic, failure.partition)
            for failure in measurement.failures
            if failure.group is not None and failure.topic is not None and failure.partition is not None
        },
        is_complete=measurement.is_whole_cluster and not measurement.failures,
    )
    return with_pace(_reading(measurement, groups)._replace(resets=polls.resets), polls.paces())


def read_lag(
    admin: Admin,
    selectors: Selectors,
    *,
    by: LagKey = LagKey.GROUP,
    isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    with_time: bool = False,
    deadline: Deadline | None = None,
) -> LagReading:
    """Measure the lag of the selected groups, and return it by group, topic, member or partition."""
    measurement = measure_lag(admin, selectors, isolation_level=isolation_level, with_time=with_time, deadline=deadline)
    return summarize(measurement, by)


def _summarize(
    measurement: LagMeasurement, by: LagKey, group: GroupDescription, rows: Sequence[OffsetRow]
) -> GroupSummary:
    return summarize_lag(group, rows, by, measurement.isolation_level, measurement.time_lags)


def _reading(measurement: LagMeasurement, groups: Iterable[GroupSummary]) -> LagReading:
    return LagReading(
        groups=tuple(sorted(groups, key=lambda group: order_of(group.total))),
        failures=measurement.failures,
        notes=(*measurement.described.notes, *measurement.topic_notes, *measurement.retentions.notes),
        anything_read=measurement.anything_read,
    )
