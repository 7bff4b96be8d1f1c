"""Time lag: the age of the first record that a group has not processed, by partition, each with a quality.

The quality says what the age is: `exact` (the record at the committed offset, or nothing is left to process),
`compacted` (the first record that is left after the committed offset, where compaction or control records leave a gap),
`data_loss` (the commit is below the log start: at least the age of the first record that is left), `lower_bound` (the
true age may be larger), or `unknown` (no age, such as that of a commit above the log end).
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, Deadline, IsolationLevel, RecordPosition, RecordTime
from kafka_groups.model import Failure, OffsetRow, TopicPartition

EXACT: Final = "exact"
COMPACTED: Final = "compacted"
LOWER_BOUND: Final = "lower_bound"
DATA_LOSS: Final = "data_loss"
UNKNOWN: Final = "unknown"
QUALITIES: Final = (EXACT, COMPACTED, LOWER_BOUND, DATA_LOSS, UNKNOWN)
# Notes on qualities: why a value is no age of a record.
OPEN_TRANSACTION: Final = "open_transaction"
NO_TIMESTAMP: Final = "no_timestamp"
FUTURE_TIMESTAMP: Final = "future_timestamp"
# There is a lag, and no record: transaction markers, aborted records or gaps of compaction are behind the commit.
CAUGHT_UP: Final = "caught_up"
TIME_NOTES: Final = (OPEN_TRANSACTION, NO_TIMESTAMP, FUTURE_TIMESTAMP, CAUGHT_UP)


class TimeLag(NamedTuple):
    """The time lag of a partition or of several, in milliseconds (None: unknown), its quality, and notes on it.

    All are None if it was not measured.
    """

    ms: int | None
    quality: str | None
    notes: tuple[str, ...] = ()


NOT_MEASURED: Final = TimeLag(None, None)
_UNKNOWN: Final = TimeLag(None, UNKNOWN)
_NOTHING_LEFT: Final = TimeLag(0, EXACT)
_NO_RECORD_LEFT: Final = TimeLag(0, COMPACTED, (CAUGHT_UP,))


class LagPosition(NamedTuple):
    """An offset of groups in a partition, and their lag there, None if unknown.

    Groups with the same commit have the same lag. Share groups with the same start offset may have others.
    """

    topic: str
    partition: int
    offset: int
    lag: int | None


# A reading of log offsets gives the groups with the same offset and lag the same time lag.
TimeLags = Mapping[LagPosition, TimeLag]


class TimeLagReading(NamedTuple):
    """The time lags of partitions, by committed offset and lag, and what failed."""

    time_lags: TimeLags
    failures: tuple[Failure, ...]


def read_time_lags(
    admin: Admin,
    rows: Iterable[OffsetRow],
    *,
    isolation_level: IsolationLevel,
    deadline: Deadline | None = None,
) -> TimeLagReading:
    """Read the first record that is not processed of each partition that lags; `rows` were read just now.

    With READ_COMMITTED, partitions with nothing to process are compared with the log end offset: records of an open
    transaction may be there.
    """
    now_ms = time.time_ns() // 1_000_000
    committed = {_key(row): row for row in rows if row.committed_offset is not None}
    positions = {_commit_of(row): _first_left(row) for row in committed.values() if _has_records(row)}
    records = admin.list_record_times(
        dict.fromkeys(positions.values()), isolation_level=isolation_level, timeout=deadline
    )
    found = {commit: records.succeeded[at] for commit, at in positions.items() if at in records.succeeded}
    time_lags = {key: judge_time_lag(row, found, now_ms) for key, row in committed.items()}
    # Groups whose positions are in the same partition share its failure.
    failures = tuple(dict.fromkeys(records.failed.values()))
    if isolation_level is IsolationLevel.READ_UNCOMMITTED:
        return TimeLagReading(time_lags, failures)
    finished = [
        key
        for key, lag in time_lags.items()
        if (lag.ms == 0 and lag.quality in {EXACT, COMPACTED}) or _is_beyond_end(committed[key])
    ]
    ends = admin.list_offsets(dict.fromkeys(TopicPartition(*key[:2]) for key in finished), timeout=deadline)
    for key in finished:
        end = ends.succeeded.get(TopicPartition(*key[:2]))
        stable = committed[key].log_end_offset
        # A commit above the log end stays unknown, unlike one that is only above the last stable offset.
        if end is not None and stable is not None and end > stable and end >= key.offset:
            time_lags[key] = TimeLag(0, LOWER_BOUND, (OPEN_TRANSACTION, *time_lags[key].notes))
    return TimeLagReading(time_lags, (*failures, *ends.failed.values()))


def judge_time_lag(row: OffsetRow, found: Mapping[RecordPosition, RecordTime | None], now_ms: int) -> TimeLag:
    """Return the time lag of a partition with a commit.

    `found` has the first record that is left of each position that was read, None if there was none.
    """
    commit = _commit_of(row)
    is_lost = _first_left(row) != commit
    if row.lag is None or row.log_end_offset is None or _is_beyond_end(row):
        return _UNKNOWN
    if row.lag == 0:
        return _NOTHING_LEFT
    if not _has_records(row):
        # The lag of a share group may be above the last stable offset, where no record was read.
        return TimeLag(0, DATA_LOSS) if is_lost else _UNKNOWN
    if commit not in found:
        return _UNKNOWN
    record = found[commit]
    # A record beyond the log end that was read came later.
    left = record if record is not None and record.offset < row.log_end_offset else None
    time_lag = _age(commit, left, now_ms)
    # If the log start is unknown, nobody knows whether retention has deleted the records of a gap.
    may_be_lost = row.log_start_offset is None and time_lag.quality == COMPACTED
    if time_lag.ms is None or not (is_lost or may_be_lost):
        return time_lag
    # Who has lost messages has not caught up with them.
    notes = tuple(note for note in time_lag.notes if note != CAUGHT_UP)
    return TimeLag(time_lag.ms, DATA_LOSS if is_lost else LOWER_BOUND, notes)


def _age(committed: RecordPosition, record: RecordTime | None, now_ms: int) -> TimeLag:
    if record is None:
        return _NO_RECORD_LEFT
    if record.timestamp_ms is None:
        return TimeLag(None, UNKNOWN, (NO_TIMESTAMP,))
    if record.timestamp_ms > now_ms:
        return TimeLag(0, LOWER_BOUND, (FUTURE_TIMESTAMP,))
    return TimeLag(now_ms - record.timestamp_ms, COMPACTED if record.offset > committed.offset else EXACT)


def worst_time_lag(time_lags: Iterable[TimeLag]) -> TimeLag:
    """Return the largest of the time lags of partitions, with the quality that it has among them.

    A partition whose commit is below the log start makes it `data_loss`. One that is unknown, or a lower bound, makes
    it a lower bound: that partition's may be the largest. If no partition has a time lag above 0 and one is unknown, it
    is unknown. A gap matters only in a partition with the largest one. The order of the partitions does not matter.
    """
    parts = list(time_lags)
    if not parts:
        return _UNKNOWN
    qualities = {part.quality for part in parts}
    found = {note for part in parts for note in part.notes}
    notes = tuple(note for note in TIME_NOTES if note in found)
    largest = max((part for part in parts if part.ms is not None), key=_by_size, default=_UNKNOWN)
    if DATA_LOSS in qualities:
        return TimeLag(largest.ms, DATA_LOSS, notes)
    if UNKNOWN in qualities:
        return TimeLag(largest.ms, LOWER_BOUND, notes) if largest.ms else TimeLag(None, UNKNOWN, notes)
    return TimeLag(largest.ms, LOWER_BOUND if LOWER_BOUND in qualities else largest.quality, notes)


def _by_size(time_lag: TimeLag) -> tuple[int, bool]:
    """Return the order of time lags; of two that are equal, the one that is not exact is the larger one."""
    return (time_lag.ms or 0, time_lag.quality != EXACT)


def time_lag_of(rows: Iterable[OffsetRow], time_lags: TimeLags, *, has_commits: bool = True) -> TimeLag:
    """Return the time lag of partitions together. Partitions without a commit have none, and do not count.

    Without `has_commits` the group has start offsets, and the time lag of a partition without one is unknown. The
    partitions have caught up if that is true of every one with a lag, and no commit is above the log end.
    """
    found = [
        (row, _UNKNOWN if row.committed_offset is None else time_lags[_key(row)])
        for row in rows
        if row.committed_offset is not None or not has_commits
    ]
    worst = worst_time_lag(time_lag for _, time_lag in found)
    if all(CAUGHT_UP in time_lag.notes for row, time_lag in found if row.lag != 0):
        return worst
    return worst._replace(notes=tuple(note for note in worst.notes if note != CAUGHT_UP))


def _key(row: OffsetRow) -> LagPosition:
    assert row.committed_offset is not None
    return LagPosition(row.topic, row.partition, row.committed_offset, row.lag)


def _commit_of(row: OffsetRow) -> RecordPosition:
    assert row.committed_offset is not None
    return RecordPosition(row.topic, row.partition, row.committed_offset)


def _is_beyond_end(row: OffsetRow) -> bool:
    """Return whether the commit is above the log end: nobody knows which records were read."""
    return row.lag is not None and row.lag < 0


def _first_left(row: OffsetRow) -> RecordPosition:
    """Return the committed offset, or the log start offset if that is larger."""
    commit = _commit_of(row)
    return commit if row.log_start_offset is None else commit._replace(offset=max(commit.offset, row.log_start_offset))


def _has_records(row: OffsetRow) -> bool:
    """Return whether there may be a record to process."""
    return row.lag is not None and row.log_end_offset is not None and _first_left(row).offset < row.log_end_offset
