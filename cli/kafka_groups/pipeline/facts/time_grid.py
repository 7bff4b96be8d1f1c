"""A grid of partitions and times: it finds the responses for all times with lookups of only a few of them.

A lookup is a request for the first record at or after a time. A response (offset o, timestamp s) for a time t implies
others:
- All times between t and s have the same response: its record is late enough for them, and the timestamps of all
  earlier records are before t.
- If the response for a later time is offset o + 1, this is the response for all times after s until that time, because
  the record at offset o is too early for them.
- If there is no record at or after t, there is none for later times either.
The log end counts as a record after all others: the response for a time after the grid. So an idle partition needs only
one lookup, however many days are looked up. Between two responses, times are looked up by halving, or one after the
other if few records lie between the two.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa

from kafka_groups.admin import OffsetAndTimestamp, PartitionTime
from kafka_groups.model import TopicPartition
from kafka_groups.pipeline.facts.decode.conversions import LATEST_MS
from kafka_groups.pipeline.frames.arrays import NULL, Flags, Ints, milliseconds_to_microseconds
from kafka_groups.pipeline.frames.batches import make_batch
from kafka_groups.pipeline.tables import PARTITION_OFFSETS

# The timestamp of the log end, which is like a record after all others.
NEVER_MS: Final = 2**63 - 1
_UNKNOWN_OFFSET: Final = -1
# With at most this number of records between two responses, successive lookups take no longer than halving.
_FEW_RECORDS: Final = 8
# The clocks of brokers and producers may be ahead of the clock here by this much.
_CLOCK_DIFFERENCE_MS: Final = 60_000

# By partition, the record or the log end that is the response for a time.
Responses = Mapping[TopicPartition, OffsetAndTimestamp]


class LookupPeriod(NamedTuple):
    """The times that a backfill looks up at `now_ms`; all are ms since 1970.

    The times are the multiples of `step_ms` from `since_ms` to `until_ms`, both included. So a later backfill with the
    same step looks up the same times, and finds their rows in the tables.
    """

    since_ms: int
    until_ms: int
    step_ms: int
    now_ms: int

    def times(self) -> range:
        """Return the times, in ms since 1970. Raises ValueError if there is none, or if one is before 1970."""
        times = range(0)
        if self.step_ms > 0 <= self.since_ms:
            first_ms = -(-self.since_ms // self.step_ms) * self.step_ms
            times = range(first_ms, self.until_ms + 1, self.step_ms)
        if not times:
            raise ValueError(
                "a backfill needs a step greater than 0, a start not before 1970, and a time until its end"
            )
        return times


class GridRows(NamedTuple):
    """Rows of PARTITION_OFFSETS for all partitions and times of a grid, and flags of these rows.

    - `is_stored`: the row is to be stored.
    - `is_deleted`: the log end offset is unknown, because the records of the time were deleted.
    - `is_ahead`: the log end offset is unknown, because the response is a record with a timestamp in the future.
    """

    batch: Any
    is_stored: Flags
    is_deleted: Flags
    is_ahead: Flags


class TimeGrid:
    """Responses of partitions at times: two arrays with a row for each partition and a column for each time.

    `_offsets` has the offset of each response, -1 where it is unknown, and `_timestamps` its timestamp in ms since
    1970. The first column has the responses for the time before the grid, the last column has the log ends.
    """

    def __init__(self, times: range, log_ends: Mapping[TopicPartition, int], responses_before: Responses) -> None:
        """Begin with the log end offset of each partition, and its response for a time before the first one.

        `times` are ms since 1970; there is at least one.
        """
        self._times = range(times[0] - times.step, times[-1] + 2 * times.step, times.step)
        self._partitions = [*log_ends]
        self._rows = {partition: row for row, partition in enumerate(log_ends)}
        self._offsets: Ints = np.full((len(log_ends), len(self._times)), _UNKNOWN_OFFSET, np.int64)
        self._timestamps: Ints = np.full_like(self._offsets, NEVER_MS)
        self._offsets[:, -1] = [*log_ends.values()]
        for partition in log_ends:
            self.add_response(partition, self._times[0], responses_before[partition])

    def count_known(self) -> int:
        """Return how many pairs of a partition and a time have a response."""
        return int(np.count_nonzero(self._offsets[:, 1:-1] != _UNKNOWN_OFFSET))

    def last_responses(self) -> dict[TopicPartition, OffsetAndTimestamp]:
        """Return the response of each partition for the last time; a partition that failed before has the offset -1."""
        offsets_and_times = zip(self._offsets[:, -2].tolist(), self._timestamps[:, -2].tolist(), strict=True)
        return {
            partition: OffsetAndTimestamp(*offset_and_time)
            for partition, offset_and_time in zip(self._partitions, offsets_and_times, strict=True)
        }

    def next_lookups(self, partitions: Collection[TopicPartition], limit: int) -> list[PartitionTime]:
        """Return the times to look up next, at most `limit`; none if all responses of these partitions are known.

        The first time of each partition comes before the second one of any, because a request names a partition once.
        Responses that follow from their neighbours are added first.
        """
        span_rows, first_column, column_after = self._find_unknown_spans()
        # The distance between the responses on both sides, as offsets.
        records_between = self._offsets[span_rows, column_after] - self._offsets[span_rows, first_column - 1]
        is_implied = records_between <= 1
        self._fill_from_right(span_rows[is_implied], first_column[is_implied], column_after[is_implied])
        # The log end may be much later than the grid, so halving begins with the response for the last time.
        is_before_log_end = column_after == len(self._times) - 1
        middle_column = np.where(is_before_log_end, column_after - 1, (first_column + column_after) // 2)
        lookup_columns = np.where(records_between <= _FEW_RECORDS, first_column, middle_column)
        is_requested = np.array([partition in partitions for partition in self._partitions], np.bool_)
        is_wanted = ~is_implied & is_requested[span_rows]
        span_rows = span_rows[is_wanted]
        lookup_columns = lookup_columns[is_wanted]
        span_number_in_row = np.arange(len(span_rows)) - np.searchsorted(span_rows, span_rows)
        order = np.argsort(span_number_in_row, kind="stable")[:limit]
        return [
            PartitionTime(self._partitions[row].topic, self._partitions[row].partition, self._times[column])
            for row, column in np.stack((span_rows[order], lookup_columns[order]), axis=1).tolist()
        ]

    def _find_unknown_spans(self) -> tuple[Ints, Ints, Ints]:
        """Return the row of each span of columns without a response, its first column, and the column after it.

        Spans are sorted by row, then by column. Each has known columns on both sides.
        """
        changes = np.diff((self._offsets == _UNKNOWN_OFFSET).astype(np.int8))
        rows, columns_before = np.nonzero(changes > 0)
        _, last_columns = np.nonzero(changes < 0)
        return rows, columns_before + 1, last_columns + 1

    def _fill_from_right(self, span_rows: Ints, first_columns: Ints, columns_after: Ints) -> None:
        """Give each span the response of the column after it."""
        for row, start, end in zip(span_rows.tolist(), first_columns.tolist(), columns_after.tolist(), strict=True):
            self._offsets[row, start:end] = self._offsets[row, end]
            self._timestamps[row, start:end] = self._timestamps[row, end]

    def add_response(self, partition: TopicPartition, time_ms: int, response: OffsetAndTimestamp) -> None:
        """Add the response for a time: a record, or the log end with the timestamp NEVER_MS.

        It is also the response for later times up to its own timestamp. Responses that are already known stay.
        """
        row = self._rows[partition]
        column = self._times.index(time_ms)
        columns = slice(column, max(column + 1, bisect_right(self._times, response.time_ms)))
        is_unknown = self._offsets[row, columns] == _UNKNOWN_OFFSET
        self._offsets[row, columns][is_unknown] = response.offset
        self._timestamps[row, columns][is_unknown] = response.time_ms

    def to_rows(
        self,
        first_records: Responses,
        topic_ids: Mapping[str, str | None],
        common_columns: Mapping[str, str],
        now_ms: int,
    ) -> GridRows:
        """Return a row of PARTITION_OFFSETS for each partition and time, partition by partition.

        `first_records` has the first record of each partition that is still in the log at `now_ms`; `common_columns`
        has the columns that are the same in all rows.

        The first record is also the response for all times before it. Unless its offset is 0, the records of these
        times were deleted, and the log end offset is unknown. The same holds for an empty log that had records. Only
        the last of these times is stored, because its response is a record with a known time.

        A record with a timestamp in the future is the response for all times until then, whatever was written after
        it. The row is stored with a null log end offset, so that no later backfill fills it in once that timestamp has
        passed.
        """
        partitions = self._partitions
        times = self._times[1:-1]
        offsets = self._offsets[:, 1:-1].ravel()
        timestamps = self._timestamps[:, 1:-1].ravel()
        time_ms = np.tile(np.array(times, np.int64), len(partitions))
        partition_index = np.repeat(np.arange(len(partitions)), len(times))
        first_offsets = np.array([first_records[partition].offset for partition in partitions], np.int64)[
            partition_index
        ]
        is_log_end = timestamps == NEVER_MS
        is_ahead = (timestamps > now_ms + _CLOCK_DIFFERENCE_MS) & ~is_log_end
        is_deleted = (offsets == first_offsets) & (offsets > 0) & (timestamps > time_ms) & ~is_ahead
        is_followed_by_deleted = is_deleted & (time_ms <= timestamps - times.step)
        # The limit keeps the product within 64 bits. Readers cannot represent a later timestamp.
        timestamps_us = milliseconds_to_microseconds(np.minimum(timestamps, LATEST_MS))
        columns = {
            "topic": _take([partition.topic for partition in partitions], partition_index),
            "topic_id": _take([topic_ids.get(partition.topic) for partition in partitions], partition_index),
            "partition": np.array([partition.partition for partition in partitions], np.int64)[partition_index],
            "observed_at": milliseconds_to_microseconds(time_ms),
            "log_end_offset": np.where(is_deleted | is_ahead, NULL, offsets),
            "lookup_offset": np.where(is_log_end | is_ahead, NULL, offsets),
            "lookup_timestamp": np.where((timestamps > LATEST_MS) | is_ahead, NULL, timestamps_us),
        }
        batch = make_batch(PARTITION_OFFSETS.frame, {**common_columns, **columns}, size=len(offsets), fill_null=True)
        is_stored = (offsets != _UNKNOWN_OFFSET) & ~is_followed_by_deleted
        return GridRows(batch, is_stored, is_deleted, is_ahead)


def _take(values: list[Any], indices: Ints) -> Any:
    """Return an Arrow column of the strings at these indices of a list; None is null."""
    return pa.array(values, pa.string()).take(pa.array(indices))
