"""The lag of groups in totals: by group, topic, member or partition, with what retention has deleted or may delete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import partial
from itertools import repeat
from typing import Any, Final, NamedTuple

from kafka_groups.admin.api import IsolationLevel
from kafka_groups.groups.assignments import has_unknown_assignments
from kafka_groups.groups.lag.rows import distinct_partitions
from kafka_groups.groups.lag.time_lag import NOT_MEASURED, TIME_NOTES, TimeLag, TimeLags, time_lag_of
from kafka_groups.groups.lag.totals import LagTotals, total_lag
from kafka_groups.kinds import kind_of
from kafka_groups.model import GroupDescription, OffsetRow

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
    None if no lag of a share group is known. `type` is that of the group.
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
    type: str | None = None

    @property
    def time_lag_s(self) -> float | None:
        """Return the time lag in seconds."""
        return None if self.time_lag_ms is None else self.time_lag_ms / 1000

    def condition_values(self) -> Mapping[str, Any]:
        """Return the values that a condition compares, by field."""
        return {**self._asdict(), "time_lag": self.time_lag_ms}


# The fields of a partition's row that are those of its OffsetRow.
_COLUMNS_OF_PARTITION: Final = (
    *("topic", "partition", "member_id", "host", "client_id"),
    *("committed_offset", "log_start_offset", "log_end_offset", "lag"),
)
# Others, and the fields of LagTotals that they are.
_COLUMNS_OF_TOTALS: Final = {
    "readable_lag": "readable_lag",
    "partitions_behind": "behind",
    "uncommitted_partitions": "uncommitted",
    "messages_lost": "lost",
    "retention_margin": "margin",
}
# Every field in its order, with its default value.
_DEFAULT_COLUMNS: Final = {name: repeat(LagRow._field_defaults.get(name)) for name in LagRow._fields}
# The same as LagRow._make, without a call of a Python function for each row.
_as_row: Final[Callable[[tuple[object, ...]], LagRow]] = partial(tuple.__new__, LagRow)


class GroupSummary(NamedTuple):
    """The lag of a group, and of its parts, those that are furthest behind first; no parts by group."""

    total: LagRow
    rows: tuple[LagRow, ...]


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
    shared = _shared_values(group, isolation_level, time_lags)
    is_unknown = has_unknown_assignments(group)
    total = _row_of(shared, distinct, is_unknown=is_unknown)
    if by is LagKey.GROUP:
        return GroupSummary(total, ())
    if by is LagKey.PARTITION:
        return GroupSummary(total, tuple(sort_worst_first(_partition_rows(shared, distinct))))
    parts: dict[tuple[object, ...], list[OffsetRow]] = {}
    for row in partitions if by is LagKey.MEMBER else distinct:
        parts.setdefault(_KEYS[by](row), []).append(row)
    # What a known member owns is known; another member may own more of a topic.
    is_unknown = is_unknown and by is LagKey.TOPIC
    named = (
        _with_names(_row_of(shared, distinct_partitions(rows), is_unknown=is_unknown), by, rows[0])
        for rows in parts.values()
    )
    return GroupSummary(total, tuple(sort_worst_first(named)))


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
}


def _with_names(total: LagRow, by: LagKey, first: OffsetRow) -> LagRow:
    if by is LagKey.TOPIC:
        return total._replace(topic=first.topic)
    return total._replace(member_id=first.member_id, host=first.host, client_id=first.client_id)


class _SharedValues(NamedTuple):
    """What all rows of a group share: its id, type, state and number of members, and how its lag is measured."""

    group: str
    type: str | None
    state: str | None
    members: int | None
    has_commits: bool
    isolation: str
    time_lags: TimeLags | None


def _shared_values(
    group: GroupDescription, isolation_level: IsolationLevel, time_lags: TimeLags | None
) -> _SharedValues:
    has_commits = kind_of(group).has_commits
    # The coordinator of a share group computes its lag, always to the log end.
    isolation = ISOLATION_LEVELS[isolation_level if has_commits else IsolationLevel.READ_UNCOMMITTED]
    return _SharedValues(group.group, group.type, group.state, group.member_count, has_commits, isolation, time_lags)


def _row_of(shared: _SharedValues, rows: Sequence[OffsetRow], *, is_unknown: bool) -> LagRow:
    """Return the totals of partitions; `is_unknown` if members may own others that nobody can see."""
    totals = total_lag(rows, has_commits=shared.has_commits)
    time_lag = _time_lag_of(shared, rows)
    return LagRow(
        group=shared.group,
        state=shared.state,
        members=shared.members,
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
        retention_margin_percent=_percent_of(totals.share),
        note=(*_words_of(totals, is_unknown=is_unknown), *time_lag.notes),
        isolation=shared.isolation,
        time_lag_ms=time_lag.ms,
        time_lag_quality=time_lag.quality,
        readable_lag=totals.readable_lag,
        type=shared.type,
    )


def _partition_rows(shared: _SharedValues, rows: Sequence[OffsetRow]) -> Iterator[LagRow]:
    """Yield the row of each partition; its lag is negative if the commit is above the log end.

    A large cluster has a hundred thousand of them. Made column by column they take half of the time.
    """
    totals = [total_lag((row,), has_commits=shared.has_commits) for row in rows]
    columns: dict[str, Iterable[Any]] = {
        **_DEFAULT_COLUMNS,
        "group": repeat(shared.group),
        "type": repeat(shared.type),
        "state": repeat(shared.state),
        "members": repeat(shared.members),
        "isolation": repeat(shared.isolation),
        **_columns_of_partitions(rows),
        **_columns_of_totals(totals),
    }
    if shared.time_lags is not None:
        time_lags = [_time_lag_of(shared, (row,)) for row in rows]
        columns["time_lag_ms"] = [time_lag.ms for time_lag in time_lags]
        columns["time_lag_quality"] = [time_lag.quality for time_lag in time_lags]
        columns["note"] = [words + each.notes for words, each in zip(columns["note"], time_lags, strict=True)]
    return map(_as_row, zip(*columns.values(), strict=False))


def _columns_of_partitions(rows: Sequence[OffsetRow]) -> dict[str, Iterable[Any]]:
    columns = dict(zip(OffsetRow._fields, zip(*rows, strict=True), strict=False))
    return {name: columns.get(name, ()) for name in _COLUMNS_OF_PARTITION}


def _columns_of_totals(totals: Sequence[LagTotals]) -> dict[str, Iterable[Any]]:
    columns = dict(zip(LagTotals._fields, zip(*totals, strict=True), strict=False))
    return {
        **{name: columns.get(total, ()) for name, total in _COLUMNS_OF_TOTALS.items()},
        "retention_margin_percent": [_percent_of(each.share) for each in totals],
        "note": [_words_of(each, is_unknown=False) for each in totals],
    }


def _time_lag_of(shared: _SharedValues, rows: Sequence[OffsetRow]) -> TimeLag:
    if shared.time_lags is None:
        return NOT_MEASURED
    return time_lag_of(rows, shared.time_lags, has_commits=shared.has_commits)


def _percent_of(share: float | None) -> float | None:
    return None if share is None else round(100 * share, 1)


def _words_of(totals: LagTotals, *, is_unknown: bool) -> tuple[str, ...]:
    """Return the words of a note on totals; most rows have none."""
    if not (totals.lost or totals.is_beyond_end or totals.is_incomplete or is_unknown):
        return ()
    words = {
        DATA_LOSS: bool(totals.lost),
        BEYOND_END: totals.is_beyond_end,
        INCOMPLETE: totals.is_incomplete,
        UNKNOWN_ASSIGNMENT: is_unknown,
    }
    return tuple(word for word, holds in words.items() if holds)
