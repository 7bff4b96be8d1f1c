"""Delta tables: batches, transactions, dates, joined files. No JVM is needed."""

from __future__ import annotations

import os
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from pyarrow.fs import FileType

from kafka_groups.pipeline.storage.data_file import DataFile
from kafka_groups.pipeline.storage.delta_log import DeltaLog
from kafka_groups.pipeline.storage.joining import count_rows
from kafka_groups.pipeline.storage.layout import batch_path, next_compacted
from kafka_groups.pipeline.storage.locks import hold
from kafka_groups.pipeline.storage.places import Place, flush
from kafka_groups.pipeline.storage.publishing import CHANGING, CHANGING_WAIT_S, check_there, forget_stages
from kafka_groups.pipeline.storage.spark_tables import frame_of
from kafka_groups.pipeline.storage.staging import StagedFile
from kafka_groups.pipeline.tables import STORED, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CountedFile = tuple[str, int]  # path, rows
_ABOVE: Final = 3  # directories above a batch's: the date, the table, the tables


class DeltaTables:
    """Tables by name, dates as YYYY-MM-DD. Callers that change them hold the lock of changes; `tidy` takes it itself.

    Files are moved to where they will stay, and then become part of the table, at once, by a commit. What a killed
    process moved and did not commit is in no table; `tidy` deletes it a day later.
    """

    def __init__(self, place: Place) -> None:
        self._place = place

    def dates(self, table: str) -> list[str]:
        """Dates that the table has files of."""
        return sorted({file.date for file in self.files(table)})

    def files(self, table: str, dates: Collection[str] | None = None) -> list[DataFile]:
        """Files of the newest version."""
        return [file for file in self._log(table).files if dates is None or file.date in dates]

    def read(self, spark: SparkSession, table: Table) -> DataFrame:
        """The newest version as plain Parquet files, so that Spark needs no jar; later commits do not disturb it."""
        return frame_of(spark, self._place, table, [file.path for file in self.files(table.name)])

    def publish(self, batch: str, files: Sequence[StagedFile], tables: Collection[str]) -> None:
        """Let the batch hold exactly these files, in all of the tables, whatever it held before.

        Each table that changes has a commit. Those that only lose rows come first: a row is in no two tables.
        """
        check_there(self._place, files)
        given = self._by_table(files, tables)
        for table, new in sorted(given.items(), key=lambda item: (bool(item[1]), item[0])):
            log = self._log(table)
            old = [file for file in log.files if file.batch == batch]
            if old or new:
                log.commit(add=self._moved_all(table, batch, new), remove=old)
        forget_stages(self._place, files)

    def extend(
        self, batch: str, files: Sequence[StagedFile], transactions: Mapping[str, int], *, tables: Sequence[str]
    ) -> None:
        """Add the files to their tables. Each table gets a commit with the transactions, with or without files."""
        check_there(self._place, files)
        for table, new in self._by_table(files, tables).items():
            self._log(table).commit(add=self._moved_all(table, batch, new), transactions=transactions)
        forget_stages(self._place, files)

    def versions_of(self, table: str, applications: Sequence[str]) -> dict[str, int]:
        """Return the versions of the applications that have committed transactions of the table."""
        log = self._log(table)
        found = ((each, log.version_of(each)) for each in applications)
        return {each: version for each, version in found if version is not None}

    def replace(self, table: str, found: Mapping[str, Sequence[str]], *, batch: str) -> None:
        """Put files, by date, in place of all that those dates hold, in one commit."""
        log = self._log(table)
        old = [file for file in log.files if file.date in found]
        new = [
            file
            for date, paths in sorted(found.items())
            for file in self._moved(table, date, batch, [(path, count_rows(self._place, path)) for path in paths])
        ]
        if old or new:
            log.commit(add=new, remove=old)

    def swap(self, table: str, date: str, gone: Collection[str], new: Sequence[str]) -> bool:
        """Put new files in place of those that go, in one commit, which says that no row changes.

        Returns False, and does nothing, if one of them is gone already.
        """
        log = self._log(table)
        there = [file for file in log.files if file.date == date]
        old = [file for file in there if file.path in gone]
        if len(old) < len(gone):
            return False
        batch = next_compacted(file.batch for file in there)
        counted = [(path, count_rows(self._place, path)) for path in new]
        log.commit(add=self._moved(table, date, batch, counted), remove=old, same_rows=True)
        return True

    def remove(self, table: str, dates: Collection[str]) -> None:
        """Remove those dates in one commit; the files follow a day later."""
        log = self._log(table)
        if old := [file for file in log.files if file.date in dates]:
            log.commit(remove=old)

    def tidy(self) -> None:
        """Deletes what left the tables a day ago or was never committed, and directories that are empty by then."""
        for table in STORED:
            self._log(table).vacuum()
            with hold(self._place, CHANGING, wait_s=CHANGING_WAIT_S):
                self._remove_empty(table)

    def _log(self, table: str) -> DeltaLog:
        return DeltaLog(self._place, STORED[table])

    def _by_table(self, files: Sequence[StagedFile], tables: Collection[str]) -> dict[str, list[StagedFile]]:
        given: dict[str, list[StagedFile]] = {table: [] for table in tables}
        for file in files:
            given.setdefault(file.table, []).append(file)
        return given

    def _moved_all(self, table: str, batch: str, files: Sequence[StagedFile]) -> list[DataFile]:
        counted: dict[str, list[CountedFile]] = {}
        for file in sorted(files, key=lambda file: file.date):
            counted.setdefault(file.date, []).append((file.path, file.rows))
        return [file for date, some in counted.items() for file in self._moved(table, date, batch, some)]

    def _moved(self, table: str, date: str, batch: str, files: Iterable[CountedFile]) -> list[DataFile]:
        directory = batch_path(self._place, table, date, batch)
        self._place.make(directory)
        found = []
        for number, (path, rows) in enumerate(files):
            target = f"{directory}/part-{number:05}-{uuid.uuid4().hex[:12]}.parquet"
            self._place.move_file(path, target)
            os.utime(target)  # so that no cleaning takes it for a leftover before it is committed
            found.append(DataFile(date, batch, target, self._place.info(target).size, rows))
        # The names last as long as the log that tells them.
        for name in (directory, *(str(parent) for parent in list(PurePath(directory).parents)[:_ABOVE])):
            flush(name)
        return found

    def _remove_empty(self, table: str) -> None:
        home = self._place.join(table)
        found = self._place.children(home, recursive=True)
        used = {str(parent) for info in found if info.type == FileType.File for parent in PurePath(info.path).parents}
        for info in reversed(found):  # what is below comes first
            if info.type == FileType.Directory and info.path not in used and "/_delta_log" not in info.path:
                with suppress(OSError):  # it is in use again
                    os.rmdir(info.path)
