"""Tables as plain Parquet files: what is in a directory of the layout is in the table."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from kafka_groups.pipeline.storage import publishing, spark_tables, swapping
from kafka_groups.pipeline.storage.formats import DataFile
from kafka_groups.pipeline.storage.layout import date_path, dates_of, files_by_batch
from kafka_groups.pipeline.storage.places import Place
from kafka_groups.pipeline.storage.staging import StagedFile
from kafka_groups.pipeline.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


class ParquetFormat:
    """`TableFormat` by directories that change places."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def dates(self, table: str) -> list[str]:
        """Dates that the table has files of; a directory may hold somebody else's only."""
        return sorted({file.date for file in self.files(table)})

    def files(self, table: str, dates: Collection[str] | None = None) -> list[DataFile]:
        """Files as they are listed; nobody has counted their rows."""
        return [
            DataFile(date, batch, info.path, info.size, None)
            for date in dates_of(self._place, table)
            if dates is None or date in dates
            for batch, files in sorted(files_by_batch(self._place, table, date).items())
            for info in files
        ]

    def read(self, spark: SparkSession, table: Table) -> DataFrame:
        """All directories of the table; Spark lists them when the query begins."""
        return spark_tables.read_table(spark, self._place, table)

    def publish(self, batch: str, files: Sequence[StagedFile], tables: Collection[str]) -> None:
        """Directory by directory, each in one step."""
        publishing.publish_batch(self._place, batch, files, tables)

    def replace(self, table: str, found: Mapping[str, Sequence[str]], staging: str, *, batch: str) -> None:
        """Date by date, each in one step."""
        for date, paths in sorted(found.items()):
            spark_tables.replace_date(self._place, table, date, paths, staging, batch)

    def check_swap(self) -> None:
        """It needs directories that can be exchanged."""
        swapping.check_exchange(self._place)

    def swap(self, table: str, date: str, gone: Collection[str], new: Sequence[str], staging: str) -> bool:
        """The directory of the date takes the place of the old one."""
        return swapping.swap_files(self._place, table, date, gone, new, staging)

    def remove(self, table: str, date: str, staging: str) -> None:
        """The directory of the date goes."""
        publishing.remove_directory(self._place, date_path(self._place, table, date), staging)

    def tidy(self) -> None:
        """Nothing: what left a table is deleted at once."""
