"""The lag of groups in totals: by group, topic, member or partition, with what retention has deleted or may delete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, Final, NamedTuple

from kafka_groups.admin.api import IsolationLevel
from kafka_groups.groups.assignments import has_unknown_assignments
from kafka_groups.groups.lag.polls import GroupPace, pace_without_polls
from kafka_groups.groups.lag.resets import KnownReset
from kafka_groups.groups.lag.rows import distinct_partitions
from kafka_groups.groups.lag.time_lag import NOT_MEASURED, TIME_NOTES, TimeLags, time_lag_of
from kafka_groups.groups.lag.totals import total_lag
from kafka_groups.groups.notes import Note
from kafka_groups.kinds import kind_of
from kafka_groups.model import Failure, GroupDescription, OffsetRow

BEYOND_END: Final = "beyond_end"
DATA_LOSS: Final = "data_loss"
INCOMPLETE: Final = "incomplete"
UNKNOWN_ASSIGNMENT: Final = "unknown_assignment"
# All words that a note may have.
NOTES: Final = (DATA_LOSS, BEYOND_END, INCOMPLETE, UNKNOWN_ASSIGNMENT, *TIME_NOTES)
# The names of isolation levels, as in Kafka's isolation.level.
ISOLATION_LEVELS: Final = {IsolationLevel.READ_UNCOMMITTED: "uncommitted", IsolationLevel.READ_COMMITTED: "committed"}


class LagKey(StrEnum):
    """What one row of lag is for."""

    GROUP = "group"
    TOPIC = "topic"
    MEMBER = "member"
    PARTITION = "partition"


class LagRow(NamedTuple):
    """The lag of a group, or of a part of it; what does not apply, or is unknown, is None.

    `lag` is the number of messages between the commits and the log ends, of the partitions where both are known;
    `readable_lag` is the part of it that retention has not deleted. `messages_lost` were deleted before the group read
    them; if a log start is unknown, only a number above 0 is known, of the other partitions. `retention_margin` is the
    number of messages between the log start and the commit, the smallest of the partitions that still have messages
    to read; `retention_margin_percent` is the smallest share of a log of these. `uncommitted_partitions` is None if a
    member may own partitions that are unknown. `note` has some of these words: `data_loss` (a commit below the log
    start), `beyond_end` (a commit above the log end), `incomplete` (a log end or log start is unknown),
    `unknown_assignment` (partitions of a member are unknown), and those of `time_lag`. The time lag is None unless it
    was measured. `isolation` is the level of the log ends: that of consumers that read uncommitted messages, or only
    committed ones. The coordinator of a share group computes its lag, always to the log end. `partitions_behind` is
    None if no lag of a share group is known.
    """

    group: str
    state: str | None
    members: int | None
    topic: str | None
    partition: int | None
    member_id: str | None
    host: str | None
    client_id: str | None
    committed_offset: int | None
    log_start_offset: int | None
    log_end_offset: int | None
    lag: int | None
    partitions_behind: int | None
    uncommitted_partitions: int | None
    messages_lost: int | None
    retention_margin: int | None
    retention_margin_percent: float | None
    note: tuple[str, ...]
    isolation: str = "uncommitted"
    consume_rate: float | None = None
    produce_rate: float | None = None
    trend: int | None = None
    catch_up_ms: int | None = None
    verdict: str | None = None
    rule: str | None = None
    verdict_since: int | None = None
    lags: tuple[int, ...] = ()
    at: str | None = None
    time_lag_ms: int | None = None
    time_lag_quality: str | None = None
    readable_lag: int | None = None

    @property
    def time_lag_s(self) -> float | None:
        """Return the time lag in seconds."""
        return None if self.time_lag_ms is None else self.time_lag_ms / 1000

    def condition_values(self) -> Mapping[str, Any]:
        """Return the values that a condition compares, by field."""
        return {**self._asdict(), "time_lag": self.time_lag_ms}


class GroupSummary(NamedTuple):
    """The lag of a group, and of its parts, those that are furthest behind first; no parts by group."""

    total: LagRow
    rows: tuple[LagRow, ...]


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


def summarize_lag(
    group: GroupDescription,
    partitions: Sequence[OffsetRow],
    by: LagKey,
    isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    time_lags: TimeLags | None = None,
) -> GroupSummary:
    """Return the lag of a group in total, and by topic, member or partition; with time lags if they were measured.

    A partition that several members own counts once, except that each of these members has it.
    """
    distinct = distinct_partitions(partitions)
    add_up = partial(_sum, group, isolation_level=isolation_level, time_lags=time_lags)
    is_unknown = has_unknown_assignments(group)
    total = add_up(distinct, is_unknown=is_unknown)
    if by is LagKey.GROUP:
        return GroupSummary(total, ())
    parts: dict[tuple[object, ...], list[OffsetRow]] = {}
    for row in partitions if by is LagKey.MEMBER else distinct:
        parts.setdefault(_KEYS[by](row), []).append(row)
    # What a known member owns is known, and so is a partition; another member may own more of a topic.
    is_unknown = is_unknown and by is LagKey.TOPIC
    named = (
        _with_names(add_up(distinct_partitions(rows), is_unknown=is_unknown), by, rows[0]) for rows in parts.values()
    )
    return GroupSummary(total, tuple(sort_worst_first(named)))


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


def sort_worst_first(rows: Iterable[LagRow]) -> list[LagRow]:
    """Return rows by lag, the largest first and unknown ones last; then by group, topic, partition and member."""
    return sorted(rows, key=order_of)


def order_of(row: LagRow) -> tuple[object, ...]:
    """Return the key by which rows are sorted, those that are furthest behind first."""
    is_unknown = row.lag is None
    names = (row.group, row.topic or "", -1 if row.partition is None else row.partition, row.member_id or "")
    return (is_unknown, -(row.lag or 0), -(row.uncommitted_partitions or 0), *names)


_KEYS: Final[Mapping[LagKey, Callable[[OffsetRow], tuple[object, ...]]]] = {
    LagKey.TOPIC: lambda row: (row.topic,),
    # Only host and client distinguish members without an id.
    LagKey.MEMBER: lambda row: (row.member_id, row.host, row.client_id),
    LagKey.PARTITION: lambda row: (row.topic, row.partition),
}


def _with_names(total: LagRow, by: LagKey, first: OffsetRow) -> LagRow:
    if by is LagKey.TOPIC:
        return total._replace(topic=first.topic)
    owned = total._replace(member_id=first.member_id, host=first.host, client_id=first.client_id)
    if by is LagKey.MEMBER:
        return owned
    return owned._replace(
        topic=first.topic,
        partition=first.partition,
        committed_offset=first.committed_offset,
        log_start_offset=first.log_start_offset,
        log_end_offset=first.log_end_offset,
        lag=first.lag,
    )


def _sum(
    group: GroupDescription,
    rows: Sequence[OffsetRow],
    *,
    isolation_level: IsolationLevel,
    time_lags: TimeLags | None,
    is_unknown: bool,
) -> LagRow:
    """Return the totals of partitions; `is_unknown` if members may own others that nobody can see."""
    has_commits = kind_of(group).has_commits
    totals = total_lag(rows, has_commits=has_commits)
    notes = {
        DATA_LOSS: bool(totals.lost),
        BEYOND_END: totals.is_beyond_end,
        INCOMPLETE: totals.is_incomplete,
        UNKNOWN_ASSIGNMENT: is_unknown,
    }
    time_lag = NOT_MEASURED if time_lags is None else time_lag_of(rows, time_lags, has_commits=has_commits)
    return LagRow(
        group=group.group,
        state=group.state,
        members=group.member_count,
        topic=None,
        partition=None,
        member_id=None,
        host=None,
        client_id=None,
        committed_offset=None,
        log_start_offset=None,
        log_end_offset=None,
        lag=totals.lag,
        partitions_behind=totals.behind,
        uncommitted_partitions=None if is_unknown else totals.uncommitted,
        messages_lost=totals.lost,
        retention_margin=totals.margin,
        retention_margin_percent=None if totals.share is None else round(100 * totals.share, 1),
        note=(*(word for word, holds in notes.items() if holds), *time_lag.notes),
        time_lag_ms=time_lag.ms,
        time_lag_quality=time_lag.quality,
        readable_lag=totals.readable_lag,
        isolation=ISOLATION_LEVELS[isolation_level if has_commits else IsolationLevel.READ_UNCOMMITTED],
    )
