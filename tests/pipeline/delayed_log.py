"""A log of a Delta table that holds its commits in memory until something reads the Delta table itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import pytest
from pyarrow.fs import FileType

from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.store.data_files import DataFile, NewFile
from kafka_groups.pipeline.store.delta_log import DeltaLog
from kafka_groups.pipeline.store.root_directory import RootDirectory
from kafka_groups.pipeline.tables import STORED_TABLES, Table

if TYPE_CHECKING:
    from deltalake import DeltaTable


@dataclass(slots=True)
class Commits:
    """The commits of one table: what its log returns after them, and those that its Delta log lacks."""

    files: list[DataFile]
    versions: dict[str, int]
    held: list[dict[str, Any]] = field(default_factory=list)


# The commits of each table, by the table's address.
_COMMITS: Final[dict[str, Commits]] = {}


class DelayedLog(DeltaLog):
    """A log that writes its commits when a query, a vacuum or a test first reads the Delta table.

    Opening, creating and changing Delta tables takes half of the time of a small build, and most builds of tests read
    none. Other processes must not use the tables: they see no commit that is held. tests/pipeline/store tests the
    Delta log, and test_delayed_log.py holds this one equal to it.
    """

    def __init__(self, directory: RootDirectory, table: Table) -> None:
        """Take the commits that earlier logs of this table hold; those of the Delta log if there are none."""
        super().__init__(directory, table)
        commits = _COMMITS.get(self._address)
        if commits is None or self._is_deleted(commits):
            log = DeltaLog(directory, table)
            commits = _COMMITS[self._address] = Commits(log.files(), log.transactions())
        self._commits = commits

    def _is_deleted(self, commits: Commits) -> bool:
        """Return whether a test deleted the directory of a table that had files."""
        return bool(commits.files) and self._directory.info(self._root).type != FileType.Directory

    @cached_property
    def delta_table(self) -> DeltaTable | None:
        """The Delta table with all commits, which are written now; None if it has no version."""
        held = self._commits.held
        self._commits.held = []
        for commit in held:
            DeltaLog(self._directory, self._table).commit(**commit)
        return DeltaLog(self._directory, self._table).delta_table

    def files(self) -> list[DataFile]:
        """Return the files of the table, sorted by date and path."""
        return sorted(self._commits.files, key=lambda file: (file.date, file.path))

    def transactions(self) -> dict[str, int]:
        """Return the newest version of each application."""
        return dict(self._commits.versions)

    def commit(
        self,
        *,
        files_to_add: Sequence[NewFile] = (),
        files_to_remove: Sequence[DataFile] = (),
        transactions: Mapping[str, int] = MappingProxyType({}),
        expected_versions: Mapping[str, int | None] = MappingProxyType({}),
        keeps_rows: bool = False,
    ) -> None:
        """Hold the commit, or raise StorageError if the Delta log would refuse it."""
        self._check_unchanged(files_to_remove, expected_versions)
        options = {"transactions": transactions, "expected_versions": expected_versions, "keeps_rows": keeps_rows}
        self._commits.held.append({"files_to_add": files_to_add, "files_to_remove": files_to_remove, **options})
        removed_paths = {file.path for file in files_to_remove}
        self._commits.files = [file for file in self._commits.files if file.path not in removed_paths]
        self._commits.files.extend(files_to_add)
        self._commits.versions.update(transactions)


@pytest.fixture(scope="module", autouse=True)
def delayed_commits() -> Iterator[None]:
    """Let storages of a module's tests use this log. A module that needs Delta logs overrides the fixture."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kafka_groups.pipeline.store.storage.DeltaLog", DelayedLog)
        yield


def write_commits(storage: Storage) -> None:
    """Write the commits that logs of the storage hold, for a program that reads its directory."""
    for table in STORED_TABLES.values():
        _ = storage.log(table).delta_table
