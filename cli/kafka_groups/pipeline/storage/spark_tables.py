"""Tables as Spark reads and makes them."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from pyarrow.fs import FileType

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.storage.layout import date_path, dates_of
from kafka_groups.pipeline.storage.places import Place
from kafka_groups.pipeline.storage.publishing import arrange, put_in, remove_directory
from kafka_groups.pipeline.tables import Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

_DAY_US: Final = 86_400_000_000
# By the file system that tables are on. Spark's own scratch files are not written through Hadoop's.
_FULL: Final = re.compile("FSError: java.io.IOException: No space left on device")


def read_table(spark: SparkSession, place: Place, table: Table) -> DataFrame:
    """The table's columns, then date and batch; no rows if there are no files.

    A file that goes away after the listing (compaction, rebuilt dates) is an error of the query, whatever the session
    says, for leaving it out would be wrong rows.
    """
    if not dates_of(place, table.name):
        return spark.createDataFrame([], table.ddl())
    return _reader(spark, table).parquet(place.spark(place.join(table.name)))


def frame_of(spark: SparkSession, place: Place, table: Table, files: Sequence[str]) -> DataFrame:
    """The same of certain files of the table, whatever stands beside them."""
    if not files:
        return spark.createDataFrame([], table.ddl())
    reader = _reader(spark, table).option("basePath", place.spark(place.join(table.name)))
    return reader.parquet(*map(place.spark, files))


def _reader(spark: SparkSession, table: Table) -> DataFrameReader:
    reader = spark.read.schema(table.ddl())
    return reader.option("ignoreMissingFiles", "false").option("ignoreCorruptFiles", "false")


def files_changed(error: Exception) -> bool:
    """Whether a query failed because a file went away after its listing: reading the table anew is right, then."""
    return bool(re.search("FILE_NOT_EXIST|NoSuchFile|FileNotFound|does not exist", str(error)))


def write_staged(rows: DataFrame, place: Place, table: Table, staging: str) -> None:
    """Spark writes the rows below `staging`, a directory a date (UTC, whatever the session's time zone)."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.sql import functions as sql

    micros = sql.unix_micros(sql.col(table.dated_by))
    day = sql.date_from_unix_date(((micros - sql.pmod(micros, sql.lit(_DAY_US))) / sql.lit(_DAY_US)).cast("int"))
    columns = [sql.col(f"`{column.name}`") for column in table.columns]
    dated = rows.select(*columns, day.alias("date"))
    # Rebalancing makes few files a date, and cuts a large date into pieces that one task can write.
    spread = dated.hint("rebalance", "date").sortWithinPartitions("date", *(f"`{name}`" for name in table.identity))
    try:
        spread.write.mode("overwrite").partitionBy("date").option("compression", "zstd").parquet(place.spark(staging))
    except (PySparkException, Py4JError) as error:
        if _FULL.search(str(error)):
            message = f"cannot write in {place.into}: no space is left on the file system; free some, and run it again"
            raise StorageError(message) from error
        raise


def staged_dates(place: Place, staging: str) -> dict[str, list[str]]:
    """What Spark wrote: files by date."""
    found: dict[str, list[str]] = {}
    for info in place.children(staging, recursive=True):
        folder, name = str(info.path).split("/")[-2:]
        if info.type == FileType.File and folder.startswith("date=") and name.startswith("part-"):
            found.setdefault(folder.removeprefix("date="), []).append(info.path)
    return found


def check_dates(table: Table, found: Collection[str], dates: Sequence[dt.date]) -> None:
    """ValueError if there are rows of a date that was not to be replaced."""
    others = sorted(set(found) - {day.isoformat() for day in dates})
    if others:
        message = f"rows of {table.name} are of {others[0]}, which is not among the dates to replace"
        raise ValueError(message)


def replace_date(place: Place, table: str, date: str, files: Sequence[str], staging: str, batch: str) -> None:
    """The date holds these files and no others, in one step. The caller holds the lock."""
    target = date_path(place, table, date)
    if not files:
        remove_directory(place, target, staging)
        return
    place.make(place.join(table))
    arrange(place, f"{staging}/new/date={date}/batch={batch}", files)
    put_in(place, f"{staging}/new/date={date}", target, staging)
