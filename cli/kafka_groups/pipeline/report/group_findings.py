"""Findings on the days of a group: lost records, orphaned commits, idleness and skew, each with a sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import Final, NamedTuple

# A skew of 3.0 means that one partition has three times the records of an average one.
_MIN_SKEW: Final = 3.0
# A loss is forecast a day ahead, so that there is time to prevent it.
_FORECAST_MS: Final = 86_400_000
_HOUR_MS: Final = 3_600_000
# The rates of a day are known after its first hour, and its first observation may be some minutes late.
_WITHOUT_RATES_MS: Final = 4_200_000


class GroupDayRow(NamedTuple):
    """A row of group_daily; None where a value is unknown, or if the row is for the day before the period.

    A margin is the committed offset minus the log start offset, in records: if it is negative, records were lost.
    `min_retention_margin` is the smallest one of the day, `last_retention_margin` the last one. `retention_left_ms` is
    the time until the log start passes the commit at that day's rates. A share group has start offsets instead of
    commits.
    """

    cluster_id: str
    group: str
    day: date
    orphaned_partitions: int | None
    is_idle: bool | None
    skew: float | None
    last_lag: int | None
    min_retention_margin: int | None
    last_retention_margin: int | None
    retention_left_ms: int | None
    last_commit_date: date | None
    has_commits: bool = True

    @property
    def offset_noun(self) -> str:
        """What an offset of the group is called."""
        return "commit" if self.has_commits else "start offset"


def describe_group(
    group_days: Sequence[GroupDayRow], newest_date: date, time_of_day_ms: int
) -> Iterator[tuple[str, str]]:
    """Yield the kind and the sentence of each finding on a group.

    `group_days` are the group's rows: at least one, the newest first. `newest_date` is the newest day of its cluster,
    on which the group may have no row. `time_of_day_ms` is the time from the beginning of that day to the last lag.
    """
    today = group_days[0] if group_days[0].day == newest_date else None
    earlier_days = group_days[1:] if today is not None else group_days
    subject = f"Group {group_days[0].group}:"
    for sentence in _describe_losses(today, earlier_days):
        yield "retention_risk", f"{subject} {sentence}"
    if today is None:
        return
    if forecast := _describe_forecast(today, earlier_days, time_of_day_ms):
        yield "retention_risk", f"{subject} {forecast}"
    if orphaned_count := today.orphaned_partitions:
        partitions_text = (
            "partition that no longer exists" if orphaned_count == 1 else "partitions that no longer exist"
        )
        yield "orphaned_commit", f"{subject} it has commits on {orphaned_count:,} {partitions_text}."
    if today.is_idle:
        last_commit_text = f"; its last commit was on {today.last_commit_date}" if today.last_commit_date else ""
        yield "idle_group", f"{subject} no commit in 24 hours, and no member seen on {today.day}{last_commit_text}."
    if (today.skew or 0) >= _MIN_SKEW:
        skew_text = f"{today.skew:.1f} times the records of an average one of that topic"
        yield "skew", f"{subject} the busiest partition of a topic had {skew_text}."


def _describe_losses(today: GroupDayRow | None, earlier_days: Sequence[GroupDayRow]) -> Iterator[str]:
    """Yield a sentence on records lost by the end of today, and on the worst loss of earlier days, if it was worse.

    So a loss that has lasted for days is reported once.
    """
    reported_margin = 0
    if today is not None:
        min_margin = today.min_retention_margin or 0
        last_margin = today.last_retention_margin or 0
        if last_margin < 0:
            reported_margin = last_margin
            yield f"its {today.offset_noun} is {_describe_lost_records(last_margin)}"
        elif min_margin < 0:
            reported_margin = min_margin
            yield f"on {today.day} its {today.offset_noun} was {_describe_lost_records(min_margin)}"
    worst_day = min(earlier_days, key=lambda day: day.min_retention_margin or 0, default=None)
    if worst_day is not None and (worst_day.min_retention_margin or 0) < reported_margin:
        lost_records = _describe_lost_records(worst_day.min_retention_margin or 0)
        yield f"on {worst_day.day} its {worst_day.offset_noun} was {lost_records}"


def _describe_lost_records(margin: int) -> str:
    """Return the end of a sentence on an offset whose margin is below 0."""
    if margin == -1:
        return "1 record below the log start offset; it can no longer read it."
    return f"{-margin:,} records below the log start offset; it can no longer read them."


def _describe_forecast(today: GroupDayRow, earlier_days: Sequence[GroupDayRow], time_of_day_ms: int) -> str | None:
    """Return a sentence on when the log start will pass a commit; None if not within a day, or if it has passed it.

    The rates are today's or, while today is too short for rates, the previous day's.
    """
    time_left_ms = today.retention_left_ms
    rates_text = "the day's rates"
    if time_left_ms is None and time_of_day_ms < _WITHOUT_RATES_MS and today.last_lag != 0:
        day_before = next((day for day in earlier_days if day.day == today.day - timedelta(days=1)), None)
        # At 0 the log start had already passed the commit on that day, so this is no forecast.
        if day_before is not None and (day_before.retention_left_ms or 0) > 0:
            time_left_ms = max(0, (day_before.retention_left_ms or 0) - time_of_day_ms)
            rates_text = f"the rates of {day_before.day}"
    # With a negative margin, the loss itself is reported.
    if time_left_ms is None or time_left_ms > _FORECAST_MS or (today.last_retention_margin or 0) < 0:
        return None
    return f"at {rates_text} the log start passes its {today.offset_noun} in {time_left_ms / _HOUR_MS:.1f} hours."
