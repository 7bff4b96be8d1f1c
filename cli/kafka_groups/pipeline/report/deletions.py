"""Deleted groups: when each was deleted, as its tombstone shows, or samples that no longer list it."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Mapping
from typing import Final, NamedTuple

from kafka_groups.pipeline.build.coverage import Coverage
from kafka_groups.pipeline.report.last_rows import LastRows
from kafka_groups.pipeline.report.period import FRESH_MS, GroupKey, Period, PeriodTables
from kafka_groups.pipeline.tables import OFFSETS_TOPIC, PARTITION_OFFSETS

# A single sample without a group may be incomplete by chance.
_MIN_SAMPLES: Final = 2
# A sample is complete if each coordinator listed its groups: the partitions of the offsets topic have log end offsets.
# Without permission to describe that topic, all partitions need one.
_COMPLETE_SAMPLES: Final = """
    SELECT cluster_id, at_ms FROM period_rows WHERE origin = 'sample' GROUP BY cluster_id, at_ms
    HAVING coalesce(bool_and(log_end_offset IS NOT NULL) FILTER (WHERE topic = {offsets_topic}),
        bool_and(log_end_offset IS NOT NULL)) ORDER BY at_ms
"""


class Deletion(NamedTuple):
    """The time at which a group was deleted, in milliseconds since 1970; with `is_bound`, an upper bound."""

    at_ms: int
    is_bound: bool


class _Sample(NamedTuple):
    cluster_id: str
    at_ms: int


def find_deletions(
    tables: PeriodTables, rows: Mapping[GroupKey, LastRows], coverages: Mapping[str, Coverage]
) -> dict[GroupKey, Deletion]:
    """Find the groups that were deleted in the period or before it, and have not been seen since.

    If no sign of the group follows its tombstone, the group was deleted at the time of the tombstone. Otherwise the
    time is a bound: the time of the first complete sample without the group. There must be two such samples, the last
    one more than ten minutes after any sign of the group. They count only if the cluster's records were not read until
    then, or if these show that all commits were deleted: brokers before 4.0 write no tombstone for groups that never
    had members.
    """
    deletions: dict[GroupKey, Deletion] = {}
    unlisted: dict[GroupKey, LastRows] = {}
    for key, last in rows.items():
        if last.event is None:
            continue
        if last.event.is_removal and last.event.record_ms == last.alive_ms:
            deletions[key] = Deletion(last.alive_ms, is_bound=False)
        # A sample that lists no group has only rows of log end offsets.
        elif (
            last.event.listed_ms is not None
            and (coverages[key.cluster_id].last_sample_ms or 0) - last.alive_ms > FRESH_MS
        ):
            unlisted[key] = last
    sample_times = _read_complete_samples(tables, unlisted)
    for key, last in unlisted.items():
        deletion = _deletion_from_samples(
            last, sample_times.get(key.cluster_id, []), coverages[key.cluster_id].last_record_ms
        )
        if deletion is not None:
            deletions[key] = deletion
    return deletions


def _deletion_from_samples(last: LastRows, sample_times: list[int], last_record_ms: int | None) -> Deletion | None:
    """Return the deletion of a group according to complete samples; None if they show none.

    `sample_times` are the times of the cluster's complete samples in ms since 1970, ascending. `last_record_ms`
    is the time of the last record that was read; None if none was.
    """
    # Log end offsets are requested last, so the first time after the last sign belongs to the sample with this sign.
    later_times = sample_times[bisect_left(sample_times, last.alive_ms) + 1 :]
    if len(later_times) < _MIN_SAMPLES or later_times[-1] - last.alive_ms <= FRESH_MS:
        return None
    if last.event is not None and last.event.is_removal and last.event.record_ms is not None:
        # The clock of the sampler is ahead of the broker's.
        return Deletion(last.event.record_ms, is_bound=False)
    has_no_commits = last.day is not None and last.day.partitions == 0
    if last_record_ms is None or last_record_ms < later_times[0] or has_no_commits:
        return Deletion(later_times[0], is_bound=True)
    return None


def _read_complete_samples(tables: PeriodTables, unlisted: Mapping[GroupKey, LastRows]) -> Mapping[str, list[int]]:
    """Return by cluster id the ascending times of complete samples, from the earliest last sign of any group on."""
    times = defaultdict[str, list[int]](list)
    if unlisted:
        period = Period(min(last.alive_ms for last in unlisted.values()), tables.period.until_ms)
        samples = tables.select(_Sample, PARTITION_OFFSETS, _COMPLETE_SAMPLES, period, offsets_topic=OFFSETS_TOPIC)
        for sample in samples:
            times[sample.cluster_id].append(sample.at_ms)
    return times
