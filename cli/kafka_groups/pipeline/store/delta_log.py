"""The log of one Delta table, through delta-rs: which files are the table, and commits that change that."""

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
from kafka_groups.pipeline.store.layout import DataFile, NewFile
from kafka_groups.pipeline.store.root_directory import RootDirectory, next_step
from kafka_groups.pipeline.tables import Table

if TYPE_CHECKING:
    from deltalake import DeltaTable

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
_ATTEMPTS: Final = 10


class DeltaLog:
    """The log of a table as it was when it was first looked at. One that has committed has done its work.

    A commit fails with StorageError, and nothing is changed, if another changed meanwhile what it rests on.
    """

    def __init__(self, place: RootDirectory, table: Table) -> None:
        self._place, self._table = place, table
        self._root = place.join(table.name)
        self._log = f"{self._root}/_delta_log"
        self._address = place.address(self._root)

    @cached_property
    def opened(self) -> DeltaTable | None:
        """The table as delta-rs has it; None if it has no version."""
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError

        if self._place.info(self._log).type != FileType.Directory:
            return None
        with self.as_storage_error():
            try:
                table = DeltaTable(self._address, storage_options=self._place.options)
            except TableNotFoundError:  # killed before its first version
                return None
            wanted = table.protocol().min_reader_version
        if wanted > 1:
            message = (
                f"another program added features to the table {self._address} (Delta reader version {wanted}), which "
                "this one does not support; remove them with ALTER TABLE … DROP FEATURE"
            )
            raise StorageError(message)
        return table

    def files(self) -> list[DataFile]:
        """Return the files that are the table, by date and path."""
        if self.opened is None:
            return []
        with self.as_storage_error():
            # pa.table() would import pandas, which takes 0.2 s.
            actions = pa.RecordBatchReader.from_stream(self.opened.get_add_actions(flatten=True)).read_all()
            found = []
            for row in actions.select(["path", "num_records", "size_bytes", "partition.date"]).to_pylist():
                name, rows, size, date = row.values()
                path = f"{self._root}/{unquote(name)}"
                if rows is None:  # other programs may add files without the number of their rows
                    rows = pq.read_metadata(path, filesystem=self._place.fs).num_rows
                found.append(DataFile(self._table.name, str(date), path, rows, size))
        return sorted(found, key=lambda file: (file.date, file.path))

    def transactions(self) -> dict[str, int]:
        """Return the last version of each application that has committed transactions, now.

        delta-rs reads the log again for each one that is requested. A log is a Parquet checkpoint, if there is one, and
        the commits after it, a JSON object a line (Delta's PROTOCOL.md, "Checkpoints" and "Transaction Identifiers").
        """
        if self.opened is None:  # which a damaged log fails at
            return {}
        names = self._place.names(self._log)
        last = max((name[:20] for name in names if name.endswith(".parquet")), default="")
        found: dict[str, int] = {}
        with self.as_storage_error():
            for name in names:
                if name[:20] == last and name.endswith(".parquet"):  # of which other programs may write several
                    rows = pq.ParquetFile(f"{self._log}/{name}", filesystem=self._place.fs).read(["txn"])["txn"]
                    found.update((row["appId"], row["version"]) for row in rows.drop_null().to_pylist())
                elif name[:20] > last and name[20:] == ".json":
                    with self._place.fs.open_input_stream(f"{self._log}/{name}") as file:
                        actions = [json.loads(line) for line in bytes(file.read()).splitlines() if b'"txn"' in line]
                    found.update((each["txn"]["appId"], each["txn"]["version"]) for each in actions if "txn" in each)
        return found

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

        `transactions` are versions of applications (`txn` in Delta's log); those before them have to be `expected`, so
        that of two commits at once one is refused. A commit is refused, too, if one of the files to remove is deleted.
        `same_rows` says that what comes and what goes have the same rows.
        """
        from deltalake.exceptions import CommitFailedError
        from deltalake.transaction import AddAction, CommitProperties, RemoveAction, Transaction

        self._place.flush([file.path for file in add])
        names = {file: file.path.removeprefix(f"{self._root}/") for file in (*remove, *add)}
        is_changed, now_ms = not same_rows, time.time_ns() // 1_000_000
        actions: list[AddAction | RemoveAction] = [
            RemoveAction(names[file], is_changed, now_ms, file.bytes, {"date": file.date}) for file in remove
        ]
        for file in add:
            stats = json.dumps({"numRecords": file.rows})
            actions.append(AddAction(names[file], file.bytes, {"date": file.date}, now_ms, is_changed, stats))
        # delta-rs lets two commits remove the same file if the first one says that no row changes, and it does not know
        # of `expected`: such commits are made on the version that was checked, and on no later one.
        properties = CommitProperties(
            app_transactions=[Transaction(*each) for each in transactions.items()] or None,
            max_commit_retries=0 if remove or expected else None,
        )
        for attempt in range(1, _ATTEMPTS + 1):
            with self.as_storage_error("change"):
                try:
                    table = self._prepared()
                    before = table.version()
                    self._check_unchanged(remove, expected)
                    table.create_write_transaction(
                        actions, "append", table.schema(), _PARTITIONED_BY, commit_properties=properties
                    )
                except CommitFailedError:  # another program was faster
                    if attempt == _ATTEMPTS or (transactions and not expected):
                        raise
                    del self.opened
                else:
                    self._flush_versions(before)
                    return

    def vacuum(self) -> None:
        """Delete files that are not in the table, and have not been for a day."""
        if self.opened is None:
            return
        with self.as_storage_error("clean"):
            wanted: dict[str, Any] = {"retention_hours": _KEPT_H, "enforce_retention_duration": False, "full": True}
            # Each cleaning is two versions of its own, so there has to be something to clean.
            if self.opened.vacuum(dry_run=True, **wanted):
                self.opened.vacuum(dry_run=False, **wanted)

    @contextmanager
    def as_storage_error(self, what: str = "read") -> Iterator[None]:
        """Turn errors inside into StorageError: `what` was not possible with the table."""
        from deltalake.exceptions import DeltaError

        try:
            yield
        except (DeltaError, OSError, ValueError) as error:
            message = f"cannot {what} the table {self._address}: {next_step(error)}"
            raise StorageError(message) from error

    def _prepared(self) -> DeltaTable:
        """Return the newest version, of a table that is made if need be, with columns that older ones did not know."""
        from deltalake import DeltaTable, Schema

        schema = Schema.from_arrow(self._table.arrow().append(pa.field("date", pa.date32())))
        if self.opened is None:
            self._place.make_parent(self._log)
            DeltaTable.create(
                self._address,
                schema,
                mode="ignore",
                partition_by=_PARTITIONED_BY,
                name=self._table.name,
                description=self._table.about,
                configuration=_PROPERTIES,
                storage_options=self._place.options,
            )
            del self.opened  # what others did meanwhile has to be seen
        table = self.opened
        assert table is not None
        there = {field.name for field in table.schema().fields}
        if lacking := [field for field in schema.fields if field.name not in there]:
            table.alter.add_columns(lacking)
        return table

    def _flush_versions(self, before: int) -> None:
        """Wait until the versions after this one are on the disk, which delta-rs leaves to the kernel."""
        if self._place.is_local:
            names = [name for name in self._place.names(self._log) if name[20:] == ".json"]
            self._place.flush([f"{self._log}/{name}" for name in names if name[:20] > f"{before:020}"])

    def _check_unchanged(self, remove: Sequence[DataFile], expected: Mapping[str, int | None]) -> None:
        found = self.transactions() if expected else {}
        is_changed = any(found.get(application) != version for application, version in expected.items())
        there = {file.path for file in self.files()} if remove else set()
        if is_changed or not there.issuperset(file.path for file in remove):
            message = (
                f"the table {self._address} was changed by another program meanwhile; it was left as it is; run the "
                "command again"
            )
            raise StorageError(message)
