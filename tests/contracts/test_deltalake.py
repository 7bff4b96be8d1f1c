"""What this tool relies on in deltalake, call by call; a new release that differs fails here first."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, QueryBuilder, Schema
from deltalake.exceptions import CommitFailedError, DeltaError
from deltalake.transaction import AddAction, CommitProperties, RemoveAction, Transaction

SCHEMA = Schema.from_arrow(pa.schema([("number", pa.int64()), ("date", pa.date32())]))
DAY = "2026-11-23"


@pytest.fixture
def table(tmp_path: Path) -> DeltaTable:
    return DeltaTable.create(str(tmp_path / "t"), SCHEMA, partition_by=["date"])


def root_of(table: DeltaTable) -> Path:
    return Path(table.table_uri.removeprefix("file://"))


def write_file(table: DeltaTable, name: str, rows: int = 1) -> AddAction:
    """Write a file in the directory of the table, and return the action that adds it."""
    path = root_of(table) / f"date={DAY}" / name
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({"number": range(rows)}), path)
    statistics = json.dumps({"numRecords": rows})
    return AddAction(f"date={DAY}/{name}", path.stat().st_size, {"date": DAY}, 0, True, statistics)


def remove(name: str) -> RemoveAction:
    return RemoveAction(f"date={DAY}/{name}", True, time.time_ns() // 1_000_000, 1, {"date": DAY})


def commit(table: DeltaTable, actions: list[AddAction | RemoveAction], *transactions: Transaction) -> None:
    properties = CommitProperties(app_transactions=list(transactions) or None, custom_metadata={"by": "us"})
    table.create_write_transaction(actions, "append", table.schema(), ["date"], commit_properties=properties)
    table.update_incremental()


def names_in(table: DeltaTable) -> list[str]:
    return sorted(path.rpartition("/")[2] for path in table.file_uris())


def test_a_table_that_is_there_is_not_created_again(table: DeltaTable) -> None:
    commit(table, [write_file(table, "a.parquet")])
    again = DeltaTable.create(str(root_of(table)), SCHEMA, mode="ignore", partition_by=["date"])
    assert (again.version(), names_in(again)) == (1, ["a.parquet"])


def test_the_files_of_a_version_have_their_sizes_rows_and_partition(table: DeltaTable) -> None:
    action = write_file(table, "a b.parquet", rows=3)
    commit(table, [action])
    (file,) = pa.table(table.get_add_actions(flatten=True)).to_pylist()
    assert (file["size_bytes"], file["num_records"], str(file["partition.date"])) == (action.size, 3, DAY)
    assert file["path"].startswith(f"date={DAY}/a")


def test_files_come_and_go_in_one_version(table: DeltaTable) -> None:
    commit(table, [write_file(table, "a.parquet")])
    commit(table, [remove("a.parquet"), write_file(table, "b.parquet")])
    assert (table.version(), names_in(table)) == (2, ["b.parquet"])


def test_a_transaction_is_refused_only_to_a_writer_that_did_not_see_it(table: DeltaTable) -> None:
    other = DeltaTable(str(root_of(table)))
    commit(table, [write_file(table, "a.parquet")], Transaction("app", 5))
    with pytest.raises(CommitFailedError):
        commit(other, [write_file(table, "b.parquet")], Transaction("app", 5))
    # A writer that has seen it may repeat it, so the version has to be read first.
    assert table.transaction_version("app") == 5
    commit(table, [write_file(table, "c.parquet")], Transaction("app", 5))
    assert names_in(table) == ["a.parquet", "c.parquet"]
    assert table.transaction_version("another") is None


def test_a_file_that_another_has_removed_cannot_be_removed(table: DeltaTable) -> None:
    commit(table, [write_file(table, "a.parquet")])
    other = DeltaTable(str(root_of(table)))
    commit(table, [remove("a.parquet")])
    with pytest.raises(CommitFailedError, match=r"(?i)concurrent"):
        commit(other, [remove("a.parquet"), write_file(table, "b.parquet")])


def test_writers_that_only_add_do_not_disturb_each_other(table: DeltaTable) -> None:
    other = DeltaTable(str(root_of(table)))
    commit(table, [write_file(table, "a.parquet")])
    commit(other, [write_file(table, "b.parquet")])
    assert names_in(other) == ["a.parquet", "b.parquet"]


def test_transactions_and_files_survive_a_checkpoint_and_the_removal_of_the_log(table: DeltaTable) -> None:
    table.alter.set_table_properties({"delta.logRetentionDuration": "interval 0 days"})
    for number in range(3):
        commit(table, [write_file(table, f"{number}.parquet")], Transaction("app", number))
    for log in (root_of(table) / "_delta_log").iterdir():
        os.utime(log, (time.time() - 3 * 86_400,) * 2)
    table.create_checkpoint()
    table.cleanup_metadata()
    again = DeltaTable(str(root_of(table)))
    assert again.transaction_version("app") == 2
    assert names_in(again) == ["0.parquet", "1.parquet", "2.parquet"]
    assert len(list((root_of(table) / "_delta_log").glob("*.json"))) < 5


def test_a_vacuum_names_and_deletes_what_has_been_in_no_version_for_long(table: DeltaTable) -> None:
    commit(table, [write_file(table, "a.parquet"), write_file(table, "gone.parquet")])
    commit(table, [remove("gone.parquet")])
    for name in ("stray.parquet", "young.parquet"):
        write_file(table, name)
    stray = root_of(table) / f"date={DAY}" / "stray.parquet"
    os.utime(stray, (time.time() - 3 * 86_400,) * 2)

    def vacuum(*, dry_run: bool) -> list[str]:
        return table.vacuum(24, dry_run=dry_run, enforce_retention_duration=False, full=True)

    assert [Path(path).name for path in vacuum(dry_run=True)] == ["stray.parquet"]
    assert stray.exists()
    vacuum(dry_run=False)
    left = sorted(path.name for path in stray.parent.iterdir())
    assert left == ["a.parquet", "gone.parquet", "young.parquet"]


def test_columns_are_added_to_a_table_with_rows(table: DeltaTable) -> None:
    commit(table, [write_file(table, "a.parquet")])
    table.alter.add_columns(Schema.from_arrow(pa.schema([("later", pa.string())])).fields)
    table.update_incremental()
    assert [field.name for field in table.schema().fields] == ["number", "date", "later"]
    assert table.protocol().min_reader_version == 1


def test_a_directory_without_a_version_is_no_table(tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    assert not DeltaTable.is_deltatable(str(tmp_path))


def test_queries_select_from_the_version_that_was_registered(table: DeltaTable) -> None:
    commit(table, [write_file(table, "a", rows=3)])
    registered = DeltaTable(str(root_of(table)))
    builder = QueryBuilder().register("numbers", registered)
    commit(table, [write_file(table, "b", rows=9)])
    sql = """
        SELECT date, count(*) AS "rows", last_value(number ORDER BY number) FILTER (WHERE number < 2) AS last
        FROM numbers WHERE date BETWEEN DATE '2026-11-01' AND DATE '2026-11-30' GROUP BY date
    """
    (row,) = pa.RecordBatchReader.from_stream(builder.execute(sql)).read_all().to_pylist()
    assert (str(row["date"]), row["rows"], row["last"]) == (DAY, 3, 1)
    with pytest.raises(DeltaError, match="no_such"):
        builder.execute("SELECT no_such FROM numbers").read_all()
