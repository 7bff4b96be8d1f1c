"""Tables as DataFrames of Spark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kafka_groups.pipeline.store.data_files import DataFile
from kafka_groups.pipeline.store.root_directory import RootDirectory, as_storage_error, open_root
from kafka_groups.pipeline.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def read_table(spark: SparkSession, directory: RootDirectory, table: Table, files: Sequence[DataFile]) -> DataFrame:
    """Return the rows of these files of a table: its documented columns, then `date`.

    Spark itself reads files of this machine, as plain Parquet. Files of an object store are read by Python workers,
    with the library and the credentials that wrote them, so that Spark needs no jar. If a file was deleted, the
    query fails, because its rows would be missing.
    """
    if not files:
        return spark.createDataFrame([], table.ddl())
    if directory.is_local:
        reader = spark.read.schema(table.ddl()).options(ignoreMissingFiles="false", ignoreCorruptFiles="false")
        reader = reader.option("basePath", f"file://{directory.join(table.name)}")
        return reader.parquet(*(f"file://{file.path}" for file in files))
    addresses = [(directory.address(file.path),) for file in files]
    path_rows = spark.createDataFrame(addresses, "path STRING").repartition(len(files))
    return path_rows.mapInArrow(partial(read_files, table), table.ddl())


def read_files(table: Table, batches: Iterator[Any]) -> Iterator[Any]:
    """Yield record batches with the rows of files of the table, and `date`, which is part of the files' paths.

    The column `path` of `batches` has the addresses of the files, as Spark passes them to a task. Columns that a file
    does not have are null. Raises StorageError for a file that cannot be read.
    """
    import pyarrow.dataset as ds

    schema = table.arrow().append(pa.field("date", pa.date32()))
    for batch in batches:
        for address in batch["path"].to_pylist():
            # The address of a file is opened like a directory's: `root` is then the path of the file.
            opened_file = open_root(address)
            # Only the directory below the table is a column. Directories above it may have names such as group=prod.
            table_path = opened_file.root.rpartition("/date=")[0]
            with as_storage_error("read the tables", address):
                dataset = ds.dataset(
                    opened_file.root,
                    schema,
                    "parquet",
                    opened_file.fs,
                    partitioning="hive",
                    partition_base_dir=table_path,
                )
                yield from dataset.to_batches()
