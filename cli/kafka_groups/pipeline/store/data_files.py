"""Data files: the Parquet files of tables, `<table>/date=YYYY-MM-DD/<batch>.<random>.parquet`, and names of batches.

A batch is a run that wrote rows, or the rows of several runs that compaction joined. Spark and other readers
skip files and directories whose names begin with a dot or an underscore.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from kafka_groups.pipeline.frames.batches import make_batch
from kafka_groups.pipeline.frames.columns import INT64, STRING, column
from kafka_groups.pipeline.frames.frame import Frame, frame
from kafka_groups.pipeline.store.root_directory import RootDirectory

BUILD: Final = "build"  # The batch of all rows of derived tables.
COMPACTED: Final = "compacted"  # The batch of files that compaction joined, except files of samples.
COMPACTED_SAMPLES: Final = "compacted-samples"  # The batch of joined files of samples. Each file is sorted by itself.
SORTED_SAMPLES: Final = "sorted-samples"  # The batch of all samples of a date, sorted together.
KEPT: Final = "kept"  # The batch of the rows that retention keeps of an old date.
SAMPLE: Final = "sample-"  # The names of batches of samples begin with this.
BACKFILL: Final = "backfill-"  # The names of batches of backfills begin with this.


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file with rows of one table and one date.

    `date` is a text, YYYY-MM-DD. `rows` is the number of rows, and `bytes` the size. `path` has the form that the file
    system of the root directory takes: an absolute path on a disk, bucket and key in an object store.
    """

    table: str
    date: str
    path: str
    rows: int
    bytes: int

    @property
    def batch(self) -> str:
        """The name of the batch that wrote the file; any text if another program wrote it."""
        file_name = self.path.rpartition("/")[2]
        return file_name.partition(".")[0]


NewFile = DataFile  # A file that was written, but is not committed yet.


@frame
class DataFileRows(Frame):
    """One row per data file: the form in which Spark carries lists of files between the driver and its tasks."""

    table: Any = column(STRING, "name of the table")
    date: Any = column(STRING, "date of all rows, YYYY-MM-DD")
    path: Any = column(STRING, "path of the file, as its file system takes it")
    rows: Any = column(INT64, "number of rows")
    bytes: Any = column(INT64, "size of the file, in bytes")


DATA_FILE_SCHEMA: Final = DataFileRows.schema()


def to_rows(files: Sequence[DataFile]) -> Any:
    """Return an Arrow record batch of DataFileRows with one row for each file, in the order of the files."""
    columns = {name: [getattr(file, name) for file in files] for name in DataFileRows.names()}
    return make_batch(DataFileRows, columns)


def from_rows(rows: Any) -> list[DataFile]:
    """Return the data file of each row of an Arrow record batch or table with the columns of DataFileRows."""
    return [DataFile(**row) for row in rows.select(DataFileRows.names()).to_pylist()]


def new_batch_name(origin: str, created_at: datetime) -> str:
    """Return a unique name of a batch, such as `sample-20261126T200500Z-5f0c9e4a1b2d`.

    `created_at` is in UTC. Names of one origin sort by their second; within a second their order is arbitrary.
    """
    return f"{origin.rstrip('-')}-{created_at:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:12]}"


def new_path(directory: RootDirectory, table: str, date: str, batch: str) -> str:
    """Return a unique path for a new file of a table, a date (YYYY-MM-DD) and a batch, and make its directory."""
    path = directory.join(table, f"date={date}", f"{batch}.{uuid.uuid4().hex[:16]}.parquet")
    directory.make_parent(path)
    return path
