"""The doctor's checks of tables."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kafka_groups.pipeline.doctor.check import Check
from kafka_groups.pipeline.doctor.table_checks import check_tables
from kafka_groups.pipeline.facts.source.position import Position
from kafka_groups.pipeline.facts.source.table_positions import commit_batch, read_position
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import INGEST_GAPS, UNKNOWN_RECORDS, Table
from tests.pipeline.store.commits import append, commits, written

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)


def rows(table: Table, *found: dict[str, Any]) -> pa.Table:
    """Return rows of a table with these values, and null elsewhere."""
    empty = dict.fromkeys(column.name for column in table.columns)
    return pa.Table.from_pylist([{**empty, table.time_column: NOW, **row} for row in found], schema=table.arrow())


def gap(start: int, until: int, missing: int, reason: str) -> dict[str, Any]:
    """Return a gap: offsets of partition 0 without a record."""
    found = {"cluster_id": "c", "source_partition": 0, "first_offset": start, "last_offset": until}
    return found | {"missing": missing, "reason": reason}


def checks_of(storage: Storage, cluster_id: str | None = None, log: Position | None = None) -> dict[str, Check]:
    """Return the checks of a directory, by name."""
    return {check.check: check for check in check_tables(storage.location, cluster_id, log)}


def read_until(storage: Storage, cluster_id: str, ends: dict[int, int], topic_id: str | None = None) -> None:
    """Write what an ingest writes: a batch of one commit ended at these offsets."""
    files = written(storage, commits([1], cluster=cluster_id))
    commit_batch(
        storage, files, cluster_id, read_position(storage, cluster_id, topic_id, ends), Position(topic_id, ends)
    )


def test_in_new_tables_only_the_missing_ingest_is_a_warning(storage: Storage) -> None:
    found = checks_of(storage)
    assert {name: check.status for name, check in found.items()} == {
        "tables": "ok",
        "unknown records": "ok",
        "gaps": "ok",
        "ingest": "warning",
    }
    assert found["tables"].detail == "schema version 7; no rows yet"


def test_unknown_records_are_reported_by_type(storage: Storage) -> None:
    kinds = [(24, 0), (24, 0), (1, 9)]
    found = [
        {"cluster_id": "c", "source_partition": 0, "source_offset": at, "record_type": kind, "value_version": version}
        for at, (kind, version) in enumerate(kinds)
    ]
    append(storage, "x", rows(UNKNOWN_RECORDS, *found), table=UNKNOWN_RECORDS)
    # What was read again does not count twice.
    append(storage, "y", rows(UNKNOWN_RECORDS, *found[:2]), table=UNKNOWN_RECORDS)
    check = checks_of(storage)["unknown records"]
    assert check.status == "warning"
    assert check.detail.startswith(
        "3 records were not decoded, and are kept (type 24 version 0: 2, type 1 version 9: 1)"
    )


def test_deleted_records_are_a_warning_and_compacted_ones_are_not(storage: Storage) -> None:
    append(storage, "x", rows(INGEST_GAPS, gap(0, 99, 5, "compacted")), table=INGEST_GAPS)
    assert checks_of(storage)["gaps"] == Check("gaps", "ok", "compacted: 5 offsets")
    append(storage, "y", rows(INGEST_GAPS, gap(0, 1_199, 1_200, "deleted")), table=INGEST_GAPS)
    assert checks_of(storage)["gaps"] == Check("gaps", "warning", "compacted: 5 offsets, deleted: 1,200 offsets")


@pytest.mark.parametrize(
    ("again", "reported"),
    [
        ([(0, 49, 50), (50, 99, 50)], "100"),  # the same, cut otherwise
        ([(0, 149, 150)], "150"),
        ([(50, 149, 100)], "150"),
        ([(100, 149, 50)], "150"),
    ],
)
def test_a_range_that_is_reported_twice_counts_once(
    storage: Storage, again: list[tuple[int, int, int]], reported: str
) -> None:
    """A topic that is read again is cut into other pieces."""
    append(storage, "x", rows(INGEST_GAPS, gap(0, 99, 100, "deleted")), table=INGEST_GAPS)
    append(storage, "y", rows(INGEST_GAPS, *(gap(*each, "deleted") for each in again)), table=INGEST_GAPS)
    append(storage, "z", rows(INGEST_GAPS, gap(0, 9, 10, "deleted") | {"source_partition": 1}), table=INGEST_GAPS)
    assert checks_of(storage)["gaps"].detail == f"deleted: {int(reported) + 10} offsets"


def test_the_offsets_that_ingest_has_left_to_read_are_counted(storage: Storage) -> None:
    read_until(storage, "mine", {0: 10, 1: 5})
    ingest = checks_of(storage, "mine", Position(None, {0: 12, 1: 5, 2: 3}))["ingest"]
    assert ingest == Check("ingest", "ok", "5 offsets are left to read")
    assert checks_of(storage)["ingest"].detail == "it has run for mine"
    assert checks_of(storage, "other", Position(None, {0: 1}))["ingest"].status == "warning"


def test_a_topic_that_is_not_the_one_that_was_read_fails(storage: Storage) -> None:
    read_until(storage, "mine", {0: 10, 1: 5}, "old")
    recreated = checks_of(storage, "mine", Position("new", {0: 12, 1: 8}))["ingest"]
    cut = checks_of(storage, "mine", Position("old", {0: 12, 1: 4}))["ingest"]
    deleted = checks_of(storage, "mine", Position(None, {}))["ingest"]
    assert {found.status for found in (recreated, cut, deleted)} == {"failed"}
    assert "was recreated: its topic id is new now" in recreated.detail
    assert "partition 1 of __consumer_offsets ends at 4, but was read up to offset 5" in cut.detail
    assert "use a new directory (--data-dir)" in cut.detail
    assert "__consumer_offsets was read, and does not exist any more" in deleted.detail


def test_without_known_log_ends_the_backlog_is_unknown(storage: Storage) -> None:
    read_until(storage, "mine", {0: 10})
    found = checks_of(storage, "mine")["ingest"]
    assert (found.status, "its backlog is unknown" in found.detail) == ("warning", True)


def test_a_directory_of_another_program_fails_and_is_not_changed(tmp_path: Path) -> None:
    (tmp_path / "letters").write_text("mine")
    (found,) = check_tables(str(tmp_path), None, None)
    assert (found.check, found.status) == ("tables", "failed")
    assert [path.name for path in tmp_path.iterdir()] == ["letters"]


def test_a_file_that_is_not_parquet_fails_with_the_name_of_its_table(storage: Storage) -> None:
    append(storage, "x", rows(INGEST_GAPS, {"missing": 5, "reason": "compacted"}), table=INGEST_GAPS)
    (file,) = Path(storage.location).glob("ingest_gaps/*/*.parquet")
    file.write_bytes(b"no parquet")
    found = checks_of(storage)["tables"]
    assert found.status == "failed"
    assert f"cannot read the table {storage.location}/ingest_gaps: " in found.detail
