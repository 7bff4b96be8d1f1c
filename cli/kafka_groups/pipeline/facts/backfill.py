"""Log ends of the past: requests to the brokers' time indexes on a grid of times, as far back as records are kept.

For a time, ListOffsets returns the first record at or after it. Its offset is what the log end was then (if records
are in the order of their timestamps), or the present end if there is none, and with its own timestamp it is a point
that lags in time are read from. What was written once stays, since retention may have deleted what it was read from.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import repeat
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
from confluent_kafka import KafkaException

# Its type hints do not say that it passes these on.
from confluent_kafka.admin import ConfigResource, ResourceType

from kafka_groups.admin import GroupAdmin, OffsetAndTimestamp, PartitionTime
from kafka_groups.admin.librdkafka import describe_error
from kafka_groups.errors import SourceError
from kafka_groups.model import Failure, TopicPartition
from kafka_groups.pipeline.facts.decode.columns import topic_id_text
from kafka_groups.pipeline.facts.source.brokers import new_admin
from kafka_groups.pipeline.facts.time_grid import NEVER, Numbers, Points, TimeGrid
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.store.data_files import BACKFILL, new_batch_name
from kafka_groups.pipeline.store.root_directory import as_storage_error
from kafka_groups.pipeline.tables import PARTITION_OFFSETS
from kafka_groups.progress import Progress, ignore_progress
from kafka_groups.protocol.errors import UNKNOWN_TOPIC_OR_PARTITION, broker_error
from kafka_groups.settings.librdkafka import ClientProperties
from kafka_groups.suggestions import nearest_names, suggest

Sieve = Callable[[Sequence[str]], Collection[str]]  # which of these topics are to be left out

_ORIGIN: Final = "backfill"
_DAY_MS: Final = 86_400_000
_LOOK_UPS_AT_ONCE: Final = 20_000  # each call has its own deadline; a broker works at one of our requests at a time
_ROWS_AT_ONCE: Final = 500_000
_TOPICS_AT_ONCE: Final = 1_000  # a response has all settings of each, some 4 KB
_LONGEST_S: Final = 3_600.0  # librdkafka takes no longer time for a request
_POLICY: Final = "cleanup.policy"
_KEY: Final = ["topic", "partition", "observed_at"]  # of a cluster's rows


@dataclass(kw_only=True)
class Backfilled:
    """What a backfill wrote: days and rows, and how many times were requested for them.

    Log ends are unknown at `deleted` times, whose records are gone, and `ahead` ones, with records of the future alone.
    """

    cluster_id: str
    partitions: int = 0
    times: int = 0
    days: int = 0
    rows: int = 0
    look_ups: int = 0
    deleted: int = 0
    ahead: int = 0
    failures: list[Failure] = field(default_factory=list)


def backfill(  # noqa: PLR0913 - five of them say what to request
    admin: GroupAdmin,
    storage: Storage,
    *,
    since_ms: int,
    until_ms: int,
    now_ms: int,
    step_ms: int,
    topics: Collection[str] | None = None,
    left_out: Sieve = lambda _names: (),
    progress: Progress = ignore_progress,
    begun: Callable[[Backfilled], None] = lambda _done: None,
) -> Backfilled:
    """Write a row of PARTITION_OFFSETS for each partition and each multiple of the step from `since` to `until`.

    The partitions are those of the named topics, or of all that are not internal, except the topics that `left_out`
    names: it is called once with all topics, before any request about their logs, and is to name the compacted ones.

    Each day (UTC) is committed when it is done, and holds what was not written yet. Memory holds some 500,000 rows at
    once; one backfill of a cluster runs at a time. A partition that fails is excluded from then on, and reported once.
    ValueError if there is no time to look up, or one before 1970. After AdminError or StorageError, committed days
    stay; the object that `begun` received counts them.
    """
    # Multiples, so that the run of tomorrow looks up the same times as that of today, and finds them in the tables.
    grid = range(-(-since_ms // step_ms) * step_ms, until_ms + 1, step_ms) if step_ms > 0 <= since_ms else range(0)
    if not grid:
        raise ValueError("a backfill needs a step greater than 0, a start not before 1970, and a time until its end")
    done = Backfilled(cluster_id=admin.cluster_id(), times=len(grid))
    storage.make()
    with storage.lock(f"{_ORIGIN}-{done.cluster_id}"):
        run = _Run(admin, storage, now_ms, progress, done)
        begun(done)
        run.find_partitions(topics, left_out)
        while grid:
            size = bisect_left(grid, (grid[0] // _DAY_MS + 1) * _DAY_MS)
            run.write_day(grid[:size])
            grid = grid[size:]
    return done


def _absent_topics(names: Sequence[str], known: Collection[str]) -> list[Failure]:
    """Return the failures of topics that do not exist; each suggests the nearest known one."""
    near = nearest_names(names, known) if names else {}
    failures = [Failure.of(broker_error(UNKNOWN_TOPIC_OR_PARTITION), topic=name) for name in names]
    return [
        failure._replace(message=failure.message + suggest(name, near.get(name)))
        for name, failure in zip(names, failures, strict=True)
    ]


@dataclass
class _Run:
    """One backfill: the partitions, with the log end, the first and the last response of each."""

    admin: GroupAdmin
    storage: Storage
    now_ms: int
    progress: Progress
    done: Backfilled
    known: int = 0
    ends: dict[TopicPartition, int] = field(default_factory=dict)
    first: Points = field(default_factory=dict)
    last: Points = field(default_factory=dict)
    topic_ids: dict[str, str | None] = field(default_factory=dict)

    def find_partitions(self, names: Collection[str] | None, left_out: Sieve) -> None:
        """Find the partitions, where each ends now, and its first record; report topics that are absent or failed."""
        topics = self.admin.list_topics()
        not_internal = (name for name, topic in topics.succeeded.items() if not topic.internal)
        named = {*not_internal, *topics.failed} if names is None else {*names}
        wanted = {name: topic for name, topic in topics.succeeded.items() if name in named}
        absent = sorted(named - {*topics.succeeded, *topics.failed})
        self.done.failures += [failure for name, failure in topics.failed.items() if name in named]
        self.done.failures += _absent_topics(absent, topics.succeeded)
        for name in left_out(sorted(wanted)) if wanted else ():
            del wanted[name]
        self.topic_ids = {name: topic_id_text(topic.topic_id.bytes) for name, topic in wanted.items() if topic.topic_id}
        ends = self.admin.list_offsets((name, number) for name in wanted for number in wanted[name].partitions)
        self.done.failures += ends.failed.values()
        self.ends = {key: end for key, end in ends.succeeded.items() if end is not None}
        self.done.partitions = len(self.ends)
        self.first = {key: point for key, _, point in self._look_up([PartitionTime(*key, 0) for key in self.ends])}
        self.last = dict(self.first)

    def write_day(self, times: range) -> None:
        """Look up a day's times, some partitions after the other, and commit it."""
        # Two that looked for what is there at the same time would both write it: the second one is refused.
        application = f"{self.done.cluster_id}/{_ORIGIN}"
        version = self.storage.versions_of(PARTITION_OFFSETS, [application]).get(application)
        keys, size = [*self.ends], max(1, _ROWS_AT_ONCE // len(times))
        with self.storage.writer(new_batch_name(BACKFILL, datetime.fromtimestamp(times[0] / 1000, UTC))) as writer:
            for at in range(0, len(keys), size):
                writer.write(PARTITION_OFFSETS, self._new_rows(times, keys[at : at + size]))
            files = writer.close()
        expected = {PARTITION_OFFSETS.name: {application: version}}
        self.storage.append(files, {application: (version or 0) + 1}, expected=expected, tables=[PARTITION_OFFSETS])
        self.done.rows += sum(file.rows for file in files)
        self.done.days += 1

    def _new_rows(self, times: range, keys: Sequence[TopicPartition]) -> pa.RecordBatch:
        """Return the rows of partitions; of one that fails those whose responses came before."""
        grid = TimeGrid(times, {key: self.ends[key] for key in keys}, self.last)
        total = self.done.partitions * self.done.times
        while wanted := grid.next_times(self.ends.keys(), _LOOK_UPS_AT_ONCE):
            for response in self._look_up(wanted):
                grid.take(*response)
            self.progress("backfilling", self.known + grid.count_known(), total)
        self.known += len(keys) * len(times)
        self.progress("backfilling", self.known, total)
        self.last |= grid.last()
        same = {"cluster_id": self.done.cluster_id, "origin": _ORIGIN}
        rows, is_row, is_deleted, is_ahead = grid.rows(self.first, self.topic_ids, same, self.now_ms)
        new = self._find_new(times, rows)
        self.done.deleted += int(is_deleted[new].sum())
        self.done.ahead += int(is_ahead[new].sum())
        return rows.take(pa.array(new[is_row[new]]))

    def _look_up(self, wanted: Sequence[PartitionTime]) -> Iterator[tuple[TopicPartition, int, OffsetAndTimestamp]]:
        """Yield partition, time and the record or the end; records that came since the ends were requested are none."""
        for at in range(0, len(wanted), _LOOK_UPS_AT_ONCE):
            some = wanted[at : at + _LOOK_UPS_AT_ONCE]
            responses = self.admin.offsets_for_times(some)
            self.done.look_ups += len(some)
            for key, failure in responses.failed.items():
                if self.ends.pop(TopicPartition(key.topic, key.partition), None) is not None:
                    self.done.failures.append(failure)
            for (topic, partition, time_ms), point in responses.succeeded.items():
                place = TopicPartition(topic, partition)
                if (end := self.ends.get(place)) is not None:
                    yield place, time_ms, point if point and point.offset < end else OffsetAndTimestamp(end, NEVER)

    def _find_new(self, times: range, rows: pa.RecordBatch) -> Numbers:
        """Return the places of a day's rows that no earlier backfill has written."""
        day = datetime.fromtimestamp(times[0] / 1000, UTC).date().isoformat()
        # `compact` leaves batches of backfills alone, so their rows are in no other.
        files = [file.path for file in self.storage.files(PARTITION_OFFSETS, [day]) if file.batch.startswith(BACKFILL)]
        if not files or not rows:
            return np.arange(len(rows))
        new = pa.table(rows.select(_KEY)).append_column("place", pa.array(np.arange(len(rows))))
        first, last = pc.min_max(rows["topic"]).values()
        topic = ds.field("topic")
        of_these = (ds.field("cluster_id") == self.done.cluster_id) & (topic >= first) & (topic <= last)
        with as_storage_error("read the tables", self.storage.into):
            known = ds.dataset(files, PARTITION_OFFSETS.arrow(), "parquet", self.storage.directory.fs)
            for batch in known.to_batches(columns=_KEY, filter=of_these):
                new = new.join(pa.table(batch), _KEY, join_type="left anti")
        return np.sort(new["place"].to_numpy())


class Policies(NamedTuple):
    """Of the requested topics: those that are compacted, those that may be, and why that is not known."""

    compacted: list[str]
    unknown: list[str]
    why: str = ""


def find_compacted(client: ClientProperties, timeout_s: float, names: Sequence[str]) -> Policies:
    """Request the policy of each topic; `client` are properties of librdkafka, and each request has the timeout.

    Of a compacted log brokers cannot say where it once ended: the first record that is left at or after a time may have
    been written long after the one that was there. Whatever goes wrong leaves topics unknown.
    """
    compacted: list[str] = []
    unknown: dict[str, str] = {}
    for name, found in read_settings(client, timeout_s, names):
        if isinstance(found, str) or _POLICY not in found:
            unknown[name] = found if isinstance(found, str) else f"the brokers return no {_POLICY}"
        elif "compact" in map(str.strip, found[_POLICY].split(",")):
            compacted.append(name)
    return Policies(compacted, [*unknown], next(iter(unknown.values()), ""))


def read_settings(
    client: ClientProperties, timeout_s: float, names: Sequence[str]
) -> Iterator[tuple[str, dict[str, str] | str]]:
    """Yield each topic with its settings, or with the reason why they are not known, without secrets.

    After a request that failed as a whole, none is made any more.
    """
    try:
        admin = new_admin(client)
    except SourceError as error:
        yield from zip(names, repeat(str(error)))
        return
    why_none: str | None = None
    for at in range(0, len(names), _TOPICS_AT_ONCE):
        resources = [ConfigResource(ResourceType.TOPIC, name) for name in names[at : at + _TOPICS_AT_ONCE]]
        responses = admin.describe_configs(resources, request_timeout=min(timeout_s, _LONGEST_S))
        # librdkafka says by itself that it is too late, and maybe why, if it is given a second more.
        wait(responses.values(), timeout_s + 1)
        for resource, response in responses.items():
            found: dict[str, str] | str
            try:
                found = {name: entry.value or "" for name, entry in response.result(timeout=0).items()}
            except TimeoutError:
                found = why_none = "the brokers did not respond in time"
            except KafkaException as error:
                found = describe_error(error.args[0], client)
                # What librdkafka says itself has a code below zero, and holds for all topics.
                why_none = found if error.args[0].code() < 0 else why_none
            yield resource.name, found
        if why_none is not None:
            yield from zip(names[at + _TOPICS_AT_ONCE :], repeat(why_none))
            return
