"""Findings on known resets: offsets that were set back while their group had no members."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Final, NamedTuple

from kafka_groups.groups.selection import Selectors
from kafka_groups.pipeline.report.history import Finding
from kafka_groups.pipeline.report.known_groups import KnownGroups
from kafka_groups.pipeline.report.notation import format_instant
from kafka_groups.pipeline.report.period import GroupKey, PeriodTables
from kafka_groups.pipeline.tables import LAG_HISTORY

KNOWN_RESET: Final = "known_reset"
# The last reset of a group comes first.
_RESETS: Final = """
    SELECT cluster_id, "group", topic, partition, at_ms, offset_before_reset, committed_offset FROM period_rows
    WHERE offset_before_reset IS NOT NULL ORDER BY cluster_id, "group", at_ms DESC, topic, partition
"""


class ResetRow(NamedTuple):
    """A row of lag_history that is the first one after a known reset; `at_ms` is its time (ms since 1970)."""

    cluster_id: str
    group: str
    topic: str
    partition: int
    at_ms: int
    offset_before_reset: int
    committed_offset: int


def find_resets(tables: PeriodTables, selectors: Selectors, groups: KnownGroups) -> list[Finding]:
    """Return a finding for each selected group with known resets in the period; deleted groups have none."""
    findings = []
    rows = tables.select(ResetRow, LAG_HISTORY, _RESETS)
    for key, resets in groupby(rows, lambda row: GroupKey(row.cluster_id, row.group)):
        group = groups.by_key.get(key)
        if group is None or group.deletion is not None or not selectors.selects(key.group):
            continue
        message = describe_resets(list(resets))
        findings.append(
            Finding(kind=KNOWN_RESET, cluster_id=key.cluster_id, group=key.group, topic=None, message=message)
        )
    return findings


def describe_resets(resets: Sequence[ResetRow]) -> str:
    """Return the sentences on the known resets of a group: at least one, the last one first."""
    last_reset = resets[0]
    topic_partition = f"{last_reset.topic}-{last_reset.partition}"
    offsets = f"from {last_reset.offset_before_reset:,} to {last_reset.committed_offset:,}"
    change = f"its offset on {topic_partition} was set back {offsets}"
    if len(resets) > 1:
        change = f"its offsets were set back {len(resets):,} times, the last time on {topic_partition} {offsets}"
    upper_bound = f"no later than {format_instant(last_reset.at_ms)}"
    reason = "It had no members in a sample, so this is a reset, and no REWIND."
    return f"Group {last_reset.group}: {change}, {upper_bound}. {reason}"
