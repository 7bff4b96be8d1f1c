"""The responses of partitions on a grid of times, with requests for few of the times.

With a response (offset o, timestamp s) for time t:
- all times up to s have the same response, since o satisfies them and no earlier record satisfies even t;
- if the response for a later time is o + 1, it is for all times after s up to it, for o does not satisfy them;
- if the response is that there is none, there is none for later times either. The log end is such a response for a
  time after all others. So a partition that is quiet costs one look-up, however many days are requested.
The rest is found by halving, or, where only few records lie between, one after the other.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafka_groups.admin import OffsetAndTimestamp, PartitionTime
from kafka_groups.model import TopicPartition
from kafka_groups.pipeline.facts.decode.conversions import LATEST_MS
from kafka_groups.pipeline.tables import PARTITION_OFFSETS
from kafka_groups.pipeline.tables.shape import shaped

NEVER: Final = 2**63 - 1  # the time of the record after the last one
_NOT_KNOWN: Final = -1
_FEW: Final = 8  # records: with so many between two responses, requests one by one take no more than halving
_CLOCKS_MS: Final = 60_000  # the clocks of brokers and producers are others than ours
_TIME: Final = PARTITION_OFFSETS.arrow().field("observed_at").type

Flags = np.ndarray[Any, np.dtype[np.bool]]
Numbers = np.ndarray[Any, np.dtype[np.int64]]
Points = dict[TopicPartition, OffsetAndTimestamp]


class TimeGrid:
    """Offsets and timestamps of responses, a row for each partition, a column for each time."""

    def __init__(self, times: range, ends: Mapping[TopicPartition, int], before: Points) -> None:
        # The first column is the response before the grid, the last one the log end.
        self._times = range(times[0] - times.step, times[-1] + 2 * times.step, times.step)
        self._keys = [*ends]
        self._row = {key: row for row, key in enumerate(ends)}
        self._offsets: Numbers = np.full((len(ends), len(self._times)), _NOT_KNOWN, np.int64)
        self._points: Numbers = np.full_like(self._offsets, NEVER)
        self._offsets[:, -1] = [*ends.values()]
        for key in ends:
            self.take(key, self._times[0], before[key])

    def count_known(self) -> int:
        """Return how many of the times have a response."""
        return int(np.count_nonzero(self._offsets[:, 1:-1] != _NOT_KNOWN))

    def last(self) -> Points:
        """Return the response for the last time of each partition."""
        pairs = zip(self._offsets[:, -2].tolist(), self._points[:, -2].tolist(), strict=True)
        return {key: OffsetAndTimestamp(*pair) for key, pair in zip(self._keys, pairs, strict=True)}

    def next_times(self, partitions: Collection[TopicPartition], most: int) -> list[PartitionTime]:
        """Return times to look up now, of these partitions; the first of each comes first: a request names it once."""
        edges = np.diff((self._offsets == _NOT_KNOWN).astype(np.int8))
        (rows, since), until = np.nonzero(edges > 0), np.nonzero(edges < 0)[1] + 1
        since += 1
        between = self._offsets[rows, until] - self._offsets[rows, since - 1]
        for row, first, end in np.stack((rows, since, until), axis=1)[between <= 1].tolist():
            self._offsets[row, first:end] = self._offsets[row, end]
            self._points[row, first:end] = self._points[row, end]
        halved = np.where(until == len(self._times) - 1, until - 1, (since + until) // 2)
        columns = np.where(between <= _FEW, since, halved)
        is_wanted = (between > 1) & np.array([key in partitions for key in self._keys], np.bool_)[rows]
        rows, columns = rows[is_wanted], columns[is_wanted]
        turns = np.argsort(np.arange(len(rows)) - np.searchsorted(rows, rows), kind="stable")[:most]
        found: Iterable[tuple[int, int]] = zip(rows[turns].tolist(), columns[turns].tolist(), strict=True)
        return [PartitionTime(*self._keys[row], self._times[column]) for row, column in found]

    def take(self, partition: TopicPartition, time_ms: int, point: OffsetAndTimestamp) -> None:
        """Take the response for a time: a record, or the log end, whose time is NEVER."""
        row, column = self._row[partition], self._times.index(time_ms)
        places = slice(column, max(column + 1, bisect_right(self._times, point.time_ms)))
        is_open = self._offsets[row, places] == _NOT_KNOWN
        self._offsets[row, places][is_open] = point.offset
        self._points[row, places][is_open] = point.time_ms

    def rows(
        self, first: Points, topic_ids: Mapping[str, str | None], same: Mapping[str, str], now_ms: int
    ) -> tuple[pa.RecordBatch, Flags, Flags, Flags]:
        """Return a row for each partition and time, and which are to be written, of deleted records, of the future.

        `first` are the first records that are kept at `now_ms`. The first retained record is the response for all times
        before it, too. Where the log ended then is deleted with the records that were there, unless that record is the
        log's very first one; so is where an empty log ended before now. Of the deleted times the last one is a row, for
        the sake of its record. A record with a timestamp of the future is the response for all times up to its own,
        whatever was written after it: it gives a row without a log end, since later it will be of the past.
        """
        keys, times = self._keys, self._times[1:-1]
        offsets, points = self._offsets[:, 1:-1].ravel(), self._points[:, 1:-1].ravel()
        observed = np.tile(np.array(times, np.int64), len(keys))
        oldest = np.repeat(np.array([first[key].offset for key in keys], np.int64), len(times))
        is_ahead = (points > now_ms + _CLOCKS_MS) & (points != NEVER)
        is_deleted = (offsets == oldest) & (offsets > 0) & (points > observed) & ~is_ahead
        is_before_first = is_deleted & (observed <= points - times.step)
        place = pa.array(np.repeat(np.arange(len(keys)), len(times)))
        columns = {
            "topic": pa.array([key.topic for key in keys], pa.string()).take(place),
            "topic_id": pa.array([topic_ids.get(key.topic) for key in keys], pa.string()).take(place),
            "partition": pa.array([key.partition for key in keys], pa.int32()).take(place),
            "observed_at": observed * 1000,
            "log_end_offset": pa.array(offsets, mask=is_deleted | is_ahead),
            "point_offset": pa.array(offsets, mask=(points == NEVER) | is_ahead),
            "point_time": pa.array(np.minimum(points, LATEST_MS) * 1000, _TIME, mask=is_ahead | (points > LATEST_MS)),
        }
        rows = shaped(PARTITION_OFFSETS.arrow(), len(offsets), columns, same)
        return rows, (offsets != _NOT_KNOWN) & ~is_before_first, is_deleted, is_ahead
