"""Times, durations and counts as people read them. Nothing here looks at a stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from kafka_groups.pipeline.report.history import Finding, GroupHistory, History, Rebalance
from kafka_groups.rendering.counts import count_of
from kafka_groups.rendering.durations import format_duration
from kafka_groups.rendering.times import format_time

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
# Brokers are sampled one after the other, and a sample may be missed: that does not make a row an old one.
_OLD_MS: Final = 600_000

# What stands in front of a lag that is not exact.
LAG_SIGNS: Final = {"lower_bound": "≥", "outdated": "?"}
LAG_WORDS: Final = {"lower_bound": "at least", "outdated": "outdated:"}
# What stands in front of a time lag that is not exact. A lag of unknown quality has no value either.
TIME_LAG_SIGNS: Final = {"interpolated": "~", "compacted": "~", "lower_bound": "≥", "data_loss": "!"}
TIME_LAG_WORDS: Final = {
    "interpolated": "about",
    "compacted": "about",
    "lower_bound": "at least",
    "data_loss": "after data loss,",
}


def show_minute(ms: int) -> str:
    """Return the time like 2026-11-20T10:03Z, in a single word."""
    return _moment(ms).strftime("%Y-%m-%dT%H:%MZ")


def show_instant(ms: int) -> str:
    """Return ISO-8601 in UTC with milliseconds, as documents have it."""
    return format_time(_moment(ms), timespec="milliseconds")


def spell_minute(ms: int, *, beside_ms: int | None = None) -> str:
    """Return the time like 20 Nov 2026, 10:03, without a year that is that of `beside_ms`.

    It is for a page, which says that its times are UTC.
    """
    moment = _moment(ms)
    is_same_year = beside_ms is not None and _moment(beside_ms).year == moment.year
    return f"{moment.day} {moment:%b}{'' if is_same_year else f' {moment.year}'}, {moment:%H:%M}"


def show_lag(group: GroupHistory, *, at_least: str = "≥") -> str | None:
    """Return the lag with the sign of its quality; `at_least` replaces the one sign that is not ASCII."""
    sign = LAG_SIGNS.get(group.lag_quality, "")
    return None if group.lag is None else f"{at_least if sign == '≥' else sign}{group.lag}"


def spell_lag(group: GroupHistory) -> str | None:
    """Return the lag with its quality in words."""
    if group.lag is None:
        return None
    return " ".join(filter(None, (LAG_WORDS.get(group.lag_quality), f"{group.lag:,}")))


def show_time_lag(group: GroupHistory, *, at_least: str = "≥") -> str | None:
    """Return the time lag with the sign of its quality; `at_least` replaces the one sign that is not ASCII."""
    sign = TIME_LAG_SIGNS.get(group.time_lag_quality, "")
    sign = at_least if sign == "≥" else sign
    if group.time_lag_ms is None:
        # That records were lost must be seen even if nobody knows how old they were.
        return sign if group.time_lag_quality == "data_loss" else None
    return f"{sign}{format_duration(group.time_lag_ms)}"


def spell_time_lag(group: GroupHistory) -> str | None:
    """Return the time lag with its quality in words."""
    if group.time_lag_ms is None:
        return "data loss" if group.time_lag_quality == "data_loss" else None
    return " ".join(filter(None, (TIME_LAG_WORDS.get(group.time_lag_quality), format_duration(group.time_lag_ms))))


def show_since(group: GroupHistory, *, at_most: str = "≤") -> str | None:
    """Return since when it has had a lag.

    `at_most` is the sign if it is only known that it had one then.
    """
    if group.lagging_since_ms is None:
        return None
    return f"{at_most if group.lagging_since_is_bound else ''}{show_minute(group.lagging_since_ms)}"


def spell_since(group: GroupHistory, *, beside_ms: int | None = None) -> str | None:
    """Return the same for a page."""
    if group.lagging_since_ms is None:
        return None
    minute = spell_minute(group.lagging_since_ms, beside_ms=beside_ms)
    return f"{minute} or before" if group.lagging_since_is_bound else minute


def is_old(group: GroupHistory, history: History) -> bool:
    """Return whether the group's row is as of a time more than ten minutes before the newest of the report."""
    if group.evaluated_ms is None or history.evaluated_ms is None:
        return False
    return history.evaluated_ms - group.evaluated_ms > _OLD_MS


def spell_rebalance_time(rebalance: Rebalance) -> str:
    """Return how long a rebalance took, as far as that is known."""
    if rebalance.duration_quality == "open":
        return "had not ended"
    if rebalance.duration_quality == "unknown":
        return "when it ended is not known"
    if rebalance.duration_ms is None:
        return "duration unknown"
    took = format_duration(rebalance.duration_ms)
    if rebalance.duration_quality == "overtaken":
        return f"overtaken after {took}"
    return f"at most {took}" if rebalance.duration_quality == "bound" else took


def longest_rebalance(group: GroupHistory) -> Rebalance | None:
    """Return the rebalance that took longest; one that had not ended counts only if there is no other."""
    return max(group.rebalances or (), key=_duration_or_less, default=None)


def show_longest_rebalance(group: GroupHistory, *, at_most: str = "≤") -> str | None:
    """Return how long it took; a sign marks a bound: it is of a classic group, or the next one overtook it."""
    longest = longest_rebalance(group)
    if longest is None or longest.duration_ms is None:
        return None
    signs = {"bound": at_most, "overtaken": "≥" if at_most == "≤" else ">="}
    return signs.get(longest.duration_quality, "") + format_duration(longest.duration_ms)


def spell_changes(rebalance: Rebalance) -> str:
    """Return how many members came and went, as far as that is known."""
    counts = ((rebalance.joined, "joined"), (rebalance.left, "left"))
    known = [f"{count:,} {word}" for count, word in counts if count is not None]
    return ", ".join(known) if known else "who joined or left is not known"


def few_findings(findings: Sequence[Finding], most: int) -> list[Finding]:
    """Return them in their order, at most so many of a kind: many of one kind do not hide another."""
    counts: Counter[str] = Counter()
    kept = []
    for finding in findings:
        counts[finding.kind] += 1
        if counts[finding.kind] <= most:
            kept.append(finding)
    return kept


def tell_left_out(history: History) -> str | None:
    """Return how many groups are not in it, and how to have them; None if all are."""
    in_all = history.groups_in_all
    left = in_all - len(history.groups)
    if left <= 0:
        return None
    is_one = left == 1
    sentence = f"{left:,} of {count_of(in_all, 'group')} {'is' if is_one else 'are'} left out"
    return f"{sentence}: give --top {in_all} to have {'it' if is_one else 'them'}."


def _duration_or_less(rebalance: Rebalance) -> int:
    return -1 if rebalance.duration_ms is None else rebalance.duration_ms


def _moment(ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=ms)
