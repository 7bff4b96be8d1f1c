"""The product's source without its decoder: keys and values as they are, for comparing transports."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition

from kafka_groups.pipeline.facts.decode.data_gaps import DataGap
from kafka_groups.pipeline.facts.source.brokers import DEFAULT_TIMEOUT_S, new_consumer
from kafka_groups.pipeline.facts.source.datasource import KafkaGroupsSource
from kafka_groups.pipeline.facts.source.ranges import RangeReader
from kafka_groups.pipeline.facts.source.source_options import read_options

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class RawSource(KafkaGroupsSource):
    """The same planning and reading; five columns that Spark's own connector has, too."""

    @classmethod
    def name(cls) -> str:
        return "kafka_groups_raw"

    def schema(self) -> str:
        return "partition INT, offset BIGINT, timestamp BIGINT, key BINARY, value BINARY"

    def reader(self, schema: StructType) -> DataSourceReader:
        planner = super().reader(schema)
        client = read_options(self.options)["client"]

        class Reader(DataSourceReader):
            def partitions(self) -> list[InputPartition]:
                return list(planner.partitions())

            def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
                _, ranges = partition.value
                consumer = new_consumer(client, 30.0)
                try:
                    for wanted in ranges:
                        for found in RangeReader(consumer, wanted, client, DEFAULT_TIMEOUT_S).read():
                            if not isinstance(found, DataGap):
                                yield _rows(found, wanted.partition)
                finally:
                    consumer.close()

        return Reader()


def _rows(found: pa.RecordBatch, partition: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [
            pa.repeat(pa.scalar(partition, pa.int32()), len(found)),
            found["offset"],
            found["timestamp_ms"],
            found["key"].cast(pa.binary()),
            found["value"].cast(pa.binary()),
        ],
        names=["partition", "offset", "timestamp", "key", "value"],
    )
