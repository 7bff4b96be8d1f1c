"""What a format of tables has to do. A directory of tables has one, from when it is made."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from kafka_groups.pipeline.storage.staging import StagedFile
from kafka_groups.pipeline.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PARQUET: Final = "parquet"
DELTA: Final = "delta"
TABLE_FORMATS: Final = (PARQUET, DELTA)


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file that is part of a table; `rows` is None where only its footer tells them."""

    date: str
    batch: str
    path: str
    bytes: int
    rows: int | None


class TableFormat(Protocol):
    """Tables by name, dates as YYYY-MM-DD. What changes them wants the caller to hold the lock of changes.

    All but `tidy`, which takes it by itself. What changes, changes in steps that a reader sees whole or not at all, and
    that a killed process leaves so.
    """

    def dates(self, table: str) -> list[str]:
        """Dates that the table has files of, in order."""
        ...

    def files(self, table: str, dates: Collection[str] | None = None) -> list[DataFile]:
        """Files of those dates, or of all."""
        ...

    def read(self, spark: SparkSession, table: Table) -> DataFrame:
        """Documented columns, then date and batch; no rows if there are none."""
        ...

    def publish(self, batch: str, files: Sequence[StagedFile], tables: Collection[str]) -> None:
        """Afterwards the batch holds exactly these files, in all of the tables."""
        ...

    def replace(self, table: str, found: Mapping[str, Sequence[str]], staging: str, *, batch: str) -> None:
        """Afterwards each of those dates holds exactly its files, which come from staging, in that batch."""
        ...

    def check_swap(self) -> None:
        """StorageError unless `swap` can be had here."""
        ...

    def swap(self, table: str, date: str, gone: Collection[str], new: Sequence[str], staging: str) -> bool:
        """The date has the new files in place of those that go; False, and nothing done, if one is gone already."""
        ...

    def remove(self, table: str, date: str, staging: str) -> None:
        """The date goes."""
        ...

    def tidy(self) -> None:
        """Files go that no reader can want any more; the caller must not hold the lock."""
        ...
