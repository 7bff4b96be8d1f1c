"""The log of a Delta table: the files of the table, and commits that add and remove files, by delta-rs."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileType

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.store.data_files import DataFile, NewFile
from kafka_groups.pipeline.store.root_directory import RootDirectory, next_step
from kafka_groups.pipeline.tables import Table

if TYPE_CHECKING:
    from deltalake import DeltaTable
    from deltalake.transaction import AddAction, CommitProperties, RemoveAction

_PARTITIONED_BY: Final = ["date"]
# Files that a commit removed are deleted after this time, because readers that began before it still read them. Spark's
# VACUUM has the same limit, by a property of the table.
_REMOVED_FILES_H: Final = 24
# One sample per minute makes 1,440 versions per day. A reader that opens a table reads the versions since the last
# checkpoint one by one. delta-rs deletes older versions when it writes a checkpoint.
_VERSIONS_H: Final = 2
_PROPERTIES: Final[dict[str, str | None]] = {
    "delta.deletedFileRetentionDuration": f"interval {_REMOVED_FILES_H} hours",
    "delta.logRetentionDuration": f"interval {_VERSIONS_H} hours",
    "delta.checkpointInterval": "20",
}
_ATTEMPTS: Final = 10
# The names of the log's files begin with the number of their version, in this many digits (Delta's PROTOCOL.md).
_DIGITS: Final = 20


class DeltaLog:
    """The log of a table, in the version that was the newest when this object was first used.

    Do not use the object after `commit` or `vacuum`. Methods raise StorageError if the log or a file cannot be read or
    written.
    """

    def __init__(self, directory: RootDirectory, table: Table) -> None:
        """Read nothing yet: the log is opened when a method needs it. It does not have to exist."""
        self._directory = directory
        self._table = table
        self._root = directory.join(table.name)
        self._log_directory = f"{self._root}/_delta_log"
        self._address = directory.address(self._root)

    @cached_property
    def delta_table(self) -> DeltaTable | None:
        """The table as delta-rs has opened it; None if it has no version. Raises StorageError if it cannot be read."""
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError

        if self._directory.info(self._log_directory).type != FileType.Directory:
            return None
        with self.as_storage_error():
            try:
                delta_table = DeltaTable(self._address, storage_options=self._directory.options)
            except TableNotFoundError:  # A process was killed before it wrote the first version.
                return None
            reader_version = delta_table.protocol().min_reader_version
        if reader_version > 1:
            message = (
                f"another program added features to the table {self._address} (Delta reader version {reader_version}), "
                "which this one does not support; remove them with ALTER TABLE … DROP FEATURE"
            )
            raise StorageError(message)
        return delta_table

    def files(self) -> list[DataFile]:
        """Return the files of the table, sorted by date and path; none if the table has no version."""
        if self.delta_table is None:
            return []
        with self.as_storage_error():
            # pa.table() would import pandas, which takes 0.2 s.
            actions = pa.RecordBatchReader.from_stream(self.delta_table.get_add_actions(flatten=True)).read_all()
            rows = actions.select(["path", "num_records", "size_bytes", "partition.date"]).to_pylist()
            files = [self._data_file(row) for row in rows]
        return sorted(files, key=lambda file: (file.date, file.path))

    def _data_file(self, action: Mapping[str, Any]) -> DataFile:
        """Return the file of an add action, whose path is relative to the table and escaped as in a URI."""
        path = f"{self._root}/{unquote(action['path'])}"
        row_count = action["num_records"]
        if row_count is None:  # Other programs may add files without the number of their rows.
            row_count = pq.read_metadata(path, filesystem=self._directory.fs).num_rows
        return DataFile(self._table.name, str(action["partition.date"]), path, row_count, action["size_bytes"])

    def transactions(self) -> dict[str, int]:
        """Return the newest version of each application that has committed transactions; empty if there is no table.

        This reads the current files of the log once; delta-rs would read all of them for each application. A log is its
        last Parquet checkpoint, if there is one, and the commits after it (Delta's PROTOCOL.md, "Checkpoints" and
        "Transaction Identifiers").
        """
        if self.delta_table is None:  # A log that lacks a version raises StorageError here.
            return {}
        log_names = self._directory.names(self._log_directory)
        checkpoint = max((name[:_DIGITS] for name in log_names if name.endswith(".parquet")), default="")
        versions: dict[str, int] = {}
        with self.as_storage_error():
            for name in log_names:  # In ascending order, so later versions replace earlier ones.
                version = name[:_DIGITS]
                if version == checkpoint and name.endswith(".parquet"):  # A checkpoint may have several files.
                    versions.update(self._read_checkpoint(name))
                elif version > checkpoint and name[_DIGITS:] == ".json":
                    versions.update(self._read_commit(name))
        return versions

    def _read_checkpoint(self, name: str) -> dict[str, int]:
        """Return the version of each application in a Parquet file of the log."""
        rows = pq.ParquetFile(f"{self._log_directory}/{name}", filesystem=self._directory.fs).read(["txn"])
        return {row["appId"]: row["version"] for row in rows["txn"].drop_null().to_pylist()}

    def _read_commit(self, name: str) -> dict[str, int]:
        """Return the version of each application in a commit, a file with one action as a JSON object in each line."""
        with self._directory.fs.open_input_stream(f"{self._log_directory}/{name}") as file:
            lines = bytes(file.read()).splitlines()
        # Lines of files are long, and are not parsed.
        actions = [json.loads(line) for line in lines if b'"txn"' in line]
        transactions = [action["txn"] for action in actions if "txn" in action]
        return {transaction["appId"]: transaction["version"] for transaction in transactions}

    def commit(
        self,
        *,
        files_to_add: Sequence[NewFile] = (),
        files_to_remove: Sequence[DataFile] = (),
        transactions: Mapping[str, int] = MappingProxyType({}),
        expected_versions: Mapping[str, int | None] = MappingProxyType({}),
        keeps_rows: bool = False,
    ) -> None:
        """Write one new version of the table, with some files added and others removed; create the table if need be.

        - Files to add lie in the table's directories, and are flushed to the disk first.
        - `transactions` are recorded as the versions of their applications.
        - `expected_versions` are the versions that applications must have now; None if an application must have no
          version. So one of two simultaneous commits of an application is refused.
        - `keeps_rows` declares that the added and the removed files have the same rows.

        Raises StorageError, and changes nothing, if an expected version differs, or if the table no longer has all of
        the files to remove.
        """
        from deltalake.exceptions import CommitFailedError

        self._directory.flush([file.path for file in files_to_add])
        actions = self._make_actions(files_to_add, files_to_remove, is_change=not keeps_rows)
        # delta-rs lets two commits remove the same file if the first one declares that no row changes. It does not know
        # `expected_versions`, either. So these commits may only follow the version that was checked.
        must_follow_version = bool(files_to_remove or expected_versions)
        properties = _make_commit_properties(transactions, max_retries=0 if must_follow_version else None)
        for attempt in range(1, _ATTEMPTS + 1):
            with self.as_storage_error("change"):
                try:
                    table = self._prepare_table()
                    version = table.version()
                    self._check_unchanged(files_to_remove, expected_versions)
                    table.create_write_transaction(
                        actions, "append", table.schema(), _PARTITIONED_BY, commit_properties=properties
                    )
                except CommitFailedError:  # Another program was faster.
                    if attempt == _ATTEMPTS or (transactions and not expected_versions):
                        raise
                    del self.delta_table
                else:
                    self._flush_versions_after(version)
                    return

    def _make_actions(
        self, files_to_add: Sequence[NewFile], files_to_remove: Sequence[DataFile], *, is_change: bool
    ) -> list[AddAction | RemoveAction]:
        """Return the actions of the log that remove and add these files, with paths relative to the table's directory.

        `is_change` is false if the added files have the rows of the removed ones.
        """
        from deltalake.transaction import AddAction, RemoveAction

        now_ms = time.time_ns() // 1_000_000
        actions: list[AddAction | RemoveAction] = []
        for file in files_to_remove:
            path = file.path.removeprefix(f"{self._root}/")
            actions.append(RemoveAction(path, is_change, now_ms, file.bytes, {"date": file.date}))
        for file in files_to_add:
            path = file.path.removeprefix(f"{self._root}/")
            statistics = json.dumps({"numRecords": file.rows})
            actions.append(AddAction(path, file.bytes, {"date": file.date}, now_ms, is_change, statistics))
        return actions

    def vacuum(self) -> None:
        """Delete the files in the table's directories that no longer belong to the table, or never did.

        These are files that were removed more than a day ago, and files older than a day that were never committed. Do
        not use this object afterwards, because a vacuum writes versions of its own.
        """
        if self.delta_table is None:
            return
        options: dict[str, Any] = {
            "retention_hours": _REMOVED_FILES_H,
            "enforce_retention_duration": False,
            "full": True,
        }
        with self.as_storage_error("clean"):
            # A vacuum writes two versions, also if it deletes nothing.
            if self.delta_table.vacuum(dry_run=True, **options):
                self.delta_table.vacuum(dry_run=False, **options)

    @contextmanager
    def as_storage_error(self, verb: str = "read") -> Iterator[None]:
        """Turn errors of Delta, Arrow, JSON and the file system in the block into StorageError.

        The error is "cannot <verb> the table <address>: <next step>". StorageErrors of the block pass
        unchanged.
        """
        from deltalake.exceptions import DeltaError

        try:
            yield
        except (DeltaError, OSError, ValueError) as error:
            message = f"cannot {verb} the table {self._address}: {next_step(error)}"
            raise StorageError(message) from error

    def _prepare_table(self) -> DeltaTable:
        """Return the table with all columns of this version of the program; make it if it has no version.

        Columns that the table lacks are added to it, with a version of their own.
        """
        from deltalake import DeltaTable, Schema

        schema = Schema.from_arrow(self._table.arrow().append(pa.field("date", pa.date32())))
        if self.delta_table is None:
            self._directory.make_parent(self._log_directory)
            DeltaTable.create(
                self._address,
                schema,
                mode="ignore",
                partition_by=_PARTITIONED_BY,
                name=self._table.name,
                description=self._table.about,
                configuration=_PROPERTIES,
                storage_options=self._directory.options,
            )
            del self.delta_table  # Another program may have made the table, and committed to it, at the same time.
        table = self.delta_table
        assert table is not None
        known_names = {field.name for field in table.schema().fields}
        new_fields = [field for field in schema.fields if field.name not in known_names]
        if new_fields:
            table.alter.add_columns(new_fields)
        return table

    def _flush_versions_after(self, version: int) -> None:
        """Wait until the log's versions after this one are on the disk: delta-rs leaves that to the kernel."""
        if self._directory.is_local:
            log_names = [name for name in self._directory.names(self._log_directory) if name[_DIGITS:] == ".json"]
            names_after = [name for name in log_names if name[:_DIGITS] > f"{version:0{_DIGITS}}"]
            self._directory.flush([f"{self._log_directory}/{name}" for name in names_after])

    def _check_unchanged(
        self, files_to_remove: Sequence[DataFile], expected_versions: Mapping[str, int | None]
    ) -> None:
        """Raise StorageError if an application does not have the expected version, or the table lacks a file to remove.

        None is expected where an application must have no version yet.
        """
        versions = self.transactions() if expected_versions else {}
        has_expected_versions = all(
            versions.get(application) == version for application, version in expected_versions.items()
        )
        current_paths = {file.path for file in self.files()} if files_to_remove else set()
        if not has_expected_versions or not current_paths.issuperset(file.path for file in files_to_remove):
            message = (
                f"the table {self._address} was changed by another program meanwhile; it was left as it is; run the "
                "command again"
            )
            raise StorageError(message)


def _make_commit_properties(transactions: Mapping[str, int], max_retries: int | None) -> CommitProperties:
    """Return the properties of a commit for delta-rs; `max_retries` is the number of retries on later versions."""
    from deltalake.transaction import CommitProperties, Transaction

    app_transactions = [Transaction(application, version) for application, version in transactions.items()]
    return CommitProperties(app_transactions=app_transactions or None, max_commit_retries=max_retries)
