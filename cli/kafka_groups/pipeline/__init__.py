"""The history of groups in tables: `__consumer_offsets` and samples in, Parquet out, on Spark.

`KafkaGroupsSource` is the topic as a data source of Spark: spark.dataSource.register(KafkaGroupsSource).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafka_groups.pipeline.source.datasource import KafkaGroupsSource

__all__ = ["KafkaGroupsSource"]


def __getattr__(name: str) -> object:
    """Load Spark when it is requested: what decodes records needs none."""
    if name == "KafkaGroupsSource":
        from kafka_groups.pipeline.source.datasource import KafkaGroupsSource

        return KafkaGroupsSource
    msg = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(msg)
