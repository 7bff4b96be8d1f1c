"""Tables as Spark reads them: the files that a version of the table has, as plain Parquet, so no jar is needed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_groups.pipeline.schemas import Table
from kafka_groups.pipeline.storage.layout import DataFile
from kafka_groups.pipeline.storage.root_directory import RootDirectory, open_file
from kafka_groups.pipeline.storage.storage_errors import as_storage_error

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_frame(spark: SparkSession, place: RootDirectory, table: Table, files: Sequence[DataFile]) -> DataFrame:
    """Return the rows of files: the columns of the table, then date. No files are no rows.

    A deleted file is an error of the query, whatever the session says, because rows would be missing. Spark reads
    files of this machine itself; those of an object store are read with the library and the credentials of the tables.
    """
    if not files:
        return spark.createDataFrame([], table.ddl())
    if not place.is_local:
        found = [(place.address(file.path), file.date) for file in files]
        listed = spark.createDataFrame(found, "path STRING, date STRING").repartition(len(found))
        return listed.mapInArrow(_Reader(table), table.ddl())
    reader = spark.read.schema(table.ddl()).option("ignoreMissingFiles", "false").option("ignoreCorruptFiles", "false")
    reader = reader.option("basePath", f"file://{place.join(table.name)}")
    return reader.parquet(*(f"file://{file.path}" for file in files))


class _Reader:
    """Reads listed files in a task of Spark."""

    def __init__(self, table: Table) -> None:
        self._schema = table.arrow()

    def __call__(self, pieces: Iterator[Any]) -> Iterator[Any]:
        for piece in pieces:
            for path, day in zip(*(piece[name].to_pylist() for name in ("path", "date")), strict=True):
                with as_storage_error("read the tables", path), open_file(path) as file:
                    for rows in pq.ParquetFile(file).iter_batches():
                        yield self._shaped(rows, date.fromisoformat(day))

    def _shaped(self, rows: Any, day: date) -> Any:
        columns = [
            rows[field.name].cast(field.type) if field.name in rows.schema.names else pa.nulls(len(rows), field.type)
            for field in self._schema
        ]
        columns.append(pa.repeat(pa.scalar(day, pa.date32()), len(rows)))
        return pa.RecordBatch.from_arrays(columns, schema=self._schema.append(pa.field("date", pa.date32())))
