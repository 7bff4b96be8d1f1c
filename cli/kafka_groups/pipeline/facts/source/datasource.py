"""The classes that Spark calls for the format "kafka_groups".

Spark sends their instances from the driver to Python workers and tasks. So instances hold only options, and connect to
brokers where Spark runs them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow

from kafka_groups.pipeline.facts.decode.decoded_records import DecodedRecords
from kafka_groups.pipeline.facts.source import range_plan
from kafka_groups.pipeline.facts.source.brokers import DEFAULT_TIMEOUT_S, Brokers
from kafka_groups.pipeline.facts.source.continuity import wait_for_end
from kafka_groups.pipeline.facts.source.position import Offsets, Position
from kafka_groups.pipeline.facts.source.range_plan import Range
from kafka_groups.pipeline.facts.source.ranges import read_ranges
from kafka_groups.pipeline.facts.source.source_options import read_options
from kafka_groups.pipeline.tables.spark_types import render_ddl
from kafka_groups.settings.librdkafka import ClientProperties

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

Checkpoint = dict[str, Any]  # A position as `Position.to_checkpoint` returns it.


class KafkaGroupsSource(DataSource):
    """The decoded records of `__consumer_offsets`, as format "kafka_groups" for spark.read and spark.readStream.

    Options:
    - kafka.<property of librdkafka>
    - startingOffsets: earliest, latest, or JSON such as {"0": 23}, where -2 is earliest and -1 latest; no offset may be
      past the end
    - group: read only this group, from its partition alone
    - maxRecordsPerBatch: for streams
    - minPartitions: how many tasks run at once; the number of tasks is a multiple of it
    - timeout: seconds without any progress
    """

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "kafka_groups"

    def schema(self) -> str:
        """Return the columns of DecodedRecords as Spark's DDL. SourceError if an option cannot be used."""
        read_options(self.options)
        return render_ddl(DecodedRecords.schema())

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader of all records that the topic has now."""
        return _BatchReader(**read_options(self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return a reader of the records since the checkpoint of a stream."""
        return _StreamReader(**read_options(self.options))


@dataclass
class _Reader:
    """The options of both readers, and their common methods.

    `client` are properties of librdkafka, including secrets. `starting` is the argument `wanted` of `starting_offsets`.
    `group` is the only group to read; None for all groups. `records_per_batch` is None if there is no limit.
    """

    client: ClientProperties = field(repr=False)
    starting: Offsets | int | None = None
    group: str | None = None
    records_per_batch: int | None = None
    tasks_at_once: int = 1
    timeout_s: float = DEFAULT_TIMEOUT_S

    @cached_property
    def brokers(self) -> Brokers:
        return Brokers(self.client, self.timeout_s)

    @cached_property
    def cluster_id(self) -> str:
        return self.brokers.cluster()[0]

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes that can be sent to tasks, without the client of librdkafka."""
        return {name: value for name, value in self.__dict__.items() if name != "brokers"}

    def request_end(self) -> Position:
        return self.brokers.end_position(self.group)

    def request_starts(self, end: Position) -> dict[int, int]:
        """Return the offsets to start at, in the partitions of `end`."""
        log_starts = self.brokers.log_start_offsets(sorted(end.next_offsets))
        return range_plan.starting_offsets(self.starting, log_starts, end.next_offsets)

    def tasks(self, cluster_id: str, ranges: list[Range]) -> list[InputPartition]:
        """Return the tasks that read these ranges, as Spark takes them; `read` gets each one back."""
        tasks = range_plan.split_into_tasks(ranges, self.tasks_at_once)
        return [InputPartition((cluster_id, task)) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield rows of DecodedRecords of a task."""
        # If there is no task, Spark calls this with a partition of its own.
        if partition.value is None:
            return
        cluster_id, ranges = partition.value
        for rows in read_ranges(self.client, self.timeout_s, cluster_id, ranges):
            yield rows if self.group is None else rows.filter(pc.equal(rows["group"], self.group))


class _BatchReader(_Reader, DataSourceReader):
    def partitions(self) -> list[InputPartition]:
        # This is the first request, because its error is the most specific one if no broker responds.
        cluster_id = self.cluster_id
        end = self.request_end()
        return self.tasks(cluster_id, range_plan.ranges_between(self.request_starts(end), end.next_offsets))


@dataclass
class _StreamReader(_Reader, DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A reader whose position is only in Spark's checkpoint, which belongs to one cluster and one topic."""

    # The end of a run with the trigger availableNow; None for other triggers.
    _run_end: Position | None = None

    def initialOffset(self) -> Checkpoint:
        cluster_id = self.cluster_id
        end = self.request_end()
        return Position(end.topic_id, self.request_starts(end)).to_checkpoint(cluster_id)

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable() if self.records_per_batch is None else ReadMaxRows(self.records_per_batch)

    def prepareForTriggerAvailableNow(self) -> None:
        """Fix the end of the run: records that are written after this call are left for the next run."""
        self._run_end = self.request_end()

    def latestOffset(self, start: Checkpoint, limit: ReadLimit) -> Checkpoint:
        read_until = Position.from_checkpoint(start, self.cluster_id)
        first_end = self._run_end or self.request_end()
        end = wait_for_end(read_until, self.request_end, first_end=first_end, timeout_s=self.timeout_s)
        if self._run_end is not None:
            self._run_end = end
        max_offsets = limit.max_rows if isinstance(limit, ReadMaxRows) else None
        batch_ends = {
            **read_until.next_offsets,
            **range_plan.limit_ends(read_until.next_offsets, end.next_offsets, max_offsets),
        }
        # Spark would run an empty batch for a position that differs only in its leader epochs.
        if batch_ends == read_until.next_offsets:
            return start
        return end._replace(next_offsets=batch_ends).to_checkpoint(self.cluster_id)

    def partitions(self, start: Checkpoint, end: Checkpoint) -> list[InputPartition]:
        batch_start = Position.from_checkpoint(start, self.cluster_id)
        batch_end = Position.from_checkpoint(end, self.cluster_id)
        ranges = range_plan.ranges_between(batch_start.next_offsets, batch_end.next_offsets, batch_start.leader_epochs)
        return self.tasks(self.cluster_id, ranges)
