"""Lines on stderr around the table of a history: its order, the meaning of signs, what is omitted or missing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from kafka_groups.pipeline.report.history import History
from kafka_groups.pipeline.report.units import (
    LAG_SIGNS,
    TIME_LAG_SIGNS,
    few_findings,
    longest_rebalance,
    show_minute,
)
from kafka_groups.rendering.counts import count_of

_MOST_NOTES: Final = 20
# Of a kind.
MOST_FINDINGS: Final = 50
_LAG_LEGEND: Final = {
    "≥": "≥ means at least, because the log end offsets of some partitions are unknown",
    "?": "? means outdated: the coordinator of the group did not respond, so its commits are older",
}
_TIME_LAG_LEGEND: Final = {
    "~": "~ means about: the time is interpolated between two samples",
    "≥": "≥ means at least: the oldest unread record is older than the first sample",
    "!": "! means data loss: records were deleted before the group read them",
}


ORDER: Final = (
    "Order: by verdict (REWIND, STALL, STOP, WARN, UNKNOWN, OK), then by lag, then by time lag, the worst first; "
    "groups without a verdict, unused groups and deleted groups follow"
)


def remarks(history: History, shown: Collection[str], *, is_unicode: bool) -> Iterator[str]:
    """Yield what signs in the columns that are `shown` mean, what was omitted, and what is missing."""
    yield from _of_signs(
        "LAG", _LAG_LEGEND, [LAG_SIGNS.get(group.lag_quality) for group in history.groups], is_unicode=is_unicode
    )
    if "TIME-LAG" in shown:
        signs = [TIME_LAG_SIGNS.get(group.time_lag_quality) for group in history.groups]
        yield from _of_signs("TIME-LAG", _TIME_LAG_LEGEND, signs, is_unicode=is_unicode)
    if "SINCE" in shown and any(group.lagging_since_is_bound for group in history.groups):
        sign = "≤" if is_unicode else "<="
        yield f"SINCE: {sign} means at or before: there was lag already in the first sample, or after a data gap."
    if "LONGEST" in shown:
        yield from _of_longest(history, is_unicode=is_unicode)
    left = len(history.findings) - len(few_findings(history.findings, MOST_FINDINGS))
    if left:
        yield f"{count_of(left, 'more finding')}; --format json has them all."
    if unused := sum(group.is_unused for group in history.groups):
        verb = "is" if unused == 1 else "are"
        yield f"{count_of(unused, 'unused group')} (Empty, no commit for a day) {verb} below the others."
    yield from _as_far_as_few(list(_removed(history, "≤" if is_unicode else "<=")), "Removed", "were removed")
    yield from _as_far_as_few(history.gaps, "Gap", "gaps")
    yield from _as_far_as_few(history.missing, "Missing", "things are missing")


def _of_signs(
    header: str, legend: Mapping[str, str], used: Collection[str | None], *, is_unicode: bool
) -> Iterator[str]:
    text = "; ".join(text for sign, text in legend.items() if sign in used)
    if text:
        yield f"{header}: {text if is_unicode else text.replace('≥', '>=')}."


def _of_longest(history: History, *, is_unicode: bool) -> Iterator[str]:
    longest = (longest_rebalance(group) for group in history.groups)
    qualities = {found.duration_quality for found in longest if found is not None and found.duration_ms is not None}
    if "bound" in qualities:
        yield f"LONGEST: {'≤' if is_unicode else '<='} means at most: the records do not show when exactly it began."
    if "overtaken" in qualities:
        yield f"LONGEST: {'≥' if is_unicode else '>='} means at least: the next one began before all had joined."


def _removed(history: History, at_most: str) -> Iterator[str]:
    for group in history.groups:
        if group.removed_ms is not None:
            where = f" on cluster {group.cluster_id}" if len(history.clusters) > 1 else ""
            yield f"{group.group}{where}, {at_most if group.removed_is_bound else ''}{show_minute(group.removed_ms)}"


def _as_far_as_few(sentences: Sequence[str], label: str, many: str) -> Iterator[str]:
    yield from (f"{label}: {text}" for text in sentences[:_MOST_NOTES])
    if len(sentences) > _MOST_NOTES:
        yield f"{len(sentences) - _MOST_NOTES:,} more {many}; --format json has them all."
