"""A reading of lag: the selected groups, what failed, and what polls add to them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kafka_groups.groups.lag.lag_row import INCOMPLETE
from kafka_groups.groups.lag.polls import GroupPace, pace_without_polls
from kafka_groups.groups.lag.resets import KnownReset
from kafka_groups.groups.lag.summary import GroupSummary
from kafka_groups.groups.notes import Note
from kafka_groups.model import Failure


class LagReading(NamedTuple):
    """The lag of the selected groups, those that are furthest behind first.

    `anything_read` says whether a group was read, or none is there to read. `resets` are the known resets that a poll
    is the first one to see.
    """

    groups: tuple[GroupSummary, ...]
    failures: tuple[Failure, ...]
    notes: tuple[Note, ...]
    anything_read: bool
    resets: tuple[KnownReset, ...] = ()


def with_pace(reading: LagReading, paces: Mapping[str, GroupPace]) -> LagReading:
    """Return a reading with what the polls of each group show."""
    return reading._replace(groups=tuple(_with_pace(group, paces.get(group.total.group)) for group in reading.groups))


def _with_pace(group: GroupSummary, pace: GroupPace | None) -> GroupSummary:
    if pace is None:
        pace = pace_without_polls(is_incomplete=INCOMPLETE in group.total.note)
    total = group.total._replace(
        consume_rate=pace.consume_rate,
        produce_rate=pace.produce_rate,
        trend=pace.trend,
        catch_up_ms=pace.catch_up_ms,
        verdict=pace.verdict.verdict,
        rule=pace.verdict.rule,
        verdict_since=pace.verdict.since_ms,
        lags=pace.lags,
    )
    return group._replace(total=total)
