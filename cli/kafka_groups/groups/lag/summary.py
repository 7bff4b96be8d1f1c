"""The lag of groups in totals: by group, topic, member or partition, with what retention has deleted or may delete."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import repeat
from typing import Any, Final, NamedTuple

from kafka_groups.admin.api import IsolationLevel
from kafka_groups.groups.assignments import has_unknown_assignments
from kafka_groups.groups.lag.columns import PartitionColumns, columns_of
from kafka_groups.groups.lag.lag_row import (
    BEYOND_END,
    DATA_LOSS,
    INCOMPLETE,
    ISOLATION_LEVELS,
    UNKNOWN_ASSIGNMENT,
    LagKey,
    LagRow,
    sort_worst_first,
)
from kafka_groups.groups.lag.rows import distinct_partitions
from kafka_groups.groups.lag.time_lag import NOT_MEASURED, TimeLag, TimeLags, time_lag_of
from kafka_groups.groups.lag.totals import LagTotals, total_lag, total_lag_of
from kafka_groups.kinds import kind_of
from kafka_groups.model import GroupDescription, OffsetRow

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
    total = _row_of_rows(shared, distinct, is_unknown=is_unknown)
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
        _with_names(_row_of_rows(shared, distinct_partitions(rows), is_unknown=is_unknown), by, rows[0])
        for rows in parts.values()
    )
    return GroupSummary(total, tuple(sort_worst_first(named)))


def summarize_total(
    group: GroupDescription,
    partitions: PartitionColumns,
    isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
) -> GroupSummary:
    """Return the lag of a group in total, without time lag."""
    shared = _shared_values(group, isolation_level, None)
    return GroupSummary(_row_of(shared, partitions, NOT_MEASURED, is_unknown=has_unknown_assignments(group)), ())


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


def _row_of_rows(shared: _SharedValues, rows: Sequence[OffsetRow], *, is_unknown: bool) -> LagRow:
    return _row_of(shared, columns_of(rows), _time_lag_of(shared, rows), is_unknown=is_unknown)


def _row_of(shared: _SharedValues, columns: PartitionColumns, time_lag: TimeLag, *, is_unknown: bool) -> LagRow:
    """Return the totals of partitions; `is_unknown` if members may own others that nobody can see."""
    totals = total_lag(columns, has_commits=shared.has_commits)
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
    totals = [total_lag_of(row, has_commits=shared.has_commits) for row in rows]
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
