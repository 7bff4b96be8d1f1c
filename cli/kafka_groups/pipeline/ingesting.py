"""`__consumer_offsets` into tables, from where the last run ended: Spark's checkpoint says where that was.

The tasks write the files; Spark moves only a list of them. What a batch wrote is published under a name made of the
checkpoint and the batch's number, so a batch that is run again takes its own place, and no record is there twice.
"""

from __future__ import annotations

import os
import re
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from kafka_groups import errors
from kafka_groups.errors import KafkaGroupsError, PipelineError, StorageError
from kafka_groups.pipeline.source.brokers import Brokers
from kafka_groups.pipeline.source.options import AUTOMATIC, CLIENT_PREFIX, TIMEOUT_S
from kafka_groups.pipeline.storage import Checkpoint, Storage, open_storage
from kafka_groups.pipeline.storage.staging import StagedFile
from kafka_groups.pipeline.tables import INGEST_GAPS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_STEP_S: Final = 0.5  # how often Ctrl-C and `stop` are looked at
_ABANDONED_S: Final = 24 * 3600.0  # files of attempts that died are deleted by a later run
_OUR_ERROR: Final = re.compile(r"kafka_groups\.errors\.(\w+): (.+)")
# "ValueError: sentence", the last line of a traceback; Spark's own classes begin with org.apache.spark.
_PYTHON_ERROR: Final = re.compile(r"^(?:pyspark\.[\w.]+\.)?(\w+(?:Error|Exception)): (.+)$", re.MULTILINE)
_FULL: Final = "java.io.IOException: No space left on device"

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, kw_only=True)
class Ingested:
    """What one run brought in; `records` counts those of the topic, so not the rows of ingest_gaps."""

    cluster_id: str
    batches: int
    records: int
    rows: dict[str, int]  # by table


def _never() -> bool:
    return False


def ingest(  # noqa: PLR0913 as the command's options
    spark: SparkSession,
    storage: Storage,
    client: Mapping[str, str],
    *,
    continuous: bool = False,
    every_s: float = 30.0,
    records_per_batch: int | None = None,
    timeout_s: float = TIMEOUT_S,
    progress: Progress | None = None,
    stop: Callable[[], bool] = _never,
) -> Ingested:
    """Read what came since the last run; then return, or go on every so many seconds until `stop` says so.

    `client` are properties of librdkafka; without `records_per_batch` the backlog decides. `timeout_s` is for the
    brokers' first answer, later ones have a minute. `progress` is told the cluster's id, batches and records so far,
    once for each batch. SourceError for what the brokers refuse or if they are another cluster than the checkpoint's,
    StorageError for what the file system refuses; batches that were published stay, and the next run goes on there.
    """
    cluster_id = Brokers(client, timeout_s).cluster_id()
    with storage.lock(f"ingest-{cluster_id}"), _staging(storage) as stage:
        checkpoint = storage.checkpoint(cluster_id)
        tally = _Tally(storage, f"ingest-{cluster_id}", cluster_id)
        query = _start(
            _stream(spark, client, stage, records_per_batch),
            # A whole path: a Spark Connect server has a working directory of its own.
            _Publisher(storage.place.uri(storage.place.root), checkpoint, tally.name, tally.run),
            checkpoint,
            {"processingTime": f"{every_s} seconds"} if continuous else {"availableNow": True},
        )
        try:
            _wait(query, stop, lambda: tally.tell(progress))
        finally:
            query.stop()
        tally.tell(progress)
        return tally.total()


class _Publisher:
    """What Spark calls with each batch's list of files. It may run in another process, so it holds names only."""

    def __init__(self, into: str, checkpoint: Checkpoint, note: str, run: str) -> None:
        self.into = into
        self.writer = checkpoint.writer
        self.note = note
        self.run = run

    def __call__(self, manifest: DataFrame, number: int) -> None:
        files = [StagedFile(row["table"], row["date"], row["path"], row["rows"]) for row in manifest.collect()]
        storage = open_storage(self.into)
        storage.publish(f"{self.writer}-{number:08d}", files)
        self._add(storage, files)

    def _add(self, storage: Storage, files: list[StagedFile]) -> None:
        before = storage.note(self.note)
        same_run = before.get("run") == self.run
        rows = Counter(before["rows"] if same_run else {})
        for file in files:
            rows[file.table] += file.rows
        batches = (before["batches"] if same_run else 0) + 1
        storage.save_note(self.note, {"run": self.run, "batches": batches, "rows": dict(rows)})


