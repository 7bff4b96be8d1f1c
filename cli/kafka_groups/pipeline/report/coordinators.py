"""Coordinators that did not respond to samples, and the groups whose lag is outdated because of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from kafka_groups.pipeline.build.coverage import Coverage
from kafka_groups.pipeline.facts.decode.partitioner import partition_for
from kafka_groups.pipeline.report.last_rows import LastRows
from kafka_groups.pipeline.report.period import FRESH_MS, GroupKey, Period, PeriodTables
from kafka_groups.pipeline.tables import OFFSETS_TOPIC, PARTITION_OFFSETS

# A coordinator that is silent for longer is also silent in this time, so earlier samples are not read.
_SEARCH_WINDOW_MS: Final = 3_600_000
# A coordinator is silent from the last sample with its log end offset (or the first sample) until the last sample.
_COORDINATORS: Final = """
    SELECT cluster_id, partition, max(at_ms) -
        coalesce(max(at_ms) FILTER (WHERE log_end_offset IS NOT NULL), min(at_ms)) > {fresh_ms} AS is_silent
    FROM period_rows WHERE origin = 'sample' AND topic = {offsets_topic} GROUP BY cluster_id, partition
"""


class Coordinator(NamedTuple):
    """A partition of `__consumer_offsets`, and whether its leader has not responded to samples for ten minutes."""

    cluster_id: str
    partition: int
    is_silent: bool


def find_outdated_groups(
    tables: PeriodTables, groups: Mapping[GroupKey, LastRows], coverages: Mapping[str, Coverage]
) -> set[GroupKey]:
    """Return the groups whose coordinator did not respond to samples for ten minutes.

    Only clusters whose samples are ten minutes ahead of the records that were read have such groups: elsewhere, records
    show the commits. The coordinator of a group leads the group's partition of `__consumer_offsets`. If it did not list
    its groups, the sample has no log end offset of that partition. If a sample in these ten minutes listed the group,
    its coordinator responded. Without permission to describe the topic, partition 0 stands for all partitions.
    """
    sampled_groups = [key for key in groups if _sample_lead_ms(coverages[key.cluster_id]) > FRESH_MS]
    if not sampled_groups:
        return set()
    sample_times = [coverages[key.cluster_id].last_sample_ms or 0 for key in sampled_groups]
    period = Period(min(sample_times) - _SEARCH_WINDOW_MS, max(sample_times))
    coordinators = tables.select(
        Coordinator, PARTITION_OFFSETS, _COORDINATORS, period, fresh_ms=FRESH_MS, offsets_topic=OFFSETS_TOPIC
    )
    is_silent_by_cluster: dict[str, dict[int, bool]] = {}
    for coordinator in coordinators:
        is_silent_by_cluster.setdefault(coordinator.cluster_id, {})[coordinator.partition] = coordinator.is_silent
    outdated_groups = set()
    for key in sampled_groups:
        is_silent_by_partition = is_silent_by_cluster.get(key.cluster_id)
        if not is_silent_by_partition or _was_listed(groups[key], coverages[key.cluster_id]):
            continue
        if is_silent_by_partition.get(partition_for(key.group, len(is_silent_by_partition)), False):
            outdated_groups.add(key)
    return outdated_groups


def _was_listed(last_rows: LastRows, coverage: Coverage) -> bool:
    """Return whether a sample listed the group in the ten minutes before the last sample."""
    if last_rows.event is None or last_rows.event.listed_ms is None:
        return False
    return (coverage.last_sample_ms or 0) - last_rows.event.listed_ms <= FRESH_MS


def _sample_lead_ms(coverage: Coverage) -> int:
    """Return by how many milliseconds the last sample is later than the last record that was read."""
    return (coverage.last_sample_ms or 0) - (coverage.last_record_ms or 0)
