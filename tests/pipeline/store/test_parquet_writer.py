"""Decoded records in files of the tables that they belong to."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.facts.decode.data_gaps import DataGap, gap_row
from kafka_groups.pipeline.facts.decode.decoded_records import rows_by_table
from kafka_groups.pipeline.facts.decode.records import RawRecords, decode
from kafka_groups.pipeline.store import new_writer
from kafka_groups.pipeline.store.parquet_writer import FileWriter
from kafka_groups.pipeline.tables import INGEST_GAPS, OFFSET_COMMITS, TABLES

DAY_MS = 86_400_000
NOON_MS = 20_000 * DAY_MS + DAY_MS // 2  # 2024-10-04


def commit_key(group: str = "g", topic: str = "t", partition: int = 0) -> bytes:
    texts = b"".join(len(text).to_bytes(2, "big") + text.encode() for text in (group, topic))
    return b"\0\1" + texts + partition.to_bytes(4, "big")


def commit_value(offset: int, at_ms: int) -> bytes:
    return b"\0\3" + offset.to_bytes(8, "big") + b"\xff\xff\xff\xff" + b"\0\0" + at_ms.to_bytes(8, "big", signed=True)


def decoded(*rows: tuple[bytes | None, bytes | None], at_ms: int = NOON_MS) -> pa.RecordBatch:
    """Decode such keys and values as records of partition 3."""
    columns = [list(range(len(rows))), [at_ms] * len(rows), [key for key, _ in rows], [value for _, value in rows]]
    return decode(pa.record_batch(columns, schema=RawRecords.schema()), "c", 3)


def parts(batch: pa.RecordBatch) -> dict[str, list[dict[str, object]]]:
    return {table.name: rows.to_pylist() for table, rows in rows_by_table(batch).items()}


def test_each_record_is_a_row_of_exactly_one_table() -> None:
    event = b"\0\2\0\1g"  # GroupMetadata, removed
    batch = decoded((commit_key(), commit_value(5, NOON_MS)), (event, None), (b"\x7f\x7f", b"x"))

    found = parts(batch)

    assert {name: len(rows) for name, rows in found.items()} == {
        "offset_commits": 1,
        "group_events": 1,
        "unknown_records": 1,
    }
    assert found["offset_commits"][0]["origin"] == found["group_events"][0]["origin"] == "topic"
    assert found["group_events"][0]["record_name"] == "GroupMetadata"
    assert found["unknown_records"][0]["key"] == b"\x7f\x7f"


def test_the_columns_are_exactly_those_of_the_tables() -> None:
    batch = decoded((commit_key(), commit_value(5, NOON_MS)), (b"\0\2\0\1g", None), (None, None))

    assert all(rows.schema == table.arrow() for table, rows in rows_by_table(batch).items())


def test_a_gap_is_a_row_of_ingest_gaps() -> None:
    rows = gap_row("c", 3, DataGap(5, 9, 2, "compacted"), found_at_ms=NOON_MS)

    ((table, part),) = rows_by_table(rows).items()

    assert table is INGEST_GAPS
    assert part.schema == table.arrow()
    assert [part[name][0].as_py() for name in ("first_offset", "last_offset", "missing", "reason")] == [
        5,
        9,
        2,
        "compacted",
    ]
    assert part["found_at"][0].as_py() is not None


def test_a_tombstone_has_the_time_of_its_record() -> None:
    (row,) = parts(decoded((commit_key(), None)))["offset_commits"]

    assert row["commit_time"] == row["record_time"]
    assert row["is_tombstone"] is True


def _write(into: Path, batch: pa.RecordBatch) -> FileWriter:
    writer = new_writer(str(into), "b")
    for table, rows in rows_by_table(batch).items():
        writer.write(table, rows)
    return writer


def test_rows_go_to_the_date_of_their_commit(tmp_path: Path) -> None:
    times = [NOON_MS, NOON_MS + DAY_MS, NOON_MS, NOON_MS - 1]
    batch = decoded(*((commit_key(), commit_value(at, at)) for at in times))

    files = _write(tmp_path, batch).close()

    assert {(file.date, file.rows) for file in files} == {("2024-10-04", 3), ("2024-10-05", 1)}
    assert sum(pq.read_metadata(file.path).num_rows for file in files) == 4
    for file in files:
        assert pq.read_schema(file.path).equals(TABLES[file.table].arrow())


@pytest.mark.parametrize("commit_ms", [-1, -10_000 * DAY_MS, 2**62, 200_000 * DAY_MS])
def test_an_impossible_time_gets_the_date_of_its_record(tmp_path: Path, commit_ms: int) -> None:
    (file,) = _write(tmp_path, decoded((commit_key(), commit_value(5, commit_ms)))).close()

    assert file.date == "2024-10-04"


def test_a_row_without_any_time_gets_the_first_date(tmp_path: Path) -> None:
    (file,) = _write(tmp_path, decoded((commit_key(), None), at_ms=-1)).close()

    assert file.date == "1970-01-01"


def test_no_row_of_a_hundred_dates_is_lost(tmp_path: Path) -> None:
    rows = [(commit_key(), commit_value(n, NOON_MS + (n % 100) * DAY_MS)) for n in range(300)]

    files = _write(tmp_path, decoded(*rows)).close()

    assert len({file.date for file in files}) == 100
    assert sum(file.rows for file in files) == 300


def test_a_failed_attempt_leaves_no_file(tmp_path: Path) -> None:
    rows = [(commit_key(), commit_value(n, NOON_MS + n * DAY_MS)) for n in range(40)]
    with pytest.raises(KeyboardInterrupt), _write(tmp_path, decoded(*rows)):
        raise KeyboardInterrupt

    assert list(tmp_path.rglob("*.parquet")) == []


def test_a_writer_without_rows_writes_no_file(tmp_path: Path) -> None:
    writer = new_writer(str(tmp_path), "b")
    writer.write(OFFSET_COMMITS, pa.RecordBatch.from_pylist([], OFFSET_COMMITS.arrow()))

    assert writer.close() == []


def test_a_directory_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    writer = new_writer(str(tmp_path / "file" / "tables"), "b")
    with pytest.raises(StorageError, match="cannot create a directory in"):
        writer.write(OFFSET_COMMITS, pa.RecordBatch.from_pylist([{"commit_time": 0}], OFFSET_COMMITS.arrow()))


def test_an_exception_deletes_the_files(tmp_path: Path) -> None:
    rows = rows_by_table(decoded((commit_key(), commit_value(1, NOON_MS))))[OFFSET_COMMITS]

    def fail() -> None:
        with new_writer(str(tmp_path), "b") as writer:
            writer.write(OFFSET_COMMITS, rows)
            writer.close()
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert list(tmp_path.rglob("*.parquet")) == []


def test_files_are_in_the_directory_of_their_table_and_name_their_batch(tmp_path: Path) -> None:
    (file,) = _write(tmp_path, decoded((commit_key(), commit_value(5, NOON_MS)))).close()

    path = Path(file.path)
    assert path.parent == tmp_path / "offset_commits" / "date=2024-10-04"
    assert path.name.startswith("b.")
    assert (file.bytes, file.rows) == (path.stat().st_size, 1)
