"""The classes that Spark calls. They hold options only; requests are sent where Spark runs them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.decode import partition_of
from kafka_groups.pipeline.decode.columns import RECORD
from kafka_groups.pipeline.schemas import spell_type
from kafka_groups.pipeline.source.brokers import Brokers
from kafka_groups.pipeline.source.log_truncation import sound_log
from kafka_groups.pipeline.source.options import LATEST, SourceOptions, read_options
from kafka_groups.pipeline.source.plan import (
    Log,
    Position,
    Range,
    automatic_limit,
    chosen,
    epochs_of,
    limited,
    offsets_of,
    position_of,
    ranges_between,
    require_same_cluster,
    started,
    tasks_of,
)
from kafka_groups.pipeline.source.task_reader import MANIFEST, read_rows, write_files

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


class KafkaGroupsSource(DataSource):
    """The records of `__consumer_offsets`, decoded: format "kafka_groups", for spark.read and spark.readStream.

    Options: kafka.<property of librdkafka>, startingOffsets and endingOffsets (earliest, latest, or JSON such as
    {"0": 23}; -2 is earliest, -1 latest; no start beyond the end, and no end for a stream), group (that one only, from
    its partition only), maxRecordsPerBatch (a number, or auto: some millions, and at most 50 batches for what is there
    at the start), recordsPerTask, minPartitions (tasks that run at once: their number is a multiple of it), timeout
    (seconds without any progress). The rest belong to an ingest: with dataDir and batch, the tasks write files into the
    directories of the tables, and the rows are a list of those files; leaderEpochs, skippedOffsets.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name that Spark knows it by."""
        return "kafka_groups"

    def schema(self) -> str:
        """Return columns.RECORD, or those of the list of files."""
        wanted = MANIFEST if read_options(self.options).data_dir else RECORD
        return ", ".join(f"`{field.name}` {spell_type(field.type)}" for field in wanted)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader of all that there is now."""
        return _BatchReader(read_options(self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return a reader of what came since the checkpoint. SourceError with endingOffsets: a stream has no end."""
        options = read_options(self.options)
        if options.ending is not None:
            raise SourceError("the option endingOffsets is for spark.read, and a stream has no end; remove the option")
        return _StreamReader(options)


class _Task(InputPartition):
    """The ranges that one task reads."""

    def __init__(self, cluster_id: str, ranges: tuple[Range, ...]) -> None:
        super().__init__((cluster_id, [tuple(wanted) for wanted in ranges]))
        self.cluster_id = cluster_id
        self.ranges = ranges


class _Reading:
    """What both readers do."""

    def __init__(self, options: SourceOptions) -> None:
        self.options = options

    def read(self, partition: InputPartition | None) -> Iterator[pa.RecordBatch]:
        """Run a task."""
        if not isinstance(partition, _Task):
            return iter(())  # where there is nothing to read, Spark makes a partition of its own
        run = write_files if self.options.data_dir else read_rows
        return run(self.options, partition.cluster_id, partition.ranges)

    def tasks(self, cluster_id: str, ranges: list[Range]) -> list[_Task]:
        options = self.options
        return [_Task(cluster_id, task) for task in tasks_of(ranges, options.records_per_task, options.tasks_at_once)]

    def brokers(self) -> Brokers:
        return Brokers(self.options.client, self.options.timeout_s)

    def partitions_there(self, brokers: Brokers) -> list[int]:
        """Return the partitions to be read."""
        return self._wanted(brokers.partitions())

    def log(self, brokers: Brokers) -> Log:
        """Return what is there of them."""
        topic = brokers.topic()
        return brokers.log(self._wanted(topic.partitions), topic.id)

    def _wanted(self, there: list[int]) -> list[int]:
        if self.options.group is None or not there:
            return there
        return [partition_of(self.options.group, len(there))]


class _BatchReader(_Reading, DataSourceReader):
    def partitions(self) -> list[_Task]:
        """Return what is to be read, in tasks."""
        brokers = self.brokers()
        cluster_id = brokers.cluster_id()
        options = self.options
        if options.epochs is not None and isinstance(options.starting, Mapping) and isinstance(options.ending, Mapping):
            # An ingest goes on at `ending`, so nothing below it may be left out, whatever brokers say of it now.
            return self.tasks(cluster_id, ranges_between(options.starting, options.ending, options.epochs))
        there = self.partitions_there(brokers)
        earliest, latest = brokers.earliest(there), brokers.latest(there)
        starts = started(options.starting, earliest, latest)
        ends = chosen(options.ending, earliest, latest, default=LATEST)
        stable = {partition: min(end, latest[partition]) for partition, end in ends.items()}
        return self.tasks(cluster_id, ranges_between(starts, stable))


class _StreamReader(_Reading, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Positions hold the ids of cluster and topic beside the offsets: a checkpoint is never used for another one."""

    def __init__(self, options: SourceOptions) -> None:
        super().__init__(options)
        self._asking: Brokers | None = None
        self._cluster_id: str | None = None
        self._target: Log | None = None
        self._limit: int | None = None

    def initialOffset(self) -> Position:
        """Return where the first batch begins."""
        brokers = self._brokers()
        log = self.log(brokers)
        earliest = brokers.earliest(sorted(log.ends))
        # Nothing was read before it, so there is no epoch that the log must have.
        return position_of(
            self._cluster(), started(self.options.starting, earliest, log.ends), Log(log.topic_id, log.ends)
        )

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return maxRecordsPerBatch as a limit; an automatic limit is found when the backlog is known."""
        limit = self.options.records_per_batch
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def prepareForTriggerAvailableNow(self) -> None:
        """Fix the end of the run: what comes after this call is left for the next run."""
        self._target = self._log()

    def latestOffset(self, start: Position, limit: ReadLimit) -> Position:
        """Return where the next batch ends."""
        require_same_cluster(start, self._cluster())
        starts = offsets_of(start)
        log = self._sound(start)
        if self.options.batches_are_automatic and self._limit is None:
            self._limit = automatic_limit(starts, log.ends, self.options.tasks_at_once)
        most = limit.max_rows if isinstance(limit, ReadMaxRows) else self._limit
        ends = starts | limited(starts, log.ends, most)
        # Another epoch alone is no batch.
        return start if ends == starts else position_of(self._cluster(), ends, log)

    def partitions(self, start: Position, end: Position) -> list[_Task]:
        """Return what lies between, in tasks."""
        return self.tasks(self._cluster(), ranges_between(offsets_of(start), offsets_of(end), epochs_of(start)))

    def commit(self, end: Any) -> None:
        """Do nothing: Spark's checkpoint knows, and nothing is committed to Kafka."""

    def _sound(self, start: Position) -> Log:
        """Return the log as it is now, or was when this run began; it has all that was read before."""
        first = self._log() if self._target is None else self._target
        log = sound_log(start, self._log, first=first, patience_s=self.options.timeout_s)
        if self._target is not None:
            self._target = log
        return log

    def _log(self) -> Log:
        return self.log(self._brokers())

    def _cluster(self) -> str:
        if self._cluster_id is None:
            self._cluster_id = self._brokers().cluster_id()
        return self._cluster_id

    def _brokers(self) -> Brokers:
        if self._asking is None:
            self._asking = self.brokers()
        return self._asking

    def __getstate__(self) -> dict[str, Any]:
        """Return the options only: a client cannot travel to tasks."""
        return self.__dict__ | {"_asking": None}
