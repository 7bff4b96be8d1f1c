"""The log of one Delta table, through delta-rs: which files are the table, and commits that change that."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow.fs import FileType

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.schemas import Table
from kafka_groups.pipeline.storage.compaction import count_rows
from kafka_groups.pipeline.storage.layout import DataFile, NewFile
from kafka_groups.pipeline.storage.root_directory import RootDirectory
from kafka_groups.pipeline.storage.storage_errors import next_step
from kafka_groups.pipeline.storage.transactions import read_transactions

if TYPE_CHECKING:
    from deltalake import DeltaTable, Schema

_PARTITIONED_BY: Final = ["date"]
# How long files stay that the table no longer has, for readers that began before. Spark's VACUUM keeps to it, too.
_KEPT_H: Final = 24
# A sample a minute makes 1,440 versions a day; older ones go with the next checkpoint, which delta-rs writes by itself.
# A reader that opens a table reads the versions since then, one by one.
_VERSIONS_KEPT_H: Final = 2
_PROPERTIES: Final[dict[str, str | None]] = {
    "delta.deletedFileRetentionDuration": f"interval {_KEPT_H} hours",
    "delta.logRetentionDuration": f"interval {_VERSIONS_KEPT_H} hours",
    "delta.checkpointInterval": "20",
}
# delta-rs reads the commits since the last checkpoint for each of them.
_FEW: Final = 3
_ATTEMPTS: Final = 10
_WANTED: Final = ["path", "size_bytes", "num_records", "partition.date"]


class DeltaLog:
    """A table as it was when it was first looked at. One that has committed has done its work: take a new one.

    A commit fails with StorageError, and nothing is changed, if another changed meanwhile what it rests on.
    """

    def __init__(self, place: RootDirectory, table: Table) -> None:
        self._place = place
        self._table = table
        self._root = place.join(table.name)
        self._address = place.address(self._root)

    @cached_property
    def files(self) -> list[DataFile]:
        """The files that are the table, by date and path."""
        if self.opened is None:
            return []
        with self.as_storage_error("read"):
            # pa.table() would import pandas, which takes 0.2 s.
            actions = pa.RecordBatchReader.from_stream(self.opened.get_add_actions(flatten=True))
            rows = actions.read_all().select(_WANTED)
            dates = pc.strftime(rows["partition.date"], format="%Y-%m-%d").to_pylist()
        columns = [rows[name].to_pylist() for name in ("path", "size_bytes", "num_records")]
        found = [
            (date, f"{self._root}/{unquote(path)}", size, count)
            for date, path, size, count in zip(dates, *columns, strict=True)
        ]
        # Other programs may add files without the number of their rows.
        return [
            DataFile(date, path, size, count_rows(self._place, path) if count is None else count)
            for date, path, size, count in sorted(found)
        ]

    def version_of(self, application: str) -> int | None:
        """Return the version of an application's last transaction; None if it has committed none."""
        return None if self.opened is None else self.opened.transaction_version(application)

    def versions_of(self, applications: Sequence[str]) -> dict[str, int]:
        """Return the versions of those of the applications that have committed transactions."""
        every = None
        if self.opened is not None and len(applications) > _FEW:
            every = read_transactions(self._place, self._root, self.opened.version())
        if every is None:
            every = {each: version for each in applications if (version := self.version_of(each)) is not None}
        return {each: every[each] for each in applications if each in every}

    def commit(
        self,
        *,
        add: Sequence[NewFile] = (),
        remove: Sequence[DataFile] = (),
        transactions: Mapping[str, int] = MappingProxyType({}),
        expected: Mapping[str, int | None] = MappingProxyType({}),
        same_rows: bool = False,
    ) -> None:
        """Make one new version: files that are in the table's directories become part of it, others are no longer.

        `transactions` are versions of applications (`txn` in Delta's log); a commit whose applications another one has
        changed meanwhile is refused, and so is one that finds other versions than `expected`, or that one of the files
        to remove is deleted. `same_rows` says that what comes and what goes have the same rows.
        """
        self._check_there(add)
        self._place.touch([file.path for file in add])
        self._place.flush([file.path for file in add])
        actions = [*self._removals(remove, same_rows=same_rows), *self._additions(add, same_rows=same_rows)]
        # delta-rs lets two commits remove the same file if the first one says that no row changes, and it does not know
        # of `expected`: such commits are made on the version that was checked, and on no later one.
        is_checked = bool(remove or expected)
        attempts = _ATTEMPTS if is_checked or not transactions else 1
        for attempt in range(1, attempts + 1):
            self._prepare()
            self._check_versions(expected)
            self._check_files(remove)
            with self.as_storage_error("change"):
                if self._has_committed(actions, transactions, is_checked=is_checked, is_last=attempt == attempts):
                    return
            self._reopen()

    def _prepare(self) -> None:
        """Open the table as it is after it was created, and got the columns that older versions did not know."""
        from deltalake.exceptions import CommitFailedError

        for _ in range(_ATTEMPTS):
            if self.opened is not None and not self._lacking(self.opened):
                return
            # What others did meanwhile has to be seen: nothing is committed on what these two leave open.
            with self.as_storage_error("change"), suppress(CommitFailedError):
                if self.opened is None:
                    self._create()
                else:
                    self.opened.alter.add_columns(self._lacking(self.opened))
            self._reopen()

    def _reopen(self) -> None:
        for name in ("opened", "files"):
            self.__dict__.pop(name, None)

    def _has_committed(
        self, actions: Sequence[Any], transactions: Mapping[str, int], *, is_checked: bool, is_last: bool
    ) -> bool:
        """Return whether it was possible; another program may have been faster."""
        from deltalake.exceptions import CommitFailedError
        from deltalake.transaction import CommitProperties, Transaction

        table = self.opened
        assert table is not None
        known = [Transaction(application, version) for application, version in transactions.items()]
        properties = CommitProperties(app_transactions=known or None, max_commit_retries=0 if is_checked else None)
        before = table.version()
        try:
            table.create_write_transaction(
                [*actions], "append", table.schema(), _PARTITIONED_BY, commit_properties=properties
            )
        except CommitFailedError:
            if is_last:
                raise
            return False
        table.update_incremental()
        # delta-rs leaves it to the kernel when a version is on the disk. Versions of others are among these.
        versions = range(before + 1, table.version() + 1)
        self._place.flush([f"{self._root}/_delta_log/{version:020}.json" for version in versions])
        return True

    def _check_files(self, remove: Sequence[DataFile]) -> None:
        if remove and not {file.path for file in self.files}.issuperset(file.path for file in remove):
            raise StorageError(self._changed())

    def _changed(self) -> str:
        return (
            f"the table {self._address} was changed by another program meanwhile; it was left as it is; run the "
            "command again"
        )

    def _check_versions(self, expected: Mapping[str, int | None]) -> None:
        if any(self.version_of(application) != version for application, version in expected.items()):
            raise StorageError(self._changed())

    def vacuum(self) -> None:
        """Delete files that are not in the table, and have not been for a day."""
        if self.opened is None:
            return
        with self.as_storage_error("clean"):
            wanted: dict[str, Any] = {"retention_hours": _KEPT_H, "enforce_retention_duration": False, "full": True}
            # Each cleaning is two versions of its own, so there has to be something to clean.
            if self.opened.vacuum(dry_run=True, **wanted):
                self.opened.vacuum(dry_run=False, **wanted)

    @cached_property
    def opened(self) -> DeltaTable | None:
        """The table as delta-rs has it; None if it has no version."""
        from deltalake import DeltaTable

        if self._place.info(f"{self._root}/_delta_log").type != FileType.Directory:
            return None
        with self.as_storage_error("read"):
            if not DeltaTable.is_deltatable(self._address, self._place.options):  # killed before its first version
                return None
            table = DeltaTable(self._address, storage_options=self._place.options)
            wanted = table.protocol().min_reader_version
        if wanted > 1:
            message = (
                f"another program added features to the table {self._address} (Delta reader version {wanted}), which "
                "this one does not support; remove them with ALTER TABLE … DROP FEATURE"
            )
            raise StorageError(message)
        return table

    def _create(self) -> None:
        from deltalake import DeltaTable

        self._place.make(self._root)
        DeltaTable.create(
            self._address,
            self._schema(),
            mode="ignore",
            partition_by=_PARTITIONED_BY,
            name=self._table.name,
            description=self._table.about,
            configuration=_PROPERTIES,
            storage_options=self._place.options,
        )

    def _schema(self) -> Schema:
        from deltalake import Schema

        return Schema.from_arrow(self._table.arrow().append(pa.field("date", pa.date32())))

    def _lacking(self, table: DeltaTable) -> list[Any]:
        there = {field.name for field in table.schema().fields}
        return [field for field in self._schema().fields if field.name not in there]

    def _additions(self, files: Sequence[NewFile], *, same_rows: bool) -> Iterator[Any]:
        from deltalake.transaction import AddAction

        for file in files:
            stats = json.dumps({"numRecords": file.rows})
            yield AddAction(self._name(file.path), file.bytes, {"date": file.date}, _now_ms(), not same_rows, stats)

    def _removals(self, files: Sequence[DataFile], *, same_rows: bool) -> Iterator[Any]:
        from deltalake.transaction import RemoveAction

        for file in files:
            values: dict[str, str | None] = {"date": file.date}
            yield RemoveAction(self._name(file.path), not same_rows, _now_ms(), file.bytes, values)

    def _check_there(self, files: Sequence[NewFile]) -> None:
        for info in self._place.infos([file.path for file in files]) if files else ():
            if info.type != FileType.File:
                message = f"{info.path} was deleted before it became part of its table; run the command again"
                raise StorageError(message)
            assert info.path.startswith(f"{self._root}/"), info.path

    def _name(self, path: str) -> str:
        return path.removeprefix(f"{self._root}/")

    @contextmanager
    def as_storage_error(self, what: str) -> Iterator[None]:
        """Turn errors inside into StorageError: `what` was not possible with the table."""
        from deltalake.exceptions import DeltaError

        try:
            yield
        except (DeltaError, OSError, ValueError) as error:
            message = f"cannot {what} the table {self._address}: {next_step(error)}"
            raise StorageError(message) from error


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