class _Tally:
    """What this run has published, as told by the note that the publisher writes, wherever it runs."""

    def __init__(self, storage: Storage, name: str, cluster_id: str) -> None:
        self.name = name
        self.run = uuid.uuid4().hex
        self._storage = storage
        self._cluster_id = cluster_id
        self._told = 0

    def total(self) -> Ingested:
        note = self._storage.note(self.name)
        if note.get("run") != self.run:
            note = {"batches": 0, "rows": {}}
        rows: dict[str, int] = note["rows"]
        return Ingested(
            cluster_id=self._cluster_id,
            batches=note["batches"],
            records=sum(rows.values()) - rows.get(INGEST_GAPS.name, 0),
            rows=rows,
        )

    def tell(self, progress: Progress | None) -> None:
        if progress is None:
            return
        total = self.total()
        if total.batches > self._told:
            self._told = total.batches
            progress(total.cluster_id, total.batches, total.records)


@contextmanager
def _staging(storage: Storage) -> Iterator[str]:
    """A directory for this run's files; those of runs that died long ago are deleted meanwhile."""
    storage.clean_staging(_ABANDONED_S)
    stage = storage.stage()
    try:
        yield stage
    finally:
        storage.place.delete(storage.place.inside(stage))


def _stream(spark: SparkSession, client: Mapping[str, str], stage: str, records_per_batch: int | None) -> DataFrame:
    from kafka_groups.pipeline.source.datasource import KafkaGroupsSource

    spark.dataSource.register(KafkaGroupsSource)
    reader = spark.readStream.format(KafkaGroupsSource.name())
    for name, value in client.items():
        reader = reader.option(f"{CLIENT_PREFIX}{name}", value)
    reader = reader.option("stage", stage).option("minPartitions", _cores(spark))
    with _told():
        return reader.option("maxRecordsPerBatch", records_per_batch or AUTOMATIC).load()


def _cores(spark: SparkSession) -> int:
    """How many tasks run at once, as far as the master's name tells; 1 where it does not."""
    # Not sparkContext.defaultParallelism, which Spark Connect does not have.
    found = re.fullmatch(r"local\[(\d+|\*).*\]", spark.conf.get("spark.master", None) or "")
    if found is None:
        return 1
    return (os.cpu_count() or 1) if found[1] == "*" else int(found[1])


def _start(stream: DataFrame, publisher: _Publisher, checkpoint: Checkpoint, trigger: dict[str, Any]) -> StreamingQuery:
    writer = stream.writeStream.foreachBatch(publisher).option("checkpointLocation", checkpoint.location)
    with _told():
        return writer.trigger(**trigger).start()


def _wait(query: StreamingQuery, stop: Callable[[], bool], look: Callable[[], None]) -> None:
    with _told():
        while not query.awaitTermination(_STEP_S):  # type: ignore[arg-type]  # seconds, which may be fractions
            look()
            if stop():
                return


@contextmanager
def _told() -> Iterator[None]:
    """What Spark throws becomes the error that was raised in Python at its bottom, without any trace."""
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]
    from pyspark.errors import PySparkException

    try:
        yield
    except (PySparkException, Py4JError) as error:
        raise error_in(str(error)) from None


def error_in(text: str) -> KafkaGroupsError:
    """The error that a text of Spark's tells of: ours as it was raised, others by their last line."""
    if ours := _OUR_ERROR.findall(text):
        name, sentence = ours[-1]
        kind = getattr(errors, name, PipelineError)
        return kind(sentence.strip()) if issubclass(kind, PipelineError) else PipelineError(sentence.strip())
    if _FULL in text:
        return StorageError(
            "Cannot write how far was read: there is no space left. Free some, and run the command again."
        )
    if python := _PYTHON_ERROR.findall(text):
        name, sentence = python[-1]
        return PipelineError(f"Spark could not go on: {name}: {sentence.strip()}")
    return PipelineError(
        f"Spark could not go on: {text.strip().splitlines()[0] if text.strip() else 'it says nothing'}"
    )
