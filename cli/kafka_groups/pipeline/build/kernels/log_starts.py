"""Moves of the log start: when retention reaches the commit of a group, at the rate at which it deletes records.

A *move* is an observation of a higher log start than all before. The rate of deletion follows from the last three
moves: the log start moves by whole segments, so that fewer moves show no rate. A new log start *follows the commit* if
it is not below the offset that was committed before, and not above the commit. Then somebody deletes what the group has
read, as Kafka Streams does with its repartition topics. The moves until then do not count.

Seven samples of one partition, an hour apart: the log start rises by 100 an hour from the third one on, the log end
also by 100 an hour, and the commit stays at 450 (times in ms):

    >>> from kafka_groups.pipeline.build.kernels.observations import new_observations
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
    place_where,
    running_maximum_of_offsets,
    segment_starts,
    take,
)
from kafka_groups.pipeline.frames.arrays import NULL, Array, Ints
from kafka_groups.verdicts import START_MOVES

# The moves that rates need, and the observation before them.
_CARRIED: Final = START_MOVES + 1


def measure_deletion(
    observations: Observations, previous_offset: Ints, carried_starts: LogStarts
) -> tuple[dict[str, Array], LogStarts]:
    """Measure at each observation when retention reaches the commit; also return the log starts for the next day.

    Return the columns of `verdicts.Evidence` that the moves of the log start give, by name, with NaN where unknown.
    `observations` are sorted by key and time. `previous_offset` is the committed offset at the previous observation of
    the same log and incarnation, and anything in its first row. `carried_starts` has the log starts of earlier days.
    """
    segment_of_row = segment_starts(observations.key, observations.incarnation, observations.log_number)
    starts, segment_of_start, row_of_start = _find_log_starts(observations, carried_starts, segment_of_row)
    # A sequence begins with the first observation of a log, or with a move that follows the commit.
    offset_before = take(previous_offset, row_of_start)
    is_move_after_commit = (
        (row_of_start >= 0)
        & (offset_before <= starts.log_start)
        & (starts.log_start <= take(observations.committed_offset, row_of_start))
    )
    first_of_sequence = segment_starts(segment_of_start, np.cumsum(is_move_after_commit))
    move_count = np.minimum(np.arange(len(starts)) - first_of_sequence, START_MOVES)
    last_start = _find_last_starts(segment_of_start, row_of_start, segment_of_row)
    evidence = _measure_evidence(observations, starts, move_count, last_start)
    return evidence, _carry_log_starts(starts, first_of_sequence, carried_starts)


def _find_log_starts(
    observations: Observations, carried_starts: LogStarts, segment_of_row: Ints
) -> tuple[LogStarts, Ints, Ints]:
    """Return the first log start of each segment and all moves, carried ones included, in the order of time.

    Also return the segment of each, and the observation that shows it, as indices; -1 for carried ones. A carried log
    start has the segment of the key's first observations, if these are on the same log; others are omitted.
    """
    known_rows = np.flatnonzero(observations.log_start != NULL)
    is_change = (
        is_segment_start(segment_of_row[known_rows], observations.log_start[known_rows])
        if len(known_rows)
        else known_rows > 0
    )
    change_rows = known_rows[is_change]
    day_starts = LogStarts(**{name: getattr(observations, name)[change_rows] for name in LogStarts.names()})
    first_row = np.searchsorted(observations.key, carried_starts.key)
    is_same_log = np.ones(len(carried_starts), np.bool_)
    for column_name in ("key", "incarnation", "log_number"):
        is_same_log &= take(
            getattr(observations, column_name), np.minimum(first_row, len(observations)), -1
        ) == getattr(carried_starts, column_name)
    all_starts = LogStarts.join(carried_starts.take(is_same_log), day_starts)
    segment_of_start = np.concatenate([first_row[is_same_log], segment_of_row[change_rows]])
    row_of_start = np.concatenate([np.full(int(is_same_log.sum()), -1), change_rows])
    segment_order = np.argsort(segment_of_start, kind="stable")
    return _keep_moves(all_starts.take(segment_order), segment_of_start[segment_order], row_of_start[segment_order])


def _keep_moves(starts: LogStarts, segment_of_start: Ints, row_of_start: Ints) -> tuple[LogStarts, Ints, Ints]:
    """Return the first row of each segment, and the rows with a log start above all before it."""
    start_index = segment_starts(segment_of_start)
    highest_start = running_maximum_of_offsets(starts.log_start, start_index)
    is_first = start_index == np.arange(len(starts))
    is_move = is_first | (starts.log_start > np.roll(highest_start, 1))
    return starts.take(is_move), segment_of_start[is_move], row_of_start[is_move]


def _find_last_starts(segment_of_start: Ints, row_of_start: Ints, segment_of_row: Ints) -> Ints:
    """Return for each observation the index of its last log start; -1 if none is known."""
    # Carried log starts come before the first observation of their segment.
    position_of_start = np.where(row_of_start < 0, segment_of_start, row_of_start)
    last_start = np.searchsorted(position_of_start, np.arange(len(segment_of_row)), "right") - 1
    return np.where(take(segment_of_start, last_start, -1) == segment_of_row, last_start, -1)


def _measure_evidence(
    observations: Observations, starts: LogStarts, move_count: Ints, last_start: Ints
) -> dict[str, Array]:
    """Return the evidence at each observation; `last_start` is the index of its last log start, -1 without one."""
    start_moves = take(move_count, last_start, 0)
    has_rate = start_moves >= START_MOVES
    last_move = last_start[has_rate]
    first_move = last_move - START_MOVES + 1
    span_ms = (starts.at_ms[last_move] - starts.at_ms[first_move]).astype(np.float64)
    ms_per_record = span_ms / (starts.log_start[last_move] - starts.log_start[first_move])
    elapsed_ms = np.minimum(observations.at_ms[has_rate] - starts.at_ms[last_move], span_ms / (START_MOVES - 1))
    margin = observations.committed_offset[has_rate] - starts.log_start[last_move]
    retained_records = observations.log_end[has_rate] - starts.log_start[last_move]
    unread_records = starts.log_end[last_move] - observations.committed_offset[has_rate]
    return {
        "start_moves": start_moves,
        "loss_ms": place_where(has_rate, np.maximum(0.0, margin * ms_per_record - elapsed_ms)),
        "kept_ms": place_where(has_rate, retained_records * ms_per_record),
        "unread_at_deletion": place_where(has_rate, np.maximum(0, unread_records)),
    }


def _carry_log_starts(starts: LogStarts, first_of_sequence: Ints, carried_starts: LogStarts) -> LogStarts:
    """Return the last log starts of each key: those of its last sequence, or the carried ones if it has no other."""
    key_ends = np.flatnonzero(is_segment_end(starts.key))
    is_in_last_sequence = np.isin(first_of_sequence, first_of_sequence[key_ends])
    kept_starts = starts.take(is_among_last(is_in_last_sequence, starts.key, _CARRIED))
    starts_of_other_keys = carried_starts.take(~np.isin(carried_starts.key, kept_starts.key))
    all_starts = LogStarts.join(starts_of_other_keys, kept_starts)
    return all_starts.take(np.argsort(all_starts.key, kind="stable"))
