"""Log ends of the past: requests to the brokers' time indexes on a grid of times, as far back as records are kept.

For a time, ListOffsets returns the first record at or after it. Its offset is what the log end was then (if records
are in the order of their timestamps), and with its own timestamp it is a point that lags in time are read from. Before
the first retained record nothing is known, unless it is the log's very first one, as `Cells` says. Where logs are
compacted, that record may be a much later one than there was: such topics are to be excluded, as `topic_policies` says.

Few of the grid's times have to be looked up, as `time_grid` says. What was written once stays, since retention may
have deleted what it was read from: a partition has one row a time, however often and however far back it is requested.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from kafka_groups.admin import GroupAdmin, OffsetAndTimestamp, PartitionTime
from kafka_groups.model import Failure, TopicPartition
from kafka_groups.pipeline.backfills.time_grid import NEVER, Flags, TimeGrid
from kafka_groups.pipeline.decode.texts import topic_id_text
from kafka_groups.pipeline.schemas import PARTITION_OFFSETS
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.storage.layout import BACKFILL, new_batch_name
from kafka_groups.pipeline.storage.storage_errors import as_storage_error
from kafka_groups.protocol.errors import UNKNOWN_TOPIC_OR_PARTITION, broker_error

Progress = Callable[[str, int, int], None]
# Which of these topics are to be left out.
Sieve = Callable[[Sequence[str]], Collection[str]]

STEP_MS: Final = 60_000
_ORIGIN: Final = "backfill"
_DAY_MS: Final = 86_400_000
_LOOK_UPS_AT_ONCE: Final = 20_000  # each call has its own deadline; a broker works at one of our requests at a time
_ROWS_AT_ONCE: Final = 500_000
_KEY: Final = ["topic", "partition", "observed_at"]  # of a cluster's rows


@dataclass(kw_only=True)
class Backfilled:
    """What a backfill wrote: days and rows, and how many times were requested for them.

    `deleted` counts the times of partitions whose log end is not known any more, `ahead` those for which only records
    with timestamps of the future are known.
    """

    partitions: int = 0
    times: int = 0
    days: int = 0
    rows: int = 0
    deleted: int = 0
    ahead: int = 0
    look_ups: int = 0
    failures: list[Failure] = field(default_factory=list)


def backfill(  # noqa: PLR0913 - five of them say what to request
    admin: GroupAdmin,
    storage: Storage,
    *,
    cluster_id: str,
    since_ms: int,
    until_ms: int,
    now_ms: int,
    step_ms: int = STEP_MS,
    topics: Collection[str] | None = None,
    left_out: Sieve = lambda _names: (),
    progress: Progress = lambda _what, _done, _total: None,
    done: Backfilled | None = None,
) -> Backfilled:
    """Write a row of PARTITION_OFFSETS for each partition and each multiple of the step from `since` to `until`.

    The partitions are those of the named topics, or of all that are not internal, except the topics that `left_out`
    names: it is called once with all topics, before any request about their logs, and is to name the compacted ones.

    A row's log end is the offset of the first record at or after its time, or the present end if there is none. Where
    records were deleted, times before the first one that is still kept have no row, but the last of them has one
    without a log end. A record whose timestamp is after `now_ms` gives no log end. Each day (UTC) is committed when it
    is done: the same backfill again, or an overlapping one, adds what was not written yet. Memory holds some 500,000
    rows at once; one backfill of a cluster runs at a time. A partition that fails is excluded from that time on, and
    reported once. ValueError if there is no time to look up, or one before 1970. After AdminError or StorageError,
    committed days stay; `done` counts them.
    """
    if step_ms <= 0 or not 0 <= since_ms <= until_ms:
        raise ValueError("a backfill needs a step greater than 0, a start not before 1970, and an end not before it")
    # Multiples, so that the run of tomorrow looks up the same times as that of today, and finds them in the tables.
    grid = range(-(-since_ms // step_ms) * step_ms, until_ms + 1, step_ms)
    with storage.lock(f"{_ORIGIN}-{cluster_id}"):
        run = _Run(admin, storage, cluster_id, now_ms, progress, done or Backfilled())
        run.find_partitions(topics, left_out)
        run.done.times = len(grid)
        while grid:
            size = bisect_left(grid, (grid[0] // _DAY_MS + 1) * _DAY_MS)
            run.write_day(grid[:size])
            grid = grid[size:]
    return run.done


class _Run:
    """One backfill: the partitions, with the log end, the first and the last response of each."""

    def __init__(
        self, admin: GroupAdmin, storage: Storage, cluster_id: str, now_ms: int, progress: Progress, done: Backfilled
    ) -> None:
        self.done = done
        self._admin, self._storage, self._cluster_id = admin, storage, cluster_id
        self._now_ms, self._progress, self._known = now_ms, progress, 0
        self._ends: dict[TopicPartition, int] = {}
        self._first: dict[TopicPartition, OffsetAndTimestamp] = {}
        self._last: dict[TopicPartition, OffsetAndTimestamp] = {}
        self._topic_ids: dict[str, str | None] = {}
        # Two that looked for what is there at the same time would both write it: the second one is refused.
        self._application = f"{cluster_id}/{_ORIGIN}"
        self._version = storage.versions_of(PARTITION_OFFSETS, [self._application]).get(self._application)

    def find_partitions(self, names: Collection[str] | None, left_out: Sieve) -> None:
        """Find the partitions, where each of them ends now, and the first record that it still has.

        Selected topics that are absent or failed are reported.
        """
        topics = self._admin.list_topics()
        wanted = {
            name: topic
            for name, topic in topics.succeeded.items()
            if (not topic.internal if names is None else name in names)
        }
        self.done.failures += [failure for name, failure in topics.failed.items() if names is None or name in names]
        for name in sorted({*(names or ())} - {*wanted, *topics.failed}):
            self.done.failures.append(Failure.of(broker_error(UNKNOWN_TOPIC_OR_PARTITION), topic=name))
        for name in left_out(sorted(wanted)) if wanted else ():
            del wanted[name]
        self._topic_ids = {
            name: topic_id_text(topic.topic_id.bytes) if topic.topic_id else None for name, topic in wanted.items()
        }
        ends = self._admin.list_offsets((name, number) for name in wanted for number in wanted[name].partitions)
        self.done.failures += ends.failed.values()
        self._ends = {key: end for key, end in ends.succeeded.items() if end is not None}
        self.done.partitions = len(self._ends)
        for key, point in self._look_up([PartitionTime(*key, 0) for key in self._ends]):
            place = TopicPartition(key.topic, key.partition)
            self._first[place] = point or OffsetAndTimestamp(self._ends[place], NEVER)
        self._last = dict(self._first)

    def write_day(self, times: range) -> None:
        """Look up a day's times, some partitions after the other, and commit it."""
        keys = list(self._ends)
        size = max(1, _ROWS_AT_ONCE // len(times))
        with self._storage.writer(new_batch_name(BACKFILL, datetime.fromtimestamp(times[0] / 1000, UTC))) as writer:
            for at in range(0, len(keys), size):
                writer.write(PARTITION_OFFSETS, self._new_rows(times, keys[at : at + size]))
            files = writer.close()
        version = (self._version or 0) + 1
        expected = {PARTITION_OFFSETS.name: {self._application: self._version}}
        self._storage.append(files, {self._application: version}, expected=expected, tables=[PARTITION_OFFSETS])
        self._version = version
        self.done.rows += sum(file.rows for file in files)
        self.done.days += 1

    def _new_rows(self, times: range, keys: Sequence[TopicPartition]) -> pa.RecordBatch:
        same = {"cluster_id": self._cluster_id, "origin": _ORIGIN}
        cells = self._search(times, keys).cells(self._first, self._topic_ids, same, self._now_ms)
        is_new = self._is_new(times, cells.rows)
        self.done.deleted += int((cells.is_deleted & is_new).sum())
        self.done.ahead += int((cells.is_ahead & is_new).sum())
        return cells.rows.filter(pa.array(cells.is_row & is_new))

    def _search(self, times: range, keys: Sequence[TopicPartition]) -> TimeGrid:
        """Return the responses; of a partition that fails those that came before."""
        grid = TimeGrid(times, {key: self._ends[key] for key in keys}, self._last)
        total = self.done.partitions * self.done.times
        while wanted := grid.next_times(self._ends.keys(), _LOOK_UPS_AT_ONCE):
            for key, point in self._look_up(wanted):
                grid.take(key, point)
            self._progress("backfilling", self._known + grid.count_known(), total)
        self._known += len(keys) * len(times)
        self._progress("backfilling", self._known, total)
        self._last |= grid.last()
        return grid

    def _look_up(self, wanted: Sequence[PartitionTime]) -> Iterator[tuple[PartitionTime, OffsetAndTimestamp | None]]:
        """Yield the responses, without records that came since the ends were requested.

        A partition that has none is reported, and excluded from now on.
        """
        for at in range(0, len(wanted), _LOOK_UPS_AT_ONCE):
            responses = self._admin.offsets_for_times(wanted[at : at + _LOOK_UPS_AT_ONCE])
            self.done.look_ups += len(wanted[at : at + _LOOK_UPS_AT_ONCE])
            for key, failure in responses.failed.items():
                if self._ends.pop(TopicPartition(key.topic, key.partition), None) is not None:
                    self.done.failures.append(failure)
            for key, point in responses.succeeded.items():
                end = self._ends.get(TopicPartition(key.topic, key.partition))
                yield key, None if point is not None and end is not None and point.offset >= end else point

    def _is_new(self, times: range, rows: pa.RecordBatch) -> Flags:
        """Return which of a day's rows no earlier backfill has written."""
        day = datetime.fromtimestamp(times[0] / 1000, UTC).date().isoformat()
        # `compact` leaves batches of backfills alone, so their rows are in no other.
        files = [file.path for file in self._storage.files(PARTITION_OFFSETS, [day]) if file.batch.startswith(BACKFILL)]
        new = pa.table(rows.select(_KEY)).append_column("place", pa.array(np.arange(len(rows))))
        if files and len(rows):
            first, last = pc.min_max(rows["topic"]).values()
            topic = ds.field("topic")
            of_these = (ds.field("cluster_id") == self._cluster_id) & (topic >= first) & (topic <= last)
            with as_storage_error("read the tables", self._storage.into):
                known = ds.dataset(files, PARTITION_OFFSETS.arrow(), "parquet", self._storage.place.fs)
                for batch in known.to_batches(columns=_KEY, filter=of_these):
                    new = new.join(pa.table(batch), _KEY, join_type="left anti")
        is_new = np.zeros(len(rows), np.bool_)
        is_new[new["place"].to_numpy()] = True
        return is_new
