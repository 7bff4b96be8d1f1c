"""Notes on stderr around the table of a report: its order, the meaning of signs, what is omitted or missing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from kafka_groups.pipeline.report.history import GroupHistory, History
from kafka_groups.pipeline.report.limits import first_of_each_kind
from kafka_groups.pipeline.report.notation import LAG_SIGNS, TIME_LAG_SIGNS, format_minute
from kafka_groups.pipeline.report.trouble import first_in_trouble, why_command
from kafka_groups.rendering.counts import count_of

_MAX_NOTES: Final = 20
# The most findings of each kind.
MAX_FINDINGS: Final = 50
ORDER: Final = (
    "Order: by verdict (STOP, REWIND, STALL, WARN, UNKNOWN, OK), then by lag, then by time lag, the worst first; "
    "groups without a verdict, unused groups and deleted groups follow"
)
_LAG_LEGEND: Final = {
    "≥": "≥ means at least, because the log end offsets of some partitions are unknown",
    "?": "? means outdated: the coordinator of the group did not respond, so its commits are older",
}
_TIME_LAG_LEGEND: Final = {
    "~": "~ means about: the time is interpolated between two samples",
    "≥": "≥ means at least: the oldest unread record is older than the first sample",
    "!": "! means data loss: records were deleted before the group read them",
}


def footnotes(history: History, headers: Collection[str], *, is_unicode: bool) -> Iterator[str]:
    """Yield the lines below a table: the meaning of the signs in its columns, what it omits, and what is missing.

    `headers` are the headers of the table's columns. Signs that are not ASCII are replaced unless `is_unicode`.
    """
    yield from _sign_notes(history, headers, is_unicode=is_unicode)
    if (group := first_in_trouble(history.groups)) is not None:
        yield f"Why {group.group} is behind now: {why_command(group.group)}, with the options of its cluster."
    omitted_count = len(history.findings) - len(first_of_each_kind(history.findings, MAX_FINDINGS))
    if omitted_count:
        yield f"{count_of(omitted_count, 'more finding')}; --format json has them all."
    if unused_count := sum(group.is_unused for group in history.groups):
        verb = "is" if unused_count == 1 else "are"
        yield f"{count_of(unused_count, 'unused group')} (Empty, no commit for a day) {verb} below the others."
    at_most_sign = "≤" if is_unicode else "<="
    deleted_groups = [group for group in history.groups if group.deleted_ms is not None]
    deletions = [_describe_deletion(history, group, at_most_sign) for group in deleted_groups]
    yield from _first_notes(deletions, "Deleted", "deleted groups")
    yield from _first_notes(history.gaps, "Gap", "gaps")
    yield from _first_notes(history.missing, "Missing", "missing things")


def _sign_notes(history: History, headers: Collection[str], *, is_unicode: bool) -> Iterator[str]:
    """Yield a line for each column with signs that need an explanation."""
    lag_signs = [LAG_SIGNS.get(group.lag_quality) for group in history.groups]
    yield from _explain_signs("LAG", _LAG_LEGEND, lag_signs, is_unicode=is_unicode)
    if "TIME-LAG" in headers:
        time_lag_signs = [TIME_LAG_SIGNS.get(group.time_lag_quality) for group in history.groups]
        yield from _explain_signs("TIME-LAG", _TIME_LAG_LEGEND, time_lag_signs, is_unicode=is_unicode)
    if "SINCE" in headers and any(group.lagging_since_is_bound for group in history.groups):
        sign = "≤" if is_unicode else "<="
        yield f"SINCE: {sign} means at or before: there was lag already in the first sample, or after a data gap."
    if "LONGEST" in headers:
        yield from _longest_notes(history, is_unicode=is_unicode)


def _explain_signs(
    header: str, legend: Mapping[str, str], used_signs: Collection[str | None], *, is_unicode: bool
) -> Iterator[str]:
    """Yield a line with the meaning of those signs that are used in a column, if there is any."""
    legend_text = "; ".join(meaning for sign, meaning in legend.items() if sign in used_signs)
    if legend_text:
        yield f"{header}: {legend_text if is_unicode else legend_text.replace('≥', '>=')}."


def _longest_notes(history: History, *, is_unicode: bool) -> Iterator[str]:
    """Yield a line for each sign in the column LONGEST."""
    groups = history.groups
    rebalances = [group.longest_rebalance for group in groups if group.rebalancing_ms is None]
    qualities = {
        rebalance.duration_quality
        for rebalance in rebalances
        if rebalance is not None and rebalance.duration_ms is not None
    }
    if "bound" in qualities:
        sign = "≤" if is_unicode else "<="
        yield f"LONGEST: {sign} means at most: the records do not show when exactly it began."
    if any(group.rebalances and group.rebalancing_ms is None and group.longest_rebalance is None for group in groups):
        yield "LONGEST: - means that the records show no duration, or only the members' rebalance timeout."
    if "overtaken" in qualities:
        sign = "≥" if is_unicode else ">="
        yield f"LONGEST: {sign} means at least: the next one began before all had joined."


def _describe_deletion(history: History, group: GroupHistory, at_most_sign: str) -> str:
    """Return the id of a deleted group, its cluster if there are several, and when it was deleted."""
    cluster = f" on cluster {group.cluster_id}" if len(history.clusters) > 1 else ""
    sign = at_most_sign if group.deleted_is_bound else ""
    return f"{group.group}{cluster}, {sign}{format_minute(group.deleted_ms or 0)}"


def _first_notes(sentences: Sequence[str], label: str, plural_noun: str) -> Iterator[str]:
    """Yield the first sentences, each after the label, and a line with the number of the others."""
    yield from (f"{label}: {sentence}" for sentence in sentences[:_MAX_NOTES])
    if len(sentences) > _MAX_NOTES:
        yield f"{len(sentences) - _MAX_NOTES:,} more {plural_noun}; --format json has them all."
