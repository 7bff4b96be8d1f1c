"""Rows of a day's responses. A row has a log end only where the log still has what it had then.

The first retained record is the response for all times before it, too. Where the log ended then is deleted with the
records that were there, unless that record is the log's very first one; so is where an empty log ended before now. A
record with a timestamp of the future is the response for all times up to its own, whatever was written after it: it
gives no log end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from kafka_groups.admin import OffsetAndTimestamp
from kafka_groups.model import TopicPartition
from kafka_groups.pipeline.backfills.known_times import Flags, Numbers
from kafka_groups.pipeline.backfills.lookups import NEVER, Search
from kafka_groups.pipeline.decode.texts import LATEST_MS
from kafka_groups.pipeline.schemas import PARTITION_OFFSETS
from kafka_groups.pipeline.schemas.row_batches import shaped, spread

# The clocks of brokers and producers are others than ours.
_CLOCKS_MS: Final = 60_000


class Cells:
    """The responses of some partitions on a grid of times, partition by partition.

    `first` are the first records that are kept; of an empty log it is the end, whose time is NEVER. `now_ms` is when
    they were requested.
    """

    def __init__(
        self,
        times: range,
        searches: Mapping[TopicPartition, Search],
        first: Mapping[TopicPartition, OffsetAndTimestamp],
        now_ms: int,
    ) -> None:
        self._step = times.step
        self._keys = list(searches)
        self._sizes = [len(times)] * len(searches)
        self._observed = np.tile(np.array(times, np.int64), len(searches))
        self._offsets = _joined([search.offsets for search in searches.values()])
        self._points = _joined([search.points for search in searches.values()])
        oldest = np.repeat(np.array([first[key].offset for key in searches], np.int64), self._sizes)
        is_oldest = (self._offsets == oldest) & (self._offsets > 0)
        self.is_ahead: Flags = (self._points > now_ms + _CLOCKS_MS) & (self._points != NEVER)
        self.is_deleted: Flags = is_oldest & (self._points > self._observed) & ~self.is_ahead

    def is_row(self) -> Flags:
        """Return which of them are rows: those with a log end, and of the deleted the last, for the sake of its point.

        Times whose response is a record of the future are rows, too: it will be of the past in the next backfill.
        """
        is_before_first = self.is_deleted & (self._observed <= self._points - self._step)
        return (self._offsets >= 0) & ~is_before_first

    def rows(self, topic_ids: Mapping[str, str | None], same: Mapping[str, str]) -> pa.RecordBatch:
        """Return a row for each of them; `same` is what all have in common."""
        names = list(dict.fromkeys(key.topic for key in self._keys))
        place = {name: at for at, name in enumerate(names)}
        of_topic = [place[key.topic] for key in self._keys]
        columns = {
            "topic": spread(names, of_topic, self._sizes),
            "topic_id": spread([topic_ids[name] for name in names], of_topic, self._sizes),
            "partition": pa.array(np.repeat(np.array([key.partition for key in self._keys], np.int32), self._sizes)),
            "observed_at": _time(self._observed),
            "log_end_offset": pa.array(self._offsets, mask=self.is_deleted | self.is_ahead),
            "point_offset": pa.array(self._offsets, mask=(self._points == NEVER) | self.is_ahead),
            "point_time": _time(np.where(self.is_ahead, NEVER, self._points)),
        }
        return shaped(PARTITION_OFFSETS, len(self._offsets), columns, same)


def _joined(parts: Sequence[Numbers]) -> Numbers:
    return np.concatenate([np.empty(0, np.int64), *parts])


def _time(milliseconds: Numbers) -> pa.Array:
    unknown = milliseconds > LATEST_MS
    known = np.where(unknown, 0, milliseconds) * 1000
    return pa.array(known, pa.int64(), mask=unknown).cast(PARTITION_OFFSETS.arrow().field("observed_at").type)
