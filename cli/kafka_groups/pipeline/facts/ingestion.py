"""An ingest: it writes the new records of `__consumer_offsets` to the tables, from where the last run ended.

The logs of the tables have the position of the last run. Each batch is one Spark job, and then one commit of each table
with its rows and the position. A killed run neither loses nor repeats a record.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from kafka_groups.errors import KafkaGroupsError, UnreachableError
from kafka_groups.pipeline.facts.ingest_tasks import Batch, ShouldStop, count_cores, run_batch
from kafka_groups.pipeline.facts.source import range_plan
from kafka_groups.pipeline.facts.source.brokers import DEFAULT_TIMEOUT_S, Brokers
from kafka_groups.pipeline.facts.source.continuity import topic_changed_error, wait_for_end
from kafka_groups.pipeline.facts.source.position import Position
from kafka_groups.pipeline.facts.source.table_positions import (
    NO_TABLE_POSITION,
    TablePosition,
    commit_batch,
    read_position,
    was_read,
)
from kafka_groups.pipeline.store import NewFile, Storage
from kafka_groups.pipeline.store.data_files import new_batch_name
from kafka_groups.pipeline.tables import INGEST_GAPS
from kafka_groups.progress import Progress, ignore_progress
from kafka_groups.settings.librdkafka import ClientProperties

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_PAUSE_S: Final = 0.5  # The time between two checks of `should_stop` or of the topic.


@dataclass(frozen=True, kw_only=True)
class IngestResult:
    """The result of a run: its numbers of batches and of records read, and the number of written rows by table name.

    The rows of ingest_gaps do not count as records.
    """

    cluster_id: str
    batches: int
    records: int
    rows: dict[str, int]


def ingest(
    spark: SparkSession,
    storage: Storage,
    client: ClientProperties,
    *,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    **run_options: Any,
) -> IngestResult:
    """Ingest with an existing Spark session, and return what was written.

    This is `open_ingestion` and `Ingestion.run` in one call; `run_options` are the keyword arguments of the latter.
    """
    with open_ingestion(storage, client, timeout_s=timeout_s) as ingestion:
        return ingestion.run(spark, **run_options)


@contextmanager
def open_ingestion(
    storage: Storage, client: ClientProperties, *, timeout_s: float = DEFAULT_TIMEOUT_S
) -> Iterator[Ingestion]:
    """Yield an ingest that is ready to run, before Spark starts: the brokers have all records after the position.

    The lock of the cluster is held until the block ends. `client` are properties of librdkafka. The timeout limits each
    request to the brokers, and each wait for records.

    Raises SourceError if the brokers refuse a request, or lost records that were read. Raises UnreachableError if they
    do not respond. Raises StorageError if the file system refuses an operation, or a table is damaged.
    """
    brokers = Brokers(client, timeout_s)
    cluster_id, _ = brokers.cluster()
    storage.make()
    with storage.lock(f"ingest-{cluster_id}"):
        ingestion = Ingestion(storage, client, brokers, cluster_id, timeout_s)
        ingestion.request_end()
        yield ingestion


@dataclass
class Ingestion:
    """One run of an ingest. The lock of its cluster is held.

    `topic_exists` is false until the first group has been on the cluster.
    """

    storage: Storage
    client: ClientProperties = field(repr=False)
    brokers: Brokers
    cluster_id: str
    timeout_s: float
    topic_exists: bool = True
    # Which records the tables have.
    _stored: TablePosition = NO_TABLE_POSITION
    # The position where the next batch begins.
    _position: Position = NO_TABLE_POSITION.start
    _batches: int = 0
    _rows: Counter[str] = field(default_factory=Counter)

    def result(self) -> IngestResult:
        """Return what this run has written."""
        records = self._rows.total() - self._rows[INGEST_GAPS.name]
        return IngestResult(cluster_id=self.cluster_id, batches=self._batches, records=records, rows=dict(self._rows))

    def request_end(self) -> Position:
        """Return the current end of the topic. The first call also sets the position where the first batch begins.

        Raises SourceError if brokers lost records that were read.
        """
        is_first_call = not self._stored.batches
        end = self._wait_for_topic() if is_first_call else self.brokers.end_position()
        has_new_partitions = bool(end.next_offsets.keys() - self._position.next_offsets.keys())
        if is_first_call or has_new_partitions:
            self._set_position(end)
        # During an upgrade of the brokers, some of them return no topic id.
        end = end._replace(topic_id=end.topic_id or self._position.topic_id)
        # Some tables may have records after the position.
        read = self._position._replace(next_offsets=self._stored.extend_ends(self._position.next_offsets))
        end = wait_for_end(read, self.brokers.end_position, first=end, timeout_s=self.timeout_s)
        self.topic_exists = bool(end.next_offsets)
        return end

    def _wait_for_topic(self) -> Position:
        """Return the end of the topic; it has no partitions if the topic does not exist.

        If the topic was read before, brokers may have just started, and not know it yet. Then it is requested again
        until the timeout.
        """
        end = self.brokers.end_position()
        deadline = time.monotonic() + self.timeout_s
        while not end.next_offsets and time.monotonic() < deadline and was_read(self.storage, self.cluster_id):
            time.sleep(_PAUSE_S)
            end = self.brokers.end_position()
        return end

    def _set_position(self, end: Position) -> None:
        """Read the position from the tables. A partition that they lack begins at its log start offset."""
        partitions = sorted(end.next_offsets)
        self._stored = read_position(self.storage, self.cluster_id, end.topic_id, partitions)
        # Records that were deleted before the first batch are not a data gap, even if that batch was killed.
        is_before_first_batch = None in self._stored.batches.values()
        log_starts = self.brokers.earliest(partitions) if is_before_first_batch else {}
        starts: dict[int, int] = {}
        for partition in end.next_offsets:
            starts[partition] = max(self._stored.start.next_offsets.get(partition, 0), log_starts.get(partition, 0))
        self._position = Position(end.topic_id, starts, self._stored.start.leader_epochs)

    def run(
        self,
        spark: SparkSession,
        *,
        continuous: bool = False,
        every_s: float = 30.0,
        records_per_batch: int | None = None,
        progress: Progress = ignore_progress,
        note: Callable[[str], None] = lambda _text: None,
        stop: ShouldStop = lambda: False,
    ) -> IngestResult:
        """Read the records since the last run, and return what was written.

        A continuous run reads to the end, waits `every_s` seconds, and reads again until `stop` returns true. While
        brokers do not respond, it passes a sentence to `note` after each attempt. `records_per_batch` is a maximum; if
        it is None, the backlog decides. `progress` is called with the numbers of offsets read and to read.

        Raises the errors of `open_ingestion`, and PipelineError if Spark fails. Batches that were committed before the
        error stay in the tables, and the next run continues after them.
        """
        while not stop():
            try:
                self._read_to_end(spark, records_per_batch, progress, stop)
            except UnreachableError as error:
                if not continuous:
                    raise
                note(f"{error}; the next attempt is in {every_s:g} s")
            if not continuous:
                break
            _pause(every_s, stop)
        return self.result()

    def _read_to_end(
        self, spark: SparkSession, records_per_batch: int | None, progress: Progress, should_stop: ShouldStop
    ) -> None:
        """Read up to the current end of the topic, batch by batch, or until `should_stop` returns true."""
        end = self.request_end()
        cores = count_cores(spark)
        start = self._position.next_offsets
        max_offsets = records_per_batch or range_plan.default_batch_size(start, end.next_offsets, cores)
        backlog = range_plan.count_between(start, end.next_offsets)
        if not backlog:
            return
        progress("ingesting", 0, backlog)
        while range_plan.count_between(self._position.next_offsets, end.next_offsets) and not should_stop():
            limited_ends = range_plan.limit_ends(self._position.next_offsets, end.next_offsets, max_offsets)
            batch_ends = self._stored.extend_ends(limited_ends)
            if not self._read_batch(spark, end._replace(next_offsets=batch_ends), cores, should_stop):
                return
            progress("ingesting", range_plan.count_between(start, self._position.next_offsets), backlog)

    def _read_batch(self, spark: SparkSession, end: Position, cores: int, should_stop: ShouldStop) -> bool:
        """Read a batch up to `end`, and commit it. Return false, without a commit, if `should_stop` returned true."""
        batch = self._plan_batch(end, cores)
        try:
            files = run_batch(spark, batch, should_stop)
        except (KafkaGroupsError, OSError):
            # A service manager or a terminal sends its signal to the JVM and its workers, too. They may have ended
            # before this process checks `should_stop`.
            if should_stop():
                return False
            raise
        if files is None:
            return False
        self._check_topic_id(end)
        self._commit(files, end)
        return True

    def _plan_batch(self, end: Position, cores: int) -> Batch:
        ranges = range_plan.ranges_between(self._position.next_offsets, end.next_offsets, self._position.leader_epochs)
        return Batch(
            name=new_batch_name("ingest", datetime.now(UTC)),
            data_dir=self.storage.address,
            client=self.client,
            timeout_s=self.timeout_s,
            cluster_id=self.cluster_id,
            tasks=range_plan.split_into_tasks(ranges, cores),
            ahead=self._stored.ahead,
        )

    def _check_topic_id(self, end: Position) -> None:
        """Raise SourceError if the topic was recreated during a batch, which may have records of the new topic."""
        topic_id = self.brokers.topic().id
        if topic_id is not None and end.topic_id is not None and topic_id != end.topic_id:
            raise topic_changed_error(topic_id)

    def _commit(self, files: list[NewFile], end: Position) -> None:
        """Commit the files of a batch that ended at `end`, and count them."""
        self._stored = commit_batch(self.storage, files, self.cluster_id, self._stored, end)
        self._position = end
        self._batches += 1
        for file in files:
            self._rows[file.table] += file.rows


def _pause(seconds: float, should_stop: ShouldStop) -> None:
    """Wait for some seconds, or until `should_stop` returns true."""
    deadline = time.monotonic() + seconds
    rest_s = seconds
    while rest_s > 0 and not should_stop():
        time.sleep(min(rest_s, _PAUSE_S))
        rest_s = deadline - time.monotonic()
