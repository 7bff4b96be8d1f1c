"""One poll of a cluster: the requests of `lag`, and their result as lines of metrics."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from kafka_groups.admin.api import Admin, Deadline, IsolationLevel
from kafka_groups.exporter.partition_series import PartitionSeries
from kafka_groups.groups.lag.columns import columns_of
from kafka_groups.groups.lag.lag_row import LagKey, LagRow
from kafka_groups.groups.lag.measurement import (
    GroupColumns,
    GroupPartitions,
    LagMeasurement,
    add_poll,
    measure_lag,
    summarize,
    summarize_totals,
)
from kafka_groups.groups.lag.polls import Polls
from kafka_groups.groups.lag.reading import LagReading
from kafka_groups.groups.lag.rows import distinct_partitions
from kafka_groups.groups.lag.summary import GroupSummary
from kafka_groups.groups.selection import Selectors
from kafka_groups.model import Failure
from kafka_groups.rendering.metrics import Metric
from kafka_groups.rendering.samples import RowSamples
from kafka_groups.rendering.views.lag_metrics import lag_metrics


class PollOptions(NamedTuple):
    """What each poll reads and shows.

    `topics` maps topics to partitions, none for all of a topic; without topics all are read. `max_series` is the most
    series of groups that a cluster may have, None without a limit.
    """

    selectors: Selectors = Selectors()
    topics: Mapping[str, Sequence[int]] = MappingProxyType({})
    by: LagKey = LagKey.GROUP
    isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
    with_time: bool = False
    with_verdicts: bool = False
    with_all: bool = False
    max_series: int | None = None

    def metrics(self) -> tuple[Metric, ...]:
        """Return the metrics of groups, then those of their parts."""
        groups = lag_metrics(LagKey.GROUP, with_time=self.with_time, with_verdicts=self.with_verdicts)
        return (*groups, *self.part_metrics())

    def part_metrics(self) -> tuple[Metric, ...]:
        """Return the metrics of the parts of groups; none by group."""
        if self.by is LagKey.GROUP:
            return ()
        return lag_metrics(self.by, with_time=self.with_time, with_all=self.with_all)


class ClusterPoll(NamedTuple):
    """The result of a poll. A cluster that failed is not up, and has no samples.

    `samples` are lines by the name of the metric, encoded. `cluster` is the name of the cluster, empty if unknown.
    `ended_s` is the time of its end, in seconds since 1970. `skipped_groups` are those that exceed the limit of series.
    """

    cluster: str
    is_up: bool
    samples: Mapping[str, Sequence[bytes]]
    failures: Sequence[Failure]
    ended_s: float
    duration_s: float
    skipped_groups: int = 0


def failed_poll(cluster: str, failure: Failure, ended_s: float = 0.0) -> ClusterPoll:
    """Return the poll of a cluster that could not be polled."""
    return ClusterPoll(cluster, is_up=False, samples={}, failures=(failure,), ended_s=ended_s, duration_s=0.0)


class PollSamples(NamedTuple):
    """What a poll read: lines by the name of the metric, failures, and whether anything was read."""

    lines: Mapping[str, Sequence[bytes]]
    failures: Sequence[Failure]
    anything_read: bool
    skipped_groups: int


class ClusterSamples:
    """The samples of a cluster: its polls for verdicts, and labels that are kept between two polls."""

    def __init__(self, options: PollOptions, polls: Polls) -> None:
        self.polls = polls
        self._options = options
        self._group_samples = RowSamples(self._group_metrics())
        self._part_samples = RowSamples(options.part_metrics())
        self._has_numbers_only = options.by is LagKey.PARTITION and not (options.with_all or options.with_time)
        self._partitions = PartitionSeries(
            options.part_metrics() if self._has_numbers_only else (), is_limited=options.max_series is not None
        )

    def read(self, admin: Admin, deadline: Deadline, at_ms: int, name_of: Callable[[], str]) -> PollSamples:
        """Poll once. Raises AdminError if nothing can be read. `name_of` returns the name of the cluster."""
        options = self._options
        measurement = measure_lag(
            admin,
            options.selectors,
            isolation_level=options.isolation_level,
            with_time=options.with_time,
            with_retention=options.with_time and options.with_verdicts,
            topics=options.topics,
            deadline=deadline,
        )
        cluster = name_of()
        reading = self._summarize(measurement, at_ms, cluster)
        shown = [*self._limited(reading.groups)]
        return PollSamples(
            lines=self._format(shown, cluster),
            failures=reading.failures,
            anything_read=reading.anything_read,
            skipped_groups=len(reading.groups) - len(shown),
        )

    def _summarize(self, measurement: LagMeasurement, at_ms: int, cluster: str) -> LagReading:
        self._partitions.begin()
        by = self._options.by
        if self._options.with_verdicts:
            if self._has_numbers_only:
                return add_poll(self.polls, measurement, at_ms, partitions=self._watch_rows(measurement, cluster))
            return add_poll(self.polls, measurement, at_ms, by)
        if self._has_numbers_only:
            return summarize_totals(measurement, self._watch_columns(measurement, cluster))
        return summarize(measurement, by)

    def _watch_rows(self, measurement: LagMeasurement, cluster: str) -> Iterator[GroupPartitions]:
        """Yield the groups of a measurement, and keep the lines of their partitions."""
        for description, rows in measurement.partitions():
            self._partitions.add(description, columns_of(distinct_partitions(rows)), cluster)
            yield description, rows

    def _watch_columns(self, measurement: LagMeasurement, cluster: str) -> Iterator[GroupColumns]:
        """Yield the groups of a measurement, and keep the lines of their partitions."""
        for description, columns in measurement.columns():
            self._partitions.add(description, columns, cluster)
            yield description, columns

    def _limited(self, groups: Sequence[GroupSummary]) -> Iterator[GroupSummary]:
        """Yield whole groups, the furthest behind first, until their series reach the limit."""
        left = self._options.max_series
        if left is None:
            yield from groups
            return
        metrics = self._group_metrics()
        parts = self._options.part_metrics()
        for group in groups:
            lines = self._partitions.lines.get(group.total.group)
            left -= _count_series(metrics, [group.total])
            left -= lines.series if lines is not None else _count_series(parts, group.rows)
            if left < 0:
                return
            yield group

    def _group_metrics(self) -> tuple[Metric, ...]:
        options = self._options
        return lag_metrics(LagKey.GROUP, with_time=options.with_time, with_verdicts=options.with_verdicts)

    def _format(self, groups: Sequence[GroupSummary], cluster: str) -> dict[str, list[bytes]]:
        lines: dict[str, list[bytes]] = {}
        totals = [group.total for group in groups]
        for name, text in self._group_samples.format(totals, cluster):
            lines.setdefault(name, []).append(text.encode())
        if self._has_numbers_only:
            return lines | self._partitions.take(total.group for total in totals)
        rows = [row for group in groups for row in group.rows]
        for name, text in self._part_samples.format(rows, cluster):
            lines.setdefault(name, []).append(text.encode())
        return lines


def _count_series(metrics: Iterable[Metric], rows: Sequence[LagRow]) -> int:
    """Return the most series that rows may have: a StateSet has one for each state."""
    return sum(1 if metric.states_of is None else len(metric.states_of(row)) for metric in metrics for row in rows)
