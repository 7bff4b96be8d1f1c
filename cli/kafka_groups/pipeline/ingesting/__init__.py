"""`__consumer_offsets` into tables, from where the last run ended: Spark's checkpoint says where that was.

The tasks write the files; Spark moves only a list of them. What a batch wrote is published under a name made of the
checkpoint and the batch's number, so a batch that is run again takes its own place, and no record is there twice.

publishing.py  what Spark calls with each batch, and what a run has written so far
failing.py     what Spark throws, as our errors
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from kafka_groups.errors import KafkaGroupsError, UnreachableError, WorkerLateError
from kafka_groups.pipeline.ingesting.failing import error_in, told_in_python
from kafka_groups.pipeline.ingesting.publishing import Ingested, Publisher, Tally
from kafka_groups.pipeline.session.retrying import retry_until
from kafka_groups.pipeline.source.brokers import Brokers
from kafka_groups.pipeline.source.continuity import sound_log
from kafka_groups.pipeline.source.options import AUTOMATIC, CLIENT_PREFIX, TIMEOUT_S
from kafka_groups.pipeline.source.planning import Log, offsets_of, ranges_between, require_same_cluster
from kafka_groups.pipeline.storage import Checkpoint, Storage
from kafka_groups.pipeline.storage.checkpoints import planned_position, position_after

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["Ingested", "Ingestion", "error_in", "ingest", "prepared"]

_STEP_S: Final = 0.5  # how often Ctrl-C and `stop` are looked at
_TRIES: Final = 4  # to start a worker on a busy machine; a run without an end tries for ever
_OF_A_CLUSTER: Final = 64
_ABANDONED_S: Final = 24 * 3600.0  # files of attempts that died are deleted by a later run

Progress = Callable[[str, int, int], None]


def _never() -> bool:
    return False


def _nothing(*_: object) -> None:
    pass


def ingest(spark: SparkSession, storage: Storage, client: Mapping[str, str], **how: Any) -> Ingested:
    """`prepared` and `Ingestion.run` at once, for who has a session already: `timeout_s`, and what `run` takes."""
    with prepared(storage, client, timeout_s=how.pop("timeout_s", TIMEOUT_S)) as ingestion:
        return ingestion.run(spark, **how)


@contextmanager
def prepared(storage: Storage, client: Mapping[str, str], *, timeout_s: float = TIMEOUT_S) -> Iterator[Ingestion]:
    """All that an ingest needs but Spark: brokers that answer, nobody else at it, room, a checkpoint that fits them.

    `client` are properties of librdkafka; every question to the brokers has the timeout, and every wait for records.
    SourceError for what the brokers refuse, if they are another cluster than the checkpoint's, and if they lost what
    was read; UnreachableError if they do not answer. StorageError for what the file system refuses, and if a file of
    the checkpoint is damaged.
    """
    brokers = Brokers(client, timeout_s)
    cluster_id = brokers.cluster_id()
    storage.make()
    with storage.lock(f"ingest-{cluster_id}"), _staging(storage) as stage:
        ingestion = Ingestion(storage, client, brokers, Tally(storage=storage, cluster_id=cluster_id), stage, timeout_s)
        ingestion.look()
        yield ingestion


class Ingestion:
    """One run, which holds the lock of its cluster. `topic_is_there`: not before a group has been on the cluster."""

    def __init__(
        self,
        storage: Storage,
        client: Mapping[str, str],
        brokers: Brokers,
        tally: Tally,
        stage: str,
        timeout_s: float,
    ) -> None:
        self._storage = storage
        self._client = client
        self._brokers = brokers
        self._tally = tally
        self._stage = stage
        self._timeout_s = timeout_s
        self._checkpoint = storage.checkpoint(tally.cluster_id)
        self.topic_is_there = True
        self._begun: dict[int, int] | None = None  # where this run began
        self._backlog = 0  # offsets that there were to read then
        self._told: int | None = None

    def total(self) -> Ingested:
        """What was written so far; StorageError if that cannot be read."""
        return self._tally.total()

    def look(self) -> None:
        """Raise what `prepared` promises of a damaged checkpoint, and if brokers lost what it says was read."""
        position = planned_position(self._storage.place, self._tally.cluster_id)
        log = self._log()
        if position is not None:
            require_same_cluster(position, self._tally.cluster_id)
            log = sound_log(position, self._log, first=log, patience_s=self._timeout_s)
        self.topic_is_there = bool(log.ends)
        if self._begun is None:
            self._begun = self._brokers.earliest(sorted(log.ends)) if position is None else offsets_of(position)
            self._backlog = sum(one.end - one.start for one in ranges_between(self._begun, log.ends))

    def run(
        self,
        spark: SparkSession,
        *,
        continuous: bool = False,
        every_s: float = 30.0,
        records_per_batch: int | None = None,
        progress: Progress = _nothing,
        note: Callable[[str], None] = _nothing,
        stop: Callable[[], bool] = _never,
    ) -> Ingested:
        """Read what came since the last run; then return, or go on every so many seconds until `stop` says so.

        Without `records_per_batch` the backlog decides. `progress` is told how many offsets were read, and how many
        there were to read. A continuous run outlives brokers that are away: it says so by `note`, and goes on from the
        checkpoint. Else it is UnreachableError; SourceError and StorageError as `prepared` says. Spark's workers may be
        late (WorkerLateError) some times. Batches that were published stay, and the next run goes on there.
        """
        retry_until(spark, stop)
        trigger: dict[str, Any] = {"processingTime": f"{every_s} seconds"} if continuous else {"availableNow": True}
        is_looked_at, late = True, 0
        while not stop():
            try:
                if not is_looked_at:
                    self.look()
                self._read(spark, trigger, records_per_batch, progress, stop)
                break
            except UnreachableError as error:
                if not continuous:
                    raise
                note(f"{error}; the next attempt is in {every_s:g} s")
            except WorkerLateError:
                late += 1
                if late == _TRIES and not continuous:
                    raise
                note("a Python worker of Spark took longer than 10 s to start; retrying")
                continue
            is_looked_at = False
            _pause(every_s, stop)
        self._tell(progress)
        return self.total()

    def _read(
        self,
        spark: SparkSession,
        trigger: Mapping[str, Any],
        records_per_batch: int | None,
        progress: Progress,
        stop: Callable[[], bool],
    ) -> None:
        """One query, until it ends or is to end."""
        if self._backlog:
            progress("ingesting", 0, self._backlog)
        stream = self._stream(spark, records_per_batch)
        # A whole path: a Spark Connect server has a working directory of its own.
        publisher = Publisher(self._storage.place.root, self._checkpoint, self._tally)
        query = _start(stream, publisher, self._checkpoint, trigger)
        with _ending(query, stop):
            _wait(query, stop, lambda: self._tell(progress))

    def _stream(self, spark: SparkSession, records_per_batch: int | None) -> DataFrame:
        from kafka_groups.pipeline.source.datasource import KafkaGroupsSource

        spark.dataSource.register(KafkaGroupsSource)
        reader = spark.readStream.format(KafkaGroupsSource.name())
        for name, value in self._client.items():
            reader = reader.option(f"{CLIENT_PREFIX}{name}", value)
        reader = reader.option("stage", self._stage).option("minPartitions", _cores(spark))
        reader = reader.option("timeout", self._timeout_s)
        with told_in_python():
            return reader.option("maxRecordsPerBatch", records_per_batch or AUTOMATIC).load()

    def _tell(self, progress: Progress) -> None:
        """How far the batches have come that were published, in offsets."""
        number = self._tally.last()
        if number is None or number == self._told:
            return
        self._told = number
        position = position_after(self._storage.place, self._tally.cluster_id, number)
        if position is not None:
            done = sum(one.end - one.start for one in ranges_between(self._begun or {}, offsets_of(position)))
            # More comes while it reads.
            progress("ingesting", done, max(done, self._backlog))

    def _log(self) -> Log:
        topic = self._brokers.topic()
        return self._brokers.log(topic.partitions, topic.id)


@contextmanager
def _staging(storage: Storage) -> Iterator[str]:
    """A directory for this run's files; those of runs that died long ago are deleted meanwhile."""
    storage.clean_staging(_ABANDONED_S)
    stage = storage.stage()
    try:
        yield stage
    finally:
        storage.place.delete(stage)


