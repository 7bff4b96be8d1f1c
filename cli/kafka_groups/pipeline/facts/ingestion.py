"""`__consumer_offsets` into tables, from where the last run ended: the logs of the tables say where that was.

Each batch is one job of Spark: its tasks read ranges of the topic and write files, and Spark moves only a list of the
files. A killed run loses and doubles no record.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.errors import KafkaGroupsError, UnreachableError
from kafka_groups.pipeline.facts.decode.columns import GAP, GROUP_EVENT, OFFSET_COMMIT, UNKNOWN
from kafka_groups.pipeline.facts.source import plan
from kafka_groups.pipeline.facts.source.brokers import Brokers
from kafka_groups.pipeline.facts.source.plan import TIMEOUT_S, Log, Offsets, Range
from kafka_groups.pipeline.facts.source.positions import Stored, commit_batch, read_position, was_read
from kafka_groups.pipeline.facts.source.ranges import read_rows
from kafka_groups.pipeline.spark import error_in
from kafka_groups.pipeline.store import NewFile, Storage, new_writer
from kafka_groups.pipeline.store.data_files import new_batch_name
from kafka_groups.pipeline.tables import GROUP_EVENTS, INGEST_GAPS, OFFSET_COMMITS, UNKNOWN_RECORDS, Table
from kafka_groups.pipeline.tables.shape import shaped
from kafka_groups.progress import Progress, ignore_progress
from kafka_groups.settings.librdkafka import ClientProperties

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_STEP_S: Final = 0.5  # how often Ctrl-C and `stop` are looked at
_OF_A_CLUSTER: Final = 64
_FILE: Final = "`table` STRING, `date` STRING, path STRING, `rows` BIGINT, bytes BIGINT"  # NewFile, as Spark spells it
_TABLES: Final = {
    OFFSET_COMMIT: (OFFSET_COMMITS, None),
    GROUP_EVENT: (GROUP_EVENTS, "event"),
    UNKNOWN: (UNKNOWN_RECORDS, "raw"),
    GAP: (INGEST_GAPS, "gap"),
}
_NOTHING: Final = Stored(Log(None, {}), {}, {})

Stop = Callable[[], bool]


class Batch(NamedTuple):
    """What the tasks of a batch are given."""

    name: str
    data_dir: str
    client: ClientProperties  # properties of librdkafka, secrets among them
    timeout_s: float
    cluster_id: str
    tasks: Sequence[Sequence[Range]]
    ahead: Mapping[str, Offsets]  # what is below these offsets is in that table already


@dataclass(frozen=True, kw_only=True)
class Ingested:
    """What one run brought in; `records` counts those of the topic, so not the rows of ingest_gaps."""

    cluster_id: str
    batches: int
    records: int
    rows: dict[str, int]  # by table


def ingest(spark: SparkSession, storage: Storage, client: ClientProperties, **how: Any) -> Ingested:
    """Call `prepared` and `Ingestion.run` at once, with an existing session: `timeout_s`, and what `run` takes."""
    with prepared(storage, client, timeout_s=how.pop("timeout_s", TIMEOUT_S)) as ingestion:
        return ingestion.run(spark, **how)


@contextmanager
def prepared(storage: Storage, client: ClientProperties, *, timeout_s: float = TIMEOUT_S) -> Iterator[Ingestion]:
    """Yield an ingest that needs only Spark: brokers respond, the lock is held, and the position fits the topic.

    `client` are properties of librdkafka; every request to the brokers has the timeout, and every wait for records.
    SourceError for what the brokers refuse, and if they lost what was read; UnreachableError if they do not respond;
    StorageError for what the file system refuses, and for a damaged table.
    """
    brokers = Brokers(client, timeout_s)
    cluster_id, _ = brokers.cluster()
    storage.make()
    with storage.lock(f"ingest-{cluster_id}"):
        ingestion = Ingestion(storage, client, brokers, cluster_id, timeout_s)
        ingestion.look()
        yield ingestion


@dataclass
class Ingestion:
    """One run, which holds the lock of its cluster."""

    storage: Storage
    client: ClientProperties = field(repr=False)
    brokers: Brokers
    cluster_id: str
    timeout_s: float
    topic_is_there: bool = True  # not before a group has been on the cluster
    _stored: Stored = _NOTHING
    _position: Log = _NOTHING.start  # where the next batch begins
    _batches: int = 0
    _rows: Counter[str] = field(default_factory=Counter)

    def total(self) -> Ingested:
        """Return what was written so far."""
        records = self._rows.total() - self._rows[INGEST_GAPS.name]
        return Ingested(cluster_id=self.cluster_id, batches=self._batches, records=records, rows=dict(self._rows))

    def look(self) -> Log:
        """Return the current log; SourceError if brokers lost what was read."""
        log = self.brokers.log()
        is_first = not self._stored.batches
        until = time.monotonic() + self.timeout_s
        # Brokers that start may not know the topic yet.
        while is_first and not log.ends and time.monotonic() < until and was_read(self.storage, self.cluster_id):
            time.sleep(_STEP_S)
            log = self.brokers.log()
        if is_first or log.ends.keys() - self._position.ends.keys():
            self._begin(log)
        # While brokers are upgraded, some return no id.
        log = log._replace(topic_id=log.topic_id or self._position.topic_id)
        read = self._position._replace(ends=self._stored.beyond(self._position.ends))
        log = plan.sound_log(read, self.brokers.log, first=log, patience_s=self.timeout_s)
        self.topic_is_there = bool(log.ends)
        return log

    def _begin(self, log: Log) -> None:
        """Find the position in the tables; a partition that is new is read from its first offset."""
        self._stored = read_position(self.storage, self.cluster_id, log.topic_id, sorted(log.ends))
        starts = self._stored.start.ends
        # What was deleted before a first batch is no gap, even if that batch was killed.
        earliest = self.brokers.earliest(sorted(log.ends)) if None in self._stored.batches.values() else {}
        ends = {each: max(starts.get(each, 0), earliest.get(each, 0)) for each in log.ends}
        self._position = Log(log.topic_id, ends, self._stored.start.epochs)

    def run(
        self,
        spark: SparkSession,
        *,
        continuous: bool = False,
        every_s: float = 30.0,
        records_per_batch: int | None = None,
        progress: Progress = ignore_progress,
        note: Callable[[str], None] = lambda _text: None,
        stop: Stop = lambda: False,
    ) -> Ingested:
        """Read what came since the last run; then return, or go on every so many seconds until `stop` says so.

        Without `records_per_batch` the backlog decides. `progress` is called with how many offsets were read, of how
        many. A continuous run notes that brokers are away, and goes on where it was; other errors are those of
        `prepared`. Batches that were committed stay, and the next run goes on there.
        """
        while not stop():
            try:
                self._read_all(spark, records_per_batch, progress, stop)
            except UnreachableError as error:
                if not continuous:
                    raise
                note(f"{error}; the next attempt is in {every_s:g} s")
            if not continuous:
                break
            until = time.monotonic() + every_s
            while (left := until - time.monotonic()) > 0 and not stop():
                time.sleep(min(left, _STEP_S))
        return self.total()

    def _read_all(self, spark: SparkSession, records_per_batch: int | None, progress: Progress, stop: Stop) -> None:
        """Read all that there is now, batch by batch."""
        log = self.look()
        cores = count_cores(spark)
        limit = records_per_batch or plan.automatic_limit(self._position.ends, log.ends, cores)
        begun = self._position.ends
        while backlog := plan.count_between(begun, log.ends):
            progress("ingesting", plan.count_between(begun, self._position.ends), backlog)
            if stop() or not plan.count_between(self._position.ends, log.ends):
                return
            ends = self._stored.beyond(plan.limited(self._position.ends, log.ends, limit))
            if not self._read_batch(spark, log._replace(ends=ends), cores, stop):
                return

    def _read_batch(self, spark: SparkSession, end: Log, cores: int, stop: Stop) -> bool:
        """Read a batch and commit it; return False, and leave everything as it is, if the run is to stop first."""
        ranges = plan.ranges_between(self._position.ends, end.ends, self._position.epochs)
        batch = Batch(
            name=new_batch_name("ingest", datetime.now(UTC)),
            data_dir=self.storage.address,
            client=self.client,
            timeout_s=self.timeout_s,
            cluster_id=self.cluster_id,
            tasks=plan.tasks_of(ranges, at_once=cores),
            ahead=self._stored.ahead,
        )
        try:
            files = run_batch(spark, batch, stop)
        except (KafkaGroupsError, OSError):
            # A service manager and a terminal signal the JVM and its workers, too: they may have ended before we look.
            if stop():
                return False
            raise
        if files is None:
            return False
        now = self.brokers.topic().id
        if now is not None and end.topic_id is not None and now != end.topic_id:  # records may be those of the new one
            raise plan.changed_topic(now)
        self._stored = commit_batch(self.storage, files, self.cluster_id, self._stored, end)
        self._position = end
        self._batches += 1
        for file in files:
            self._rows[file.table] += file.rows
        return True


def count_cores(spark: SparkSession) -> int:
    """Return how many tasks run at once, by the master's name; a cluster's, which has no number, counts as large."""
    # Not sparkContext.defaultParallelism, which Spark Connect does not have.
    found = re.fullmatch(r"local(?:\[([0-9]+|\*).*\])?", spark.conf.get("spark.master", None) or "")
    if found is None:
        return _OF_A_CLUSTER  # tasks that wait for a core cost little, and cores without a task are lost
    return (os.cpu_count() or 1) if found[1] == "*" else int(found[1] or 1)


def run_batch(spark: SparkSession, batch: Batch, stop: Stop) -> list[NewFile] | None:
    """Return the files that the tasks wrote, or raise what they raised; None, interrupting them, if `stop` says so."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    count = len(batch.tasks)
    try:
        with ThreadPoolExecutor(max_workers=1) as pool:
            files = spark.range(0, count, 1, count).mapInArrow(partial(run_tasks, batch), _FILE)
            rows = pool.submit(files.collect)
            is_stopped = False
            while not wait([rows], _STEP_S).done:
                is_stopped = is_stopped or stop()
                if is_stopped:
                    # Again and again: while Spark plans, there is no job to interrupt yet.
                    spark.interruptAll()
            return None if is_stopped else [NewFile(**row.asDict()) for row in rows.result()]
    except (PySparkException, Py4JError) as error:
        raise error_in(str(error)) from None


