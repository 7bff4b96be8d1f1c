"""Tables as Spark reads them: the files that a version of the table has, as plain Parquet, so no jar is needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafka_groups.pipeline.storage.places import Place
from kafka_groups.pipeline.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def frame_of(spark: SparkSession, place: Place, table: Table, files: Sequence[str]) -> DataFrame:
    """Return the rows of files: the columns of the table, then date and batch. No files are no rows.

    A file that is gone is an error of the query, whatever the session says, because rows would be missing.
    """
    if not files:
        return spark.createDataFrame([], table.ddl())
    reader = spark.read.schema(table.ddl()).option("ignoreMissingFiles", "false").option("ignoreCorruptFiles", "false")
    reader = reader.option("basePath", place.spark(place.join(table.name)))
    return reader.parquet(*map(place.spark, files))