def _cores(spark: SparkSession) -> int:
    """How many tasks run at once, as the master's name tells; a cluster's, which does not, is taken for a large one."""
    # Not sparkContext.defaultParallelism, which Spark Connect does not have.
    master = spark.conf.get("spark.master", None) or ""
    found = re.fullmatch(r"local\[(\d+|\*).*\]", master)
    if found is None:
        # Tasks that wait for a core cost little, and cores without a task are lost.
        return 1 if master == "local" else _OF_A_CLUSTER
    return (os.cpu_count() or 1) if found[1] == "*" else int(found[1])


def _start(
    stream: DataFrame, publisher: Publisher, checkpoint: Checkpoint, trigger: Mapping[str, Any]
) -> StreamingQuery:
    writer = stream.writeStream.foreachBatch(publisher).option("checkpointLocation", checkpoint.location)
    with told_in_python():
        return writer.trigger(**trigger).start()


def _wait(query: StreamingQuery, stop: Callable[[], bool], look: Callable[[], None]) -> None:
    while not query.awaitTermination(_STEP_S):  # type: ignore[arg-type]  # seconds, which may be fractions
        look()
        if stop():
            return


def _pause(seconds: float, stop: Callable[[], bool]) -> None:
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0 and not stop():
        time.sleep(min(left, _STEP_S))


@contextmanager
def _ending(query: StreamingQuery, stop: Callable[[], bool]) -> Iterator[None]:
    """The query is stopped in the end. What fails once `stop` says so was asked for, and is no error.

    A service manager and a terminal signal the JVM and its workers, too: they may be gone before we look.
    """
    try:
        try:
            with told_in_python():
                yield
        finally:
            with told_in_python():
                query.stop()
    except (KafkaGroupsError, OSError):
        if not stop():
            raise