def run_tasks(batch: Batch, numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Run the tasks with these numbers, and yield what is known of the files that they wrote.

    A task that fails leaves no file; one that dies leaves files that are in no list.
    """
    for number in (number for rows in numbers for number in rows["id"].to_pylist()):
        with new_writer(batch.data_dir, batch.name) as writer:
            for rows in read_rows(batch.client, batch.timeout_s, batch.cluster_id, batch.tasks[number]):
                for table, part in split_records(rows):
                    writer.write(table, _without(part, batch.ahead.get(table.name, {})))
            files = writer.close()
        if files:
            yield pa.RecordBatch.from_pylist(list(map(asdict, files)))


def split_records(batch: pa.RecordBatch) -> Iterator[tuple[Table, pa.RecordBatch]]:
    """Yield rows of columns.RECORD as rows of the tables that they belong to; tables without a row are left out."""
    for kind, (table, inner) in _TABLES.items():
        wanted = pc.equal(batch["kind"], kind)
        if wanted.true_count:
            rows = batch if wanted.true_count == batch.num_rows else batch.filter(wanted)
            known = dict(zip(rows.schema.names, rows.columns, strict=True))
            if inner:
                known |= dict(zip((field.name for field in rows[inner].type), rows[inner].flatten(), strict=True))
            known["found_at"] = rows["record_time"]
            known["commit_time"] = pc.coalesce(rows["commit_time"], rows["record_time"])
            yield table, shaped(table.arrow(), rows.num_rows, known, {"origin": "topic"})


def _without(rows: pa.RecordBatch, ahead: Offsets) -> pa.RecordBatch:
    """Return the rows, which are of one source partition, from its offset in `ahead` on."""
    first = ahead.get(rows["source_partition"][0].as_py(), 0)
    return rows.filter(pc.greater_equal(rows["source_offset"], first)) if first else rows
