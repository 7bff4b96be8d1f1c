"""The notation of times, lags, durations and counts in a report.

A `format_…` function returns a single word for a table or a document, with a sign for the quality. A `describe_…`
function returns words for a page. All return None for an unknown value.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from kafka_groups.pipeline.build import sentences
from kafka_groups.pipeline.report.history import GroupHistory, History, Rebalance
from kafka_groups.rendering.counts import count_of
from kafka_groups.rendering.durations import format_duration
from kafka_groups.rendering.times import format_time

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)

# The sign in front of a lag that is not exact, by its quality.
LAG_SIGNS: Final = {"lower_bound": "≥", "outdated": "?"}
_LAG_WORDS: Final = {"lower_bound": "at least", "outdated": "outdated:"}
# The sign in front of a time lag that is not exact, by its quality. A time lag of unknown quality has no value, either.
TIME_LAG_SIGNS: Final = {"interpolated": "~", "lower_bound": "≥", "data_loss": "!"}
_TIME_LAG_WORDS: Final = {
    "interpolated": "about",
    "lower_bound": "at least",
    "data_loss": "after data loss,",
}

format_minute = sentences.format_minute


def format_instant(time_ms: int) -> str:
    """Return a time in ms since 1970 as ISO-8601 in UTC with milliseconds, as JSON documents have it."""
    return format_time(_to_datetime(time_ms), timespec="milliseconds")


def format_second(time_ms: int) -> str:
    """Return a time in ms since 1970 like 2026-11-20T10:03:07Z."""
    return format_time(_to_datetime(time_ms), timespec="seconds")


def describe_minute(time_ms: int, *, beside_ms: int | None = None) -> str:
    """Return a time like "20 Nov 2026, 10:03", for a page that names UTC as its time zone.

    The year is omitted if it is the year of `beside_ms`, a time that is shown next to it.
    """
    minute = _to_datetime(time_ms)
    is_same_year = beside_ms is not None and _to_datetime(beside_ms).year == minute.year
    return f"{minute.day} {minute:%b}{'' if is_same_year else f' {minute.year}'}, {minute:%H:%M}"


def format_lag(group: GroupHistory, *, at_least_sign: str = "≥") -> str | None:
    """Return the lag with the sign of its quality; `at_least_sign` replaces the one sign that is not ASCII."""
    sign = LAG_SIGNS.get(group.lag_quality, "")
    return None if group.lag is None else f"{at_least_sign if sign == '≥' else sign}{group.lag}"


def describe_lag(group: GroupHistory) -> str | None:
    """Return the lag with its quality in words."""
    if group.lag is None:
        return None
    return " ".join(filter(None, (_LAG_WORDS.get(group.lag_quality), f"{group.lag:,}")))


def format_time_lag(group: GroupHistory, *, at_least_sign: str = "≥") -> str | None:
    """Return the time lag with the sign of its quality; `at_least_sign` replaces the one sign that is not ASCII."""
    sign = TIME_LAG_SIGNS.get(group.time_lag_quality, "")
    sign = at_least_sign if sign == "≥" else sign
    if group.time_lag_ms is None:
        # A loss of records is shown even if their age is unknown.
        return sign if group.time_lag_quality == "data_loss" else None
    return f"{sign}{format_duration(group.time_lag_ms)}"


def describe_time_lag(group: GroupHistory) -> str | None:
    """Return the time lag with its quality in words."""
    if group.time_lag_ms is None:
        return "data loss" if group.time_lag_quality == "data_loss" else None
    return " ".join(filter(None, (_TIME_LAG_WORDS.get(group.time_lag_quality), format_duration(group.time_lag_ms))))


def format_lag_start(group: GroupHistory, *, at_most_sign: str = "≤") -> str | None:
    """Return when the group's lag began, with the sign `at_most_sign` if it may be older."""
    if group.lagging_since_ms is None:
        return None
    return f"{at_most_sign if group.lagging_since_is_bound else ''}{format_minute(group.lagging_since_ms)}"


def describe_lag_start(group: GroupHistory, *, beside_ms: int | None = None) -> str | None:
    """Return when the group's lag began, in words; `beside_ms` as in `describe_minute`."""
    if group.lagging_since_ms is None:
        return None
    minute = describe_minute(group.lagging_since_ms, beside_ms=beside_ms)
    return f"{minute} or before" if group.lagging_since_is_bound else minute


def describe_duration(rebalance: Rebalance) -> str:
    """Return how long a rebalance took, or why this is unknown."""
    if rebalance.duration_quality == "open":
        return "had not ended"
    if rebalance.duration_quality == "unknown":
        return "when it ended is not known"
    if rebalance.duration_ms is None:
        return "duration unknown"
    duration_text = format_duration(rebalance.duration_ms)
    if rebalance.duration_quality == "overtaken":
        return f"overtaken after {duration_text}"
    return f"at most {duration_text}" if rebalance.duration_quality in ("bound", "timeout") else duration_text


def format_longest_rebalance(group: GroupHistory, *, at_most_sign: str = "≤") -> str | None:
    """Return the duration of the group's open rebalance, or else of its longest one, with a sign if it is a bound.

    `at_most_sign` is the sign of an upper bound; records of a classic group do not show when a rebalance began. A
    duration is a lower bound if the next rebalance began before the end.
    """
    at_least_sign = "≥" if at_most_sign == "≤" else ">="
    if group.rebalancing_ms is not None:
        return describe_rebalancing(group.rebalancing_ms, at_least_sign=at_least_sign)
    longest_rebalance = group.longest_rebalance
    if longest_rebalance is None or longest_rebalance.duration_ms is None:
        return None
    sign_by_quality = {"bound": at_most_sign, "overtaken": at_least_sign}
    return sign_by_quality.get(longest_rebalance.duration_quality, "") + format_duration(longest_rebalance.duration_ms)


def describe_rebalancing(rebalancing_ms: int, *, at_least_sign: str = "≥") -> str:
    """Return for how long a group has been rebalancing, with the sign of a lower bound."""
    return f"rebalancing for {at_least_sign} {format_duration(rebalancing_ms)}"


def describe_member_changes(rebalance: Rebalance) -> str:
    """Return how many members joined and left, or that this is unknown."""
    counts = ((rebalance.joined, "joined"), (rebalance.left, "left"))
    known_counts = [f"{count:,} {word}" for count, word in counts if count is not None]
    return ", ".join(known_counts) if known_counts else "who joined or left is not known"


def describe_omitted_groups(history: History) -> str | None:
    """Return how many groups the report omits, and the option that shows them; None if it omits none."""
    group_count = history.groups_in_all
    omitted_count = group_count - len(history.groups)
    if omitted_count <= 0:
        return None
    verb = "is" if omitted_count == 1 else "are"
    pronoun = "it" if omitted_count == 1 else "them"
    omitted_text = f"{omitted_count:,} of {count_of(group_count, 'group')} {verb} omitted"
    return f"{omitted_text}; give --top {group_count} to have {pronoun}."


def _to_datetime(time_ms: int) -> datetime:
    return _EPOCH + timedelta(milliseconds=time_ms)
