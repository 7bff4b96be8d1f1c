"""Moves of the log start: when retention reaches the commit of a group, at the rate at which it deletes records.

A *move* is an observation of a higher log start than all before. The rate of deletion follows from the last three
moves: the log start moves by whole segments, so that fewer moves show no rate. A new log start *follows the commit* if
it is not below the offset that was committed before, and not above the commit. Then somebody deletes what the group has
read, as Kafka Streams does with its repartition topics. The moves until then do not count.

Seven samples of one partition, an hour apart: the log start rises by 100 an hour from the third one on, the log end
also by 100 an hour, and the commit stays at 450 (times in ms):

    >>> from kafka_groups.pipeline.build.kernels.progress import new_observations
    >>> observations = new_observations(
    ...     at_ms=np.arange(7) * 3_600_000,
    ...     committed_offset=np.full(7, 450),
    ...     log_end=np.arange(7) * 100 + 1_000,
    ...     log_start=np.array([0, 0, 100, 200, 300, 400, 400]),
    ... )
    >>> evidence, carried = measure_deletion(observations, np.full(7, 450), LogStarts.empty())
    >>> evidence["start_moves"]
    array([0, 0, 1, 2, 3, 3, 3])
    >>> evidence["loss_ms"][4:]
    array([5400000., 1800000.,       0.])
    >>> evidence["kept_ms"][4:], evidence["unread_at_deletion"][4:]
    (array([39600000., 39600000., 43200000.]), array([ 950., 1050., 1050.]))
    >>> carried.log_start
    array([100, 200, 300, 400])
"""

from __future__ import annotations

from typing import Final

import numpy as np

from kafka_groups.pipeline.build.frames import LogStarts, Observations
from kafka_groups.pipeline.build.kernels.segments import (
    is_among_last,
    is_segment_end,
    is_segment_start,
    running_maximum_of_offsets,
    segment_starts,
    take,
)
from kafka_groups.pipeline.frames.arrays import NULL, Array, Flags, Ints
from kafka_groups.verdicts import START_MOVES

# The moves that rates need, and the observation before them.
_CARRIED: Final = START_MOVES + 1


def measure_deletion(
    observations: Observations, previous_offset: Ints, carried: LogStarts
) -> tuple[dict[str, Array], LogStarts]:
    """Measure at each observation when retention reaches the commit; also return the log starts for the next day.

    Return the columns of `verdicts.Evidence` that the moves of the log start give, by name, with NaN where unknown.
    `observations` are sorted by key and time. `previous_offset` is the committed offset at the previous observation of
    the same log and incarnation, and anything in its first row. `carried` has the log starts of earlier days.
    """
    segment = segment_starts(observations.key, observations.incarnation, observations.log_number)
    starts, segment_of_start, row = _find_log_starts(observations, carried, segment)
    # A sequence begins with the first observation of a log, or with a move that follows the commit.
    before = take(previous_offset, row)
    is_followed = (
        (row >= 0) & (before <= starts.log_start) & (starts.log_start <= take(observations.committed_offset, row))
    )
    first_of_sequence = segment_starts(segment_of_start, np.cumsum(is_followed))
    moves = np.minimum(np.arange(len(starts)) - first_of_sequence, START_MOVES)
    last = _last_start_at(segment_of_start, row, segment)
    evidence = _measure(observations, starts, moves, last)
    return evidence, _carry(starts, first_of_sequence, carried)


def _find_log_starts(observations: Observations, carried: LogStarts, segment: Ints) -> tuple[LogStarts, Ints, Ints]:
    """Return the first log start of each segment and all moves, carried ones included, in the order of time.

    Also return the segment of each, and the observation that shows it, as indices; -1 for carried ones. A carried log
    start has the segment of the key's first observations, if these are on the same log; others are omitted.
    """
    known = np.flatnonzero(observations.log_start != NULL)
    is_change = is_segment_start(segment[known], observations.log_start[known]) if len(known) else known > 0
    index = known[is_change]
    day_starts = LogStarts(**{name: getattr(observations, name)[index] for name in LogStarts.names()})
    first = np.searchsorted(observations.key, carried.key)
    is_same = np.ones(len(carried), np.bool_)
    for code in ("key", "incarnation", "log_number"):
        is_same &= take(getattr(observations, code), np.minimum(first, len(observations)), -1) == getattr(carried, code)
    joined = LogStarts.join(carried.take(is_same), day_starts)
    segment_of_start = np.concatenate([first[is_same], segment[index]])
    row = np.concatenate([np.full(int(is_same.sum()), -1), index])
    order = np.argsort(segment_of_start, kind="stable")
    return _keep_moves(joined.take(order), segment_of_start[order], row[order])


def _keep_moves(rows: LogStarts, segment: Ints, row: Ints) -> tuple[LogStarts, Ints, Ints]:
    """Return the first row of each segment, and the rows with a log start above all before it."""
    start_index = segment_starts(segment)
    highest = running_maximum_of_offsets(rows.log_start, start_index)
    is_first = start_index == np.arange(len(rows))
    is_kept = is_first | (rows.log_start > np.roll(highest, 1))
    return rows.take(is_kept), segment[is_kept], row[is_kept]


def _last_start_at(segment_of_start: Ints, row: Ints, segment: Ints) -> Ints:
    """Return for each observation the index of its last log start; -1 if none is known."""
    # Carried log starts come before the first observation of their segment.
    position = np.where(row < 0, segment_of_start, row)
    last = np.searchsorted(position, np.arange(len(segment)), "right") - 1
    return np.where(take(segment_of_start, last, -1) == segment, last, -1)


def _measure(observations: Observations, starts: LogStarts, moves: Ints, last: Ints) -> dict[str, Array]:
    """Return the evidence at each observation; `last` is the index of its last log start, -1 without one."""
    start_moves = take(moves, last, 0)
    has_rate = start_moves >= START_MOVES
    index = last[has_rate]
    first = index - START_MOVES + 1
    span_ms = (starts.at_ms[index] - starts.at_ms[first]).astype(np.float64)
    ms_per_record = span_ms / (starts.log_start[index] - starts.log_start[first])
    elapsed_ms = np.minimum(observations.at_ms[has_rate] - starts.at_ms[index], span_ms / (START_MOVES - 1))
    margin = observations.committed_offset[has_rate] - starts.log_start[index]
    retained_records = observations.log_end[has_rate] - starts.log_start[index]
    unread = starts.log_end[index] - observations.committed_offset[has_rate]
    return {
        "start_moves": start_moves,
        "loss_ms": _spread(np.maximum(0.0, margin * ms_per_record - elapsed_ms), has_rate),
        "kept_ms": _spread(retained_records * ms_per_record, has_rate),
        "unread_at_deletion": _spread(np.maximum(0, unread), has_rate),
    }


def _spread(values: Array, is_known: Flags) -> Array:
    """Return an array that has the values, in their order, where the mask is true, and NaN elsewhere."""
    result = np.full(len(is_known), np.nan)
    result[is_known] = values
    return result


def _carry(starts: LogStarts, first_of_sequence: Ints, carried: LogStarts) -> LogStarts:
    """Return the last log starts of each key: those of its last sequence, or the carried ones if it has no other."""
    ends = np.flatnonzero(is_segment_end(starts.key))
    is_of_last = np.isin(first_of_sequence, first_of_sequence[ends])
    kept = starts.take(is_among_last(is_of_last, starts.key, _CARRIED))
    unseen = carried.take(~np.isin(carried.key, kept.key))
    joined = LogStarts.join(unseen, kept)
    return joined.take(np.argsort(joined.key, kind="stable"))
