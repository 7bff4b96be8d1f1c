"""Tables as Delta Lake keeps them: a log says which Parquet files are the table. No JVM is needed."""

from kafka_groups.pipeline.storage.delta.requirements import check_delta
from kafka_groups.pipeline.storage.delta.tables import DeltaFormat

__all__ = ["DeltaFormat", "check_delta"]
