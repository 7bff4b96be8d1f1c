"""Tables as plain files."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.dataset as ds
import pytest

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.api import export
from kafka_groups.pipeline.store.plain_files import write_plain_files
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, REBALANCES, UNKNOWN_RECORDS
from tests.pipeline.fact_rows import NOON, commit, event, put_all

if TYPE_CHECKING:
    from kafka_groups.pipeline.store import Storage

DAY = 86_400
TABLES = (OFFSET_COMMITS, GROUP_EVENTS, REBALANCES)


@pytest.fixture
def filled(storage: Storage) -> Storage:
    """Commits of two days in three files, a record with members, and a sample that was not finished."""
    for number, place in enumerate((0, DAY, 1)):
        put_all(storage, f"b{number}", {"offset_commits": [commit(place, number, source=number, group='a "b", c')]})
    member = event(0, "generation", "GroupMetadata", source=5, epoch=1, members=[{"member_id": "m"}])
    put_all(storage, "e", {"group_events": [member]})
    put_all(storage, "sample-20261101T000000Z-x", {"offset_commits": [commit(5, 9)]})
    return storage


def test_parquet_files_have_the_rows_and_are_read_by_date(filled: Storage, tmp_path: Path) -> None:
    output = tmp_path / "plain"
    assert write_plain_files(filled, output, "parquet", TABLES) == {
        "offset_commits": 3,
        "group_events": 1,
        "rebalances": 0,
    }
    rows = ds.dataset(output / "offset_commits", partitioning="hive").to_table().to_pylist()
    assert sorted((str(row["date"]), row["committed_offset"], row["group"]) for row in rows) == [
        ("2026-11-20", 0, 'a "b", c'),
        ("2026-11-20", 2, 'a "b", c'),
        ("2026-11-21", 1, 'a "b", c'),
    ]
    assert rows[0].keys() == {*OFFSET_COMMITS.arrow().names, "date"}
    assert not [*output.rglob("*.part"), *output.glob("rebalances*")]


def test_csv_files_have_a_header_the_date_and_json_for_lists(filled: Storage, tmp_path: Path) -> None:
    write_plain_files(filled, tmp_path / "plain", "csv", TABLES)
    with (tmp_path / "plain" / "offset_commits.csv").open(newline="") as file:
        rows = [*csv.DictReader(file)]
    assert [(row["date"], row["group"], row["committed_offset"], row["metadata"]) for row in rows] == [
        ("2026-11-20", 'a "b", c', "0", ""),
        ("2026-11-20", 'a "b", c', "2", ""),
        ("2026-11-21", 'a "b", c', "1", ""),
    ]
    with (tmp_path / "plain" / "group_events.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert [member["member_id"] for member in json.loads(row["members"])] == ["m"]


def test_bytes_are_hexadecimal_in_csv(storage: Storage, tmp_path: Path) -> None:
    put_all(storage, "b", {"unknown_records": [{"cluster_id": "c", "record_time": NOON, "key": b"\x00\xff"}]})
    write_plain_files(storage, tmp_path / "plain", "csv", [UNKNOWN_RECORDS])
    with (tmp_path / "plain" / "unknown_records.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["key"], row["value"]) == ("00ff", "")


def test_a_directory_with_files_is_refused(filled: Storage, tmp_path: Path) -> None:
    (tmp_path / "mine").touch()
    with pytest.raises(StorageError, match="is not empty; name a new directory"):
        write_plain_files(filled, tmp_path, "csv", TABLES)
    assert not [*tmp_path.glob("*.csv")]


def test_an_address_of_a_store_is_refused(filled: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StorageError, match="plain files are written to a disk only; s3:/bucket/path is no directory"):
        write_plain_files(filled, Path("s3://bucket/path"), "csv", TABLES)
    assert not (tmp_path / "s3:").exists()


def test_a_misspelt_table_gets_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"there is no table 'lag_histroy'; .*; did you mean 'lag_history'\?$"):
        export(str(tmp_path), tmp_path / "out", kind="csv", tables=["lag_histroy"])
