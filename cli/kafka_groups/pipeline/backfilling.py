"""Log ends of the past: the brokers' time indexes, asked on a grid of times, as far back as records are kept.

ListOffsets answers a time with the first record at or after it. Its offset is what the log end was then (if records
are in the order of their timestamps), and with its own timestamp it is a point that lags in time are read from.

Few of the grid's times have to be asked about. With an answer (offset o, timestamp s) for time t:
- all times up to s have the same answer, since o satisfies them and no earlier record satisfies even t;
- if a later time is answered with o + 1, all times after s up to it are, for o does not satisfy them;
- if the answer is that there is none, there is none for later times either. The log end is such an answer to a time
  after all others. So a partition that is quiet costs one look-up, however many days are asked for.
The rest is found by halving, or, where only few records lie between, one after the other.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain, zip_longest
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from kafka_groups.admin import GroupAdmin, PartitionTime, Point
from kafka_groups.admin.wire.error_codes import UNKNOWN_TOPIC_OR_PARTITION, broker_error
from kafka_groups.model import Failure, TopicPartition
from kafka_groups.pipeline.records.texts import LATEST_MS, topic_id_text
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.storage.staging import StagedWriter
from kafka_groups.pipeline.tables import PARTITION_OFFSETS
from kafka_groups.pipeline.tables.filling import shaped, spread

Progress = Callable[[str, int, int], None]

ORIGIN: Final = "backfill"
STEP_MS: Final = 60_000
_DAY_MS: Final = 86_400_000
_NEVER: Final = 2**63 - 1  # the time of the record after the last one
_FEW: Final = 8  # records: with so many between two answers, asking one by one takes no more than halving
_LOOK_UPS_AT_ONCE: Final = 20_000  # each call has its own deadline; a broker works at one request of ours at a time
_ROWS_AT_ONCE: Final = 500_000


@dataclass(kw_only=True)
class Backfilled:
    """What a backfill wrote: batches in order of their days, rows, and how many times were asked about for them."""

    partitions: int
    times: int
    batches: list[str] = field(default_factory=list)
    rows: int = 0
    look_ups: int = 0
    failures: list[Failure] = field(default_factory=list)


def backfill(  # noqa: PLR0913 - what to ask is five of them
    admin: GroupAdmin,
    storage: Storage,
    *,
    cluster_id: str,
    since_ms: int,
    until_ms: int,
    step_ms: int = STEP_MS,
    topics: Collection[str] | None = None,
    progress: Progress = lambda _what, _done, _total: None,
) -> Backfilled:
    """Write a row of PARTITION_OFFSETS for each partition and each time since, since + step, …, until.

    Of the named topics, or of all that are not internal. A row's log end is the offset of the first record at or after
    its time, or the present end if there is none; for times before the first record that is still kept it is where
    the log starts now. Each day (UTC) is published when it is done, as a batch named after its grid and what
    was asked for: the same backfill again replaces it, an overlapping one adds rows of the same identity. Memory holds
    some 500,000 rows at once. A partition that fails is left out from that time on, and is told once.
    ValueError if there is no time to ask about, or one before 1970. AdminError, StorageError: published days stay.
    """
    if step_ms <= 0 or not 0 <= since_ms <= until_ms:
        raise ValueError(
            "a backfill needs a step above zero, and an end that is not before its start, nor that before 1970"
        )
    run = _Run(admin, storage, cluster_id, progress)
    run.find_partitions(topics, range(since_ms, until_ms + 1, step_ms))
    for times in _days(since_ms, until_ms, step_ms):
        run.write_day(times, _batch_name(cluster_id, times, topics))
    return run.done


def _days(since_ms: int, until_ms: int, step_ms: int) -> Iterator[range]:
    """The grid, day by day; days without a time are left out."""
    at = since_ms
    while at <= until_ms:
        midnight = (at // _DAY_MS + 1) * _DAY_MS
        times = range(at, min(midnight, until_ms + 1), step_ms)
        yield times
        at = times[-1] + step_ms


def _batch_name(cluster_id: str, times: range, topics: Collection[str] | None) -> str:
    asked = repr((cluster_id, times, None if topics is None else sorted(set(topics))))
    digest = hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    first = datetime.fromtimestamp(times[0] / 1000, UTC)
    return f"backfill-{first:%Y%m%dT%H%M%SZ}-{times.step}ms-{len(times)}-{digest}"


class _Run:
    """One backfill: the partitions, with the last answer of each."""

    def __init__(self, admin: GroupAdmin, storage: Storage, cluster_id: str, progress: Progress) -> None:
        self.done = Backfilled(partitions=0, times=0)
        self._admin = admin
        self._storage = storage
        self._same = {"cluster_id": cluster_id, "origin": ORIGIN}
        self._progress = progress
        self._known = 0
        self._ends: dict[TopicPartition, int] = {}
        self._last: dict[TopicPartition, Point] = {}
        self._topic_ids: dict[str, str | None] = {}

    def find_partitions(self, names: Collection[str] | None, grid: range) -> None:
        """Which there are, and where each of them ends now."""
        topics = self._admin.list_topics()
        wanted = {
            name: topic
            for name, topic in topics.found.items()
            if (not topic.internal if names is None else name in names)
        }
        self.done.failures += [failure for name, failure in topics.failed.items() if names is None or name in names]
        for name in sorted({*(names or ())} - {*wanted, *topics.failed}):
            self.done.failures.append(Failure.of(broker_error(UNKNOWN_TOPIC_OR_PARTITION), topic=name))
        for name, topic in wanted.items():
            self._topic_ids[name] = topic_id_text(topic.topic_id.bytes) if topic.topic_id else None
        ends = self._admin.list_offsets((name, number) for name in wanted for number in wanted[name].partitions)
        self.done.failures += ends.failed.values()
        self._ends = {key: end for key, end in ends.found.items() if end is not None}
        self.done.partitions, self.done.times = len(self._ends), len(grid)

    def write_day(self, times: range, batch: str) -> None:
        """Look up a day's times, some partitions after the other, and publish it."""
        writer = StagedWriter(self._storage.stage())
        keys = list(self._ends)
        size = max(1, _ROWS_AT_ONCE // len(times))
        try:
            for at in range(0, len(keys), size):
                rows = self._rows(times, self._search(times, keys[at : at + size]))
                writer.write(PARTITION_OFFSETS, rows)
                self.done.rows += rows.num_rows
            self._storage.publish(batch, writer.close())
        except BaseException:
            writer.abort()
            raise
        self.done.batches.append(batch)

    def _search(self, times: range, keys: Sequence[TopicPartition]) -> dict[TopicPartition, _Search]:
        searches = {key: _Search(times, self._ends[key], self._last.get(key)) for key in keys}
        known_before = self._known
        while wanted := _in_turns({key: search for key, search in searches.items() if key in self._ends}):
            for at in range(0, len(wanted), _LOOK_UPS_AT_ONCE):
                self._ask(times, searches, wanted[at : at + _LOOK_UPS_AT_ONCE])
                known = known_before + sum(search.known for search in searches.values())
                self._progress("backfilling", known, self.done.partitions * self.done.times)
        self._known = known_before + len(keys) * len(times)
        self._progress("backfilling", self._known, self.done.partitions * self.done.times)
        for key in keys:
            if key in self._ends:
                self._last[key] = searches[key].last()
        return searches

    def _ask(self, times: range, searches: Mapping[TopicPartition, _Search], wanted: Sequence[PartitionTime]) -> None:
        answers = self._admin.find_offsets(wanted)
        self.done.look_ups += len(wanted)
        for key, point in answers.found.items():
            searches[TopicPartition(key.topic, key.partition)].take(times.index(key.time_ms), point)
        for key, failure in answers.failed.items():
            if self._ends.pop(TopicPartition(key.topic, key.partition), None) is not None:
                self.done.failures.append(failure)

    def _rows(self, times: range, searches: Mapping[TopicPartition, _Search]) -> pa.RecordBatch:
        names = list(dict.fromkeys(key.topic for key in searches))
        place = {name: at for at, name in enumerate(names)}
        of_topic, sizes = [place[key.topic] for key in searches], [len(times)] * len(searches)
        offsets = _joined([search.offsets for search in searches.values()])
        points = _joined([search.points for search in searches.values()])
        observed = np.tile(np.array(times, np.int64), len(searches))
        columns = {
            "topic": spread(names, of_topic, sizes),
            "topic_id": spread([self._topic_ids[name] for name in names], of_topic, sizes),
            "partition": pa.array(np.repeat(np.array([key.partition for key in searches], np.int32), sizes)),
            "observed_at": _time(observed, observed > LATEST_MS),
            "log_end_offset": pa.array(offsets),
            "point_offset": pa.array(offsets, mask=points == _NEVER),
            "point_time": _time(points, points > LATEST_MS),
        }
        rows = shaped(PARTITION_OFFSETS, len(offsets), columns, self._same)
        return rows.filter(pa.array(offsets >= 0))


def _in_turns(searches: Mapping[TopicPartition, _Search]) -> list[PartitionTime]:
    """What all searches want to know, each one's first, then each one's second: requests name a partition once."""
    wanted = [[PartitionTime(*key, time) for time in search.wanted_times()] for key, search in searches.items()]
    return [time for time in chain.from_iterable(zip_longest(*wanted)) if time is not None]


def _joined(parts: Sequence[np.ndarray[tuple[int], np.dtype[np.int64]]]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.concatenate([np.empty(0, np.int64), *parts])


def _time(
    milliseconds: np.ndarray[tuple[int], np.dtype[np.int64]], unknown: np.ndarray[tuple[int], np.dtype[np.bool]]
) -> pa.Array:
    known = np.where(unknown, 0, milliseconds) * 1000
    return pa.array(known, pa.int64(), mask=unknown).cast(PARTITION_OFFSETS.arrow().field("observed_at").type)


class _Gap(NamedTuple):
    """Times without an answer, from index `since` to before `until`, and the answers on both sides."""

    since: int
    before: Point | None
    until: int
    after: Point


class _Search:
    """The answers of one partition on a grid of times, and which times to ask about next.

    `end` is the partition's log end, `last` an answer for a time before the grid.
    """

    def __init__(self, times: range, end: int, last: Point | None) -> None:
        self.offsets = np.full(len(times), -1, np.int64)
        self.points = np.full(len(times), _NEVER, np.int64)
        self.known = 0
        self._times = times
        self._end = Point(end, _NEVER)
        self._wanted: dict[int, _Gap] = {}
        covered = 0 if last is None else bisect_right(times, last.time_ms)
        if last is not None:
            self._fill(0, covered, last)
        self._narrow(_Gap(covered, last, len(times), self._end))

    def wanted_times(self) -> list[int]:
        """Times to ask about now."""
        return [self._times[index] for index in self._wanted]

    def take(self, index: int, point: Point | None) -> None:
        """The answer for a wanted time."""
        gap = self._wanted.pop(index)
        found = point or self._end
        until = max(index + 1, min(gap.until, bisect_right(self._times, found.time_ms)))
        self._fill(index, until, found)
        self._narrow(_Gap(gap.since, gap.before, index, found))
        self._narrow(_Gap(until, found, gap.until, gap.after))

    def last(self) -> Point:
        """The answer for the grid's last time."""
        return Point(int(self.offsets[-1]), int(self.points[-1]))

    def _narrow(self, gap: _Gap) -> None:
        if gap.since >= gap.until:
            return
        between = None if gap.before is None else gap.after.offset - gap.before.offset
        is_last = gap.until == len(self._times)
        if between == 1 or (between == 0 and not is_last):
            self._fill(gap.since, gap.until, gap.after)
        elif between is None or between <= _FEW:
            self._wanted[gap.since] = gap
        else:
            self._wanted[gap.until - 1 if is_last else (gap.since + gap.until) // 2] = gap

    def _fill(self, since: int, until: int, point: Point) -> None:
        self.offsets[since:until] = point.offset
        self.points[since:until] = point.time_ms
        self.known += until - since
