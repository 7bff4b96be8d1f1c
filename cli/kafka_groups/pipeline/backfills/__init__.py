"""Log ends of the past: requests to the brokers' time indexes on a grid of times, as far back as records are kept.

For a time, ListOffsets returns the first record at or after it. Its offset is what the log end was then (if records
are in the order of their timestamps), and with its own timestamp it is a point that lags in time are read from. Before
the first retained record nothing is known, unless it is the log's very first one, as `filling` says. Where logs are
compacted, that record may be a much later one than there was: such topics are to be excluded, as `compacted` says.

Few of the grid's times have to be looked up, as `searching` says. What was written once stays, since retention may
have deleted what it was read from: a partition has one row a time, however often and however far back it is requested.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain, zip_longest
from typing import Final

import pyarrow as pa

from kafka_groups.admin import GroupAdmin, OffsetAndTimestamp, PartitionTime
from kafka_groups.admin.handlers.list_topics import Topic
from kafka_groups.model import Failure, TopicPartition
from kafka_groups.pipeline.backfills.known_times import ORIGIN, looked_up
from kafka_groups.pipeline.backfills.lookups import NEVER, Search
from kafka_groups.pipeline.backfills.offset_rows import Cells
from kafka_groups.pipeline.decode.texts import topic_id_text
from kafka_groups.pipeline.schemas import PARTITION_OFFSETS
from kafka_groups.pipeline.storage import FileWriter, NewFile, Storage
from kafka_groups.pipeline.storage.layout import BACKFILL, new_batch_name
from kafka_groups.protocol.errors import UNKNOWN_TOPIC_OR_PARTITION, broker_error

Progress = Callable[[str, int, int], None]
# Which of these topics are to be left out.
Sieve = Callable[[Sequence[str]], Collection[str]]

STEP_MS: Final = 60_000
_DAY_MS: Final = 86_400_000
_LOOK_UPS_AT_ONCE: Final = 20_000  # each call has its own deadline; a broker works at one of our requests at a time
_ROWS_AT_ONCE: Final = 500_000


@dataclass(kw_only=True)
class Backfilled:
    """What a backfill wrote: days and rows, and how many times were requested for them.

    `deleted` counts the times of partitions whose log end is not known any more, `ahead` those for which only records
    with timestamps of the future are known.
    """

    partitions: int
    times: int
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
    begun: Callable[[Backfilled], None] = lambda _done: None,
) -> Backfilled:
    """Write a row of PARTITION_OFFSETS for each partition and each time since, since + step, …, until.

    The partitions are those of the named topics, or of all that are not internal, except the topics that `left_out`
    names: it is called once with all topics, before any request about their logs, and is to name the compacted ones.

    A row's log end is the offset of the first record at or after its time, or the present end if there is none. Where
    records were deleted, times before the first one that is still kept have no row, but the last of them has one
    without a log end. A record whose timestamp is after `now_ms` gives no log end. Each day (UTC) is committed when it
    is done: the same backfill again, or an overlapping one, adds what was not written yet. Memory holds some 500,000
    rows at once; one backfill of a cluster runs at a time. A partition that fails is excluded from that time on, and
    reported once. ValueError if there is no time to look up, or one before 1970. After AdminError or StorageError,
    committed days stay; the object that `begun` received counts them.
    """
    if step_ms <= 0 or not 0 <= since_ms <= until_ms:
        raise ValueError(
            "a backfill needs a step greater than 0, a start not before 1970, and an end not before the start"
        )
    with storage.lock(f"{ORIGIN}-{cluster_id}"):
        run = _Run(admin, storage, cluster_id, now_ms, progress)
        begun(run.done)
        run.find_partitions(topics, left_out, range(since_ms, until_ms + 1, step_ms))
        for times in _days(since_ms, until_ms, step_ms):
            run.write_day(times)
    return run.done


def _days(since_ms: int, until_ms: int, step_ms: int) -> Iterator[range]:
    """Yield the times of the grid, day by day; days without a time are skipped."""
    at = since_ms
    while at <= until_ms:
        midnight = (at // _DAY_MS + 1) * _DAY_MS
        times = range(at, min(midnight, until_ms + 1), step_ms)
        yield times
        at = times[-1] + step_ms


class _Run:
    """One backfill: the partitions, with the last response of each."""

    def __init__(self, admin: GroupAdmin, storage: Storage, cluster_id: str, now_ms: int, progress: Progress) -> None:
        self.done = Backfilled(partitions=0, times=0)
        self._admin = admin
        self._storage = storage
        self._cluster_id = cluster_id
        self._same = {"cluster_id": cluster_id, "origin": ORIGIN}
        self._now_ms = now_ms
        self._progress = progress
        self._known = 0
        self._ends: dict[TopicPartition, int] = {}
        self._first: dict[TopicPartition, OffsetAndTimestamp] = {}
        self._last: dict[TopicPartition, OffsetAndTimestamp] = {}
        self._topic_ids: dict[str, str | None] = {}
        # Two that looked for what is there at the same time would both write it: the second one is refused.
        self._version = storage.versions_of(PARTITION_OFFSETS, [_application(cluster_id)]).get(_application(cluster_id))

    def find_partitions(self, names: Collection[str] | None, left_out: Sieve, grid: range) -> None:
        """Find the partitions, where each of them ends now, and the first record that it still has."""
        found = self._find_topics(names)
        without = frozenset(left_out(sorted(found)) if found else ())
        wanted = {name: topic for name, topic in found.items() if name not in without}
        for name, topic in wanted.items():
            self._topic_ids[name] = topic_id_text(topic.topic_id.bytes) if topic.topic_id else None
        ends = self._admin.list_offsets((name, number) for name in wanted for number in wanted[name].partitions)
        self.done.failures += ends.failed.values()
        self._ends = {key: end for key, end in ends.succeeded.items() if end is not None}
        self.done.partitions, self.done.times = len(self._ends), len(grid)
        self._find_first()

    def _find_topics(self, names: Collection[str] | None) -> dict[str, Topic]:
        """Return the selected topics; of these, the ones that are absent or failed are reported."""
        topics = self._admin.list_topics()
        wanted = {
            name: topic
            for name, topic in topics.succeeded.items()
            if (not topic.internal if names is None else name in names)
        }
        self.done.failures += [failure for name, failure in topics.failed.items() if names is None or name in names]
        for name in sorted({*(names or ())} - {*wanted, *topics.failed}):
            self.done.failures.append(Failure.of(broker_error(UNKNOWN_TOPIC_OR_PARTITION), topic=name))
        return wanted

    def _find_first(self) -> None:
        keys = list(self._ends)
        for at in range(0, len(keys), _LOOK_UPS_AT_ONCE):
            for key, point in self._look_up([PartitionTime(*key, 0) for key in keys[at : at + _LOOK_UPS_AT_ONCE]]):
                place = TopicPartition(key.topic, key.partition)
                self._first[place] = self._last[place] = point or OffsetAndTimestamp(self._ends[place], NEVER)

    def write_day(self, times: range) -> None:
        """Look up a day's times, some partitions after the other, and commit it."""
        keys = list(self._ends)
        size = max(1, _ROWS_AT_ONCE // len(times))
        written = self.done.rows
        try:
            with self._storage.writer(new_batch_name(BACKFILL, datetime.fromtimestamp(times[0] / 1000, UTC))) as writer:
                for at in range(0, len(keys), size):
                    self._write(writer, times, keys[at : at + size])
                files = writer.close()
            self._append(files)
        except BaseException:
            self.done.rows = written
            raise
        self.done.days += 1

    def _write(self, writer: FileWriter, times: range, keys: Sequence[TopicPartition]) -> None:
        found = self._search(times, keys)
        cells = Cells(times, found, self._first, self._now_ms)
        is_new = ~looked_up(self._storage, self._cluster_id, times, list(found))
        self.done.deleted += int((cells.is_deleted & is_new).sum())
        self.done.ahead += int((cells.is_ahead & is_new).sum())
        rows = cells.rows(self._topic_ids, self._same).filter(pa.array(cells.is_row() & is_new))
        writer.write(PARTITION_OFFSETS, rows)
        self.done.rows += rows.num_rows

    def _append(self, files: Sequence[NewFile]) -> None:
        application = _application(self._cluster_id)
        version = (self._version or 0) + 1
        expected = {PARTITION_OFFSETS.name: {application: self._version}}
        self._storage.append(files, {application: version}, expected=expected, tables=[PARTITION_OFFSETS])
        self._version = version

    def _search(self, times: range, keys: Sequence[TopicPartition]) -> dict[TopicPartition, Search]:
        searches = {key: Search(times, self._ends[key], self._last.get(key)) for key in keys}
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

    def _ask(self, times: range, searches: Mapping[TopicPartition, Search], wanted: Sequence[PartitionTime]) -> None:
        for key, point in self._look_up(wanted):
            searches[TopicPartition(key.topic, key.partition)].take(times.index(key.time_ms), point)

    def _look_up(self, wanted: Sequence[PartitionTime]) -> Iterable[tuple[PartitionTime, OffsetAndTimestamp | None]]:
        """Yield the responses; a partition that has none is reported, and excluded from now on."""
        responses = self._admin.offsets_for_times(wanted)
        self.done.look_ups += len(wanted)
        for key, failure in responses.failed.items():
            if self._ends.pop(TopicPartition(key.topic, key.partition), None) is not None:
                self.done.failures.append(failure)
        return ((key, self._known_by_then(key, point)) for key, point in responses.succeeded.items())

    def _known_by_then(self, key: PartitionTime, point: OffsetAndTimestamp | None) -> OffsetAndTimestamp | None:
        """Return what was known without records that came since the ends were requested."""
        end = self._ends.get(TopicPartition(key.topic, key.partition))
        return None if point is not None and end is not None and point.offset >= end else point


def _application(cluster_id: str) -> str:
    return f"{cluster_id}/{ORIGIN}"


def _in_turns(searches: Mapping[TopicPartition, Search]) -> list[PartitionTime]:
    """Return the wanted times, each search's first, then each one's second: requests name a partition once."""
    wanted = [[PartitionTime(*key, time) for time in search.wanted_times()] for key, search in searches.items()]
    return [time for time in chain.from_iterable(zip_longest(*wanted)) if time is not None]
