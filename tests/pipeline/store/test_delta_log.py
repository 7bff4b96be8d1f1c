"""Delta tables: versions, transactions, readers of old versions."""

from __future__ import annotations

import datetime as dt
import os
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, TableFeatures

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.store import delta_log as log_module
from kafka_groups.pipeline.store.compaction import compact
from kafka_groups.pipeline.store.delta_log import DeltaLog
from kafka_groups.pipeline.store.retention import uniform_retention
from kafka_groups.pipeline.tables import GROUP_EVENTS, INGEST_GAPS, OFFSET_COMMITS, Table
from tests.pipeline.store.commits import (
    FIRST,
    append,
    append_at_once,
    commits,
    count_rows,
    delta_rows,
    places,
    rows_of,
    seen,
    written,
)
from tests.pipeline.store.conftest import KilledError

NOW = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)
APPLICATIONS = [f"cluster/{number}" for number in range(8)]
_THREE_DAYS_S = 3 * 86_400


def table_of(storage: Storage, table: Table = OFFSET_COMMITS) -> DeltaTable:
    return DeltaTable(str(Path(storage.location, table.name)))


def gaps(*offsets: int) -> pa.Table:
    return rows_of(INGEST_GAPS, [{"cluster_id": "here", "first_offset": one, "found_at": FIRST} for one in offsets])


def data_files(storage: Storage) -> list[Path]:
    return sorted(Path(storage.location, OFFSET_COMMITS.name).glob("date=*/*.parquet"))


def test_each_table_of_a_batch_records_its_transactions(storage: Storage) -> None:
    both = [OFFSET_COMMITS, INGEST_GAPS]
    files = [*written(storage, commits([1])), *written(storage, gaps(5), table=INGEST_GAPS)]
    storage.append(files, {"app/0": 7, "app/1": 3}, tables=both)
    storage.append(written(storage, commits([2])), {"app/0": 9}, tables=both)
    for table in both:
        assert storage.versions_of(table, ["app/0", "app/1", "app/2"]) == {"app/0": 9, "app/1": 3}
    assert storage.versions_of(GROUP_EVENTS, ["app/0"]) == {}
    assert (seen(storage), count_rows(storage, INGEST_GAPS)) == (Counter([1, 2]), 1)


def test_an_old_version_can_be_read_after_its_files_were_joined(storage: Storage) -> None:
    append_at_once(storage, {f"w-{number:08}": [commits([number])] for number in range(5)})
    old = table_of(storage)
    before = old.to_pyarrow_table().sort_by("source_offset")
    assert compact(storage, now=NOW).files_before == 5
    assert old.to_pyarrow_table().sort_by("source_offset").equals(before)
    assert len(data_files(storage)) == 6
    assert seen(storage) == Counter(range(5))


