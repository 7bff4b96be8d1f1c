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
    _table_position: TablePosition = NO_TABLE_POSITION
    # The position where the next batch begins.
    _position: Position = NO_TABLE_POSITION.start
    _batch_count: int = 0
    _row_counts: Counter[str] = field(default_factory=Counter)

    def result(self) -> IngestResult:
        """Return what this run has written."""
        records = self._row_counts.total() - self._row_counts[INGEST_GAPS.name]
        return IngestResult(
            cluster_id=self.cluster_id, batches=self._batch_count, records=records, rows=dict(self._row_counts)
        )

    def request_end(self) -> Position:
        """Return the current end of the topic. The first call also sets the position where the first batch begins.

        Raises SourceError if brokers lost records that were read.
        """
        is_first_call = not self._table_position.batch_numbers
        end = self._wait_for_topic() if is_first_call else self.brokers.end_position()
        has_new_partitions = bool(end.next_offsets.keys() - self._position.next_offsets.keys())
        if is_first_call or has_new_partitions:
            self._set_position(end)
        # During an upgrade of the brokers, some of them return no topic id.
        end = end._replace(topic_id=end.topic_id or self._position.topic_id)
        # Some tables may have records after the position.
        read_until = self._position._replace(next_offsets=self._table_position.extend_ends(self._position.next_offsets))
        end = wait_for_end(read_until, self.brokers.end_position, first_end=end, timeout_s=self.timeout_s)
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
        self._table_position = read_position(self.storage, self.cluster_id, end.topic_id, partitions)
        # Records that were deleted before the first batch are not a data gap, even if that batch was killed.
        is_before_first_batch = None in self._table_position.batch_numbers.values()
        log_starts = self.brokers.log_start_offsets(partitions) if is_before_first_batch else {}
        start_offsets: dict[int, int] = {}
        for partition in end.next_offsets:
            start_offsets[partition] = max(
                self._table_position.start.next_offsets.get(partition, 0), log_starts.get(partition, 0)
            )
        self._position = Position(end.topic_id, start_offsets, self._table_position.start.leader_epochs)

    def run(
        self,
        spark: SparkSession,
        *,
        continuous: bool = False,
        interval_s: float = 30.0,
        records_per_batch: int | None = None,
        progress: Progress = ignore_progress,
        print_note: Callable[[str], None] = lambda _text: None,
        should_stop: ShouldStop = lambda: False,
    ) -> IngestResult:
        """Read the records since the last run, and return what was written.

        A continuous run reads to the end, waits `interval_s` seconds, and reads again until `should_stop` returns true.
        While brokers do not respond, it passes a sentence to `print_note` after each attempt. `records_per_batch` is a
        maximum; if it is None, the backlog decides. `progress` is called with the numbers of offsets read and to read.

        Raises the errors of `open_ingestion`, and PipelineError if Spark fails. Batches that were committed before the
        error stay in the tables, and the next run continues after them.
        """
        while not should_stop():
            try:
                self._read_to_end(spark, records_per_batch, progress, should_stop)
            except UnreachableError as error:
                if not continuous:
                    raise
                print_note(f"{error}; the next attempt is in {interval_s:g} s")
            if not continuous:
                break
            _pause(interval_s, should_stop)
        return self.result()

    def _read_to_end(
        self, spark: SparkSession, records_per_batch: int | None, progress: Progress, should_stop: ShouldStop
    ) -> None:
        """Read up to the current end of the topic, batch by batch, or until `should_stop` returns true."""
        end = self.request_end()
        cores = count_cores(spark)
        start_offsets = self._position.next_offsets
        max_offsets = records_per_batch or range_plan.default_batch_size(start_offsets, end.next_offsets, cores)
        backlog_size = range_plan.count_between(start_offsets, end.next_offsets)
        if not backlog_size:
            return
        progress("ingesting", 0, backlog_size)
        while range_plan.count_between(self._position.next_offsets, end.next_offsets) and not should_stop():
            limited_ends = range_plan.limit_ends(self._position.next_offsets, end.next_offsets, max_offsets)
            batch_ends = self._table_position.extend_ends(limited_ends)
            if not self._read_batch(spark, end._replace(next_offsets=batch_ends), cores, should_stop):
                return
            progress("ingesting", range_plan.count_between(start_offsets, self._position.next_offsets), backlog_size)

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
            offsets_ahead=self._table_position.offsets_ahead,
        )

    def _check_topic_id(self, end: Position) -> None:
        """Raise SourceError if the topic was recreated during a batch, which may have records of the new topic."""
        topic_id = self.brokers.topic().id
        if topic_id is not None and end.topic_id is not None and topic_id != end.topic_id:
            raise topic_changed_error(topic_id)

    def _commit(self, files: list[NewFile], end: Position) -> None:
        """Commit the files of a batch that ended at `end`, and count them."""
        self._table_position = commit_batch(self.storage, files, self.cluster_id, self._table_position, end)
        self._position = end
        self._batch_count += 1
        for file in files:
            self._row_counts[file.table] += file.rows


def _pause(seconds: float, should_stop: ShouldStop) -> None:
    """Wait for some seconds, or until `should_stop` returns true."""
    deadline = time.monotonic() + seconds
    remaining_s = seconds
    while remaining_s > 0 and not should_stop():
        time.sleep(min(remaining_s, _PAUSE_S))
        remaining_s = deadline - time.monotonic()
