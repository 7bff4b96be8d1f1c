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
    tables: PeriodTables, rows_by_group: Mapping[GroupKey, LastRows], coverages: Mapping[str, Coverage]
) -> dict[GroupKey, Deletion]:
    """Find the groups that were deleted in the period or before it, and have not been seen since.

    If no sign of the group follows its tombstone, the group was deleted at the time of the tombstone. Otherwise the
    time is a bound: the time of the first complete sample without the group. There must be two such samples, the last
    one more than ten minutes after any sign of the group. They count only if the cluster's records were not read until
    then, or if these show that all commits were deleted: brokers before 4.0 write no tombstone for groups that never
    had members.
    """
    deletions: dict[GroupKey, Deletion] = {}
    unlisted_groups: dict[GroupKey, LastRows] = {}
    for key, last_rows in rows_by_group.items():
        if last_rows.event is None:
            continue
        if last_rows.event.is_group_deletion and last_rows.event.record_ms == last_rows.last_sign_ms:
            deletions[key] = Deletion(last_rows.last_sign_ms, is_bound=False)
        # A sample that lists no group has only rows of log end offsets.
        elif (
            last_rows.event.listed_ms is not None
            and (coverages[key.cluster_id].last_sample_ms or 0) - last_rows.last_sign_ms > FRESH_MS
        ):
            unlisted_groups[key] = last_rows
    sample_times_ms = _read_complete_samples(tables, unlisted_groups)
    for key, last_rows in unlisted_groups.items():
        deletion = _infer_deletion(
            last_rows, sample_times_ms.get(key.cluster_id, []), coverages[key.cluster_id].last_record_ms
        )
        if deletion is not None:
            deletions[key] = deletion
    return deletions


def _infer_deletion(last_rows: LastRows, sample_times_ms: list[int], last_record_ms: int | None) -> Deletion | None:
    """Return the deletion of a group according to complete samples; None if they show none.

    `sample_times_ms` are the times of the cluster's complete samples in ms since 1970, ascending. `last_record_ms`
    is the time of the last record that was read; None if none was.
    """
    # Log end offsets are requested last, so the first time after the last sign belongs to the sample with this sign.
    later_times_ms = sample_times_ms[bisect_left(sample_times_ms, last_rows.last_sign_ms) + 1 :]
    if len(later_times_ms) < _MIN_SAMPLES or later_times_ms[-1] - last_rows.last_sign_ms <= FRESH_MS:
        return None
    if last_rows.event is not None and last_rows.event.is_group_deletion and last_rows.event.record_ms is not None:
        # The clock of the sampler is ahead of the broker's.
        return Deletion(last_rows.event.record_ms, is_bound=False)
    has_no_commits = last_rows.day is not None and last_rows.day.partitions == 0
    if last_record_ms is None or last_record_ms < later_times_ms[0] or has_no_commits:
        return Deletion(later_times_ms[0], is_bound=True)
    return None


def _read_complete_samples(
    tables: PeriodTables, unlisted_groups: Mapping[GroupKey, LastRows]
) -> Mapping[str, list[int]]:
    """Return by cluster id the ascending times of complete samples, from the earliest last sign of any group on."""
    times_by_cluster_ms = defaultdict[str, list[int]](list)
    if unlisted_groups:
        period = Period(min(last_rows.last_sign_ms for last_rows in unlisted_groups.values()), tables.period.until_ms)
        samples = tables.select(_Sample, PARTITION_OFFSETS, _COMPLETE_SAMPLES, period, offsets_topic=OFFSETS_TOPIC)
        for sample in samples:
            times_by_cluster_ms[sample.cluster_id].append(sample.at_ms)
    return times_by_cluster_ms