def test_removed_files_are_deleted_after_a_day(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    append_at_once(storage, {f"w-{number:08}": [commits([number])] for number in range(5)})
    compact(storage, now=NOW)
    version = table_of(storage).version()
    compact(storage, now=NOW)
    assert (len(data_files(storage)), table_of(storage).version()) == (6, version)
    monkeypatch.setattr(log_module, "_REMOVED_FILES_H", 0)
    compact(storage, now=NOW)
    assert [file.name.partition(".")[0] for file in data_files(storage)] == ["compacted"]
    assert seen(storage) == Counter(range(5))


def test_files_without_a_commit_are_in_no_table_and_are_deleted(
    storage: Storage, kill_at: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    append(storage, "w-00000001", commits([1]))
    files = written(storage, commits([2], day=1))
    kill_at(1)
    with pytest.raises(KilledError):
        storage.append(files)
    kill_at(-1)
    assert len(data_files(storage)) == 2
    assert (seen(storage), count_rows(storage, OFFSET_COMMITS)) == (Counter([1]), 1)
    monkeypatch.setattr(log_module, "_REMOVED_FILES_H", 0)
    DeltaLog(storage.directory, OFFSET_COMMITS).vacuum()
    assert len(data_files(storage)) == 1


def test_each_old_date_is_removed_by_a_version_of_its_own(storage: Storage) -> None:
    append_at_once(storage, {f"w-{day:08}": [commits([day], day=day)] for day in range(3)})
    done = compact(storage, retention=uniform_retention(dt.timedelta(days=1)), now=NOW)
    assert done.removed_table_dates == (("offset_commits", "2026-11-01"), ("offset_commits", "2026-11-02"))
    assert seen(storage) == Counter([2])
    assert table_of(storage).version() == 3


def test_removing_a_file_that_is_already_removed_is_refused(storage: Storage) -> None:
    append(storage, "w-00000001", commits([1]))
    one, other = DeltaLog(storage.directory, OFFSET_COMMITS), DeltaLog(storage.directory, OFFSET_COMMITS)
    deleted = other.files()
    one.commit(files_to_remove=one.files())
    with pytest.raises(StorageError, match=r"the table .*offset_commits was changed by another program meanwhile"):
        other.commit(files_to_remove=deleted)


def test_one_of_two_compactions_of_the_same_files_is_refused(storage: Storage) -> None:
    """The library would take both, because the first one says that it changes no row."""
    for number in range(2):
        append(storage, f"w-{number}", commits([number]))
    first, second = (written(storage, commits(range(2)), batch="compacted") for _ in range(2))
    old = storage.files(OFFSET_COMMITS)
    late = DeltaLog(storage.directory, OFFSET_COMMITS)
    assert late.files() == old
    assert storage.swap(OFFSET_COMMITS, old, first, keeps_rows=True)
    with pytest.raises(StorageError, match="was changed by another program meanwhile"):
        late.commit(files_to_add=second, files_to_remove=old, keeps_rows=True)
    assert seen(storage) == Counter(range(2))


def test_a_removal_succeeds_after_rows_were_added_meanwhile(storage: Storage) -> None:
    append(storage, "w-1", commits([1]))
    late = DeltaLog(storage.directory, OFFSET_COMMITS)
    old = late.files()
    append(storage, "w-2", commits([2]))
    late.commit(files_to_remove=old)
    assert seen(storage) == Counter([2])


def test_only_one_of_two_retentions_of_the_same_files_succeeds(storage: Storage) -> None:
    append(storage, "w-1", commits(range(4)))
    old = storage.files(OFFSET_COMMITS)
    for is_first in (True, False):
        kept = written(storage, commits([2]), batch="kept")
        assert storage.swap(OFFSET_COMMITS, old, kept, keeps_rows=False) == is_first
        assert Path(kept[0].path).exists() == is_first
    assert seen(storage) == Counter([2])


def test_a_table_that_another_program_just_made_is_read_again(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    create = DeltaTable.create

    def be_late(*given: Any, **named: Any) -> DeltaTable:
        monkeypatch.setattr(DeltaTable, "create", create)
        storage.append(written(storage, commits([1])), {"app": 5}, tables=[OFFSET_COMMITS])
        return create(*given, **named)

    monkeypatch.setattr(DeltaTable, "create", be_late)
    with pytest.raises(StorageError, match="was changed by another program meanwhile"):
        storage.append(written(storage, commits([2])), {"app": 6}, expected_versions={"offset_commits": {"app": None}})
    assert seen(storage) == Counter([1])


def test_one_of_two_writers_with_the_same_application_is_refused(storage: Storage) -> None:
    append(storage, "w-00000001", commits([1]))
    one, other = DeltaLog(storage.directory, OFFSET_COMMITS), DeltaLog(storage.directory, OFFSET_COMMITS)
    assert one.transactions() == other.transactions() == {}
    one.commit(transactions={"app": 2}, expected_versions={"app": None})
    with pytest.raises(StorageError, match=r"the table .*offset_commits was changed by another program meanwhile"):
        other.commit(transactions={"app": 2}, expected_versions={"app": None})


def test_many_versions_are_read_from_a_checkpoint(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    # delta-rs writes a checkpoint at every hundredth version, unless the table has another interval.
    monkeypatch.setitem(log_module._PROPERTIES, "delta.checkpointInterval", "3")
    for number in range(5):
        append(storage, f"w-{number:08}", commits([number]))
    assert list(Path(storage.location, "offset_commits/_delta_log").glob("*.checkpoint.parquet"))
    assert seen(storage) == Counter(range(5))
    append(storage, "w-00000005", commits([5]))
    assert table_of(storage).version() == 6
    assert count_rows(storage, OFFSET_COMMITS) == 6


def test_old_versions_are_deleted_with_a_checkpoint(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(log_module._PROPERTIES, "delta.checkpointInterval", "4")
    monkeypatch.setitem(log_module._PROPERTIES, "delta.logRetentionDuration", "interval 0 hours")
    for number in range(10):
        storage.append(written(storage, commits([number])), {"app": number}, tables=[OFFSET_COMMITS])
    assert len(list(Path(storage.location, "offset_commits/_delta_log").glob("*.json"))) < 5
    assert seen(storage) == Counter(range(10))
    assert table_of(storage).transaction_version("app") == 9


def test_versions_stay_for_two_hours(storage: Storage) -> None:
    append(storage, "w-00000001", commits([1]))
    properties = table_of(storage).metadata().configuration
    assert properties["delta.logRetentionDuration"] == "interval 2 hours"


def test_new_columns_are_added_to_the_table(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    append(storage, "sample-1", gaps(1), table=INGEST_GAPS)
    later = pa.field("later", pa.list_(pa.string()))
    monkeypatch.setattr(Table, "arrow", lambda table: table_arrow(table).append(later))
    row = {"first_offset": 2, "found_at": FIRST, "later": ["x"]}
    append(storage, "sample-2", rows_of(INGEST_GAPS, [row]), table=INGEST_GAPS)
    rows = delta_rows(storage, INGEST_GAPS).sort_by("first_offset")
    assert rows["later"].to_pylist() == [None, ["x"]]


table_arrow = Table.arrow


def test_features_that_this_reader_lacks_are_reported(storage: Storage) -> None:
    append(storage, "w-00000001", commits([1]))
    table_of(storage).alter.add_feature(TableFeatures.DeletionVectors, allow_protocol_versions_increase=True)
    with pytest.raises(StorageError, match="Delta reader version 3"):
        storage.files(OFFSET_COMMITS)


def test_a_log_that_cannot_be_read_is_reported(storage: Storage) -> None:
    append(storage, "w-00000001", commits([1]))
    Path(storage.location, "offset_commits/_delta_log/00000000000000000001.json").write_text("no JSON")
    with pytest.raises(StorageError, match=r"cannot read the table .*offset_commits"):
        count_rows(storage, OFFSET_COMMITS)


def test_a_log_without_a_version_gets_its_first_one(storage: Storage) -> None:
    Path(storage.location, "offset_commits/_delta_log").mkdir(parents=True)
    assert places(storage) == []
    append(storage, "w-00000001", commits([1]))
    assert seen(storage) == Counter([1])


@pytest.mark.parametrize("versions", [1, 2, 3, 7])
def test_transactions_are_those_that_delta_rs_reads(
    storage: Storage, monkeypatch: pytest.MonkeyPatch, versions: int
) -> None:
    monkeypatch.setitem(log_module._PROPERTIES, "delta.checkpointInterval", "3")
    for number in range(versions):
        moved = {each: 10 * number + place for place, each in enumerate(APPLICATIONS) if number % (place + 1) == 0}
        storage.append(written(storage, commits([number])), moved, tables=[OFFSET_COMMITS])
    table = table_of(storage)
    expected = {each: table.transaction_version(each) for each in APPLICATIONS}
    assert storage.versions_of(OFFSET_COMMITS, [*APPLICATIONS, "other"]) == expected
    checkpoints = list(Path(storage.location, "offset_commits/_delta_log").glob("*.checkpoint.parquet"))
    assert bool(checkpoints) == (versions >= 2)


def test_a_table_without_a_version_has_no_transactions(storage: Storage) -> None:
    assert storage.versions_of(OFFSET_COMMITS, APPLICATIONS) == {}


def test_a_vacuum_before_the_commit_keeps_files_that_were_written_long_ago(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A laptop sleeps over the weekend between writing and committing."""
    append(storage, "w-00000001", commits([1]))
    files = written(storage, commits([2, 3]))
    long_ago = time.time() - _THREE_DAYS_S
    for file in files:
        os.utime(file.path, (long_ago, long_ago))
    check = DeltaLog._check_unchanged

    def cleaned_before(log: DeltaLog, *given: Any) -> None:
        DeltaLog(storage.directory, OFFSET_COMMITS).vacuum()
        check(log, *given)

    monkeypatch.setattr(DeltaLog, "_check_unchanged", cleaned_before)
    storage.append(files)

    assert seen(storage) == Counter([1, 2, 3])


@pytest.mark.parametrize("number", [0, 1])
def test_transactions_of_a_log_that_lost_a_version_are_an_error(storage: Storage, number: int) -> None:
    for offset in range(3):
        storage.append(written(storage, commits([offset])), {"app": offset}, expected_versions={})
    Path(storage.directory.join("offset_commits"), "_delta_log", f"{number:020}.json").unlink()
    with pytest.raises(StorageError, match="cannot read the table"):
        storage.versions_of(OFFSET_COMMITS, ["app"])
