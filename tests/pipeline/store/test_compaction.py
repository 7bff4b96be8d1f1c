"""Compaction joins small files of facts, date by date, and loses no row."""

from __future__ import annotations

import datetime as dt
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.store import Storage, compaction_plan, parquet_sorting
from kafka_groups.pipeline.store.compaction import compact
from kafka_groups.pipeline.tables import INGEST_GAPS, OFFSET_COMMITS, SAMPLE_RUNS
from tests.pipeline.store.commits import (
    FIRST,
    append,
    append_at_once,
    commits,
    count_rows,
    places,
    rows_of,
    seen,
    written,
)

NOW = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)


def ingest(storage: Storage, number: int, *tables: pa.Table) -> None:
    append(storage, f"w-{number:08}", *tables)


def files_of(storage: Storage) -> list[Path]:
    return [Path(file.path) for file in storage.files(OFFSET_COMMITS)]


@pytest.fixture
def filled(storage: Storage) -> Storage:
    """Ten batches of ten rows on one day, the last of them on the next, too."""
    batches = {f"w-{number:08}": [commits(range(number * 10, number * 10 + 10))] for number in range(10)}
    batches["w-00000010"] = [commits(range(100, 105)), commits(range(105, 110), day=1)]
    append_at_once(storage, batches)
    return storage


def test_small_files_of_a_date_become_one(filled: Storage) -> None:
    done = compact(filled, now=NOW)
    assert (done.dates, done.files_before, done.files_after, done.removed_table_dates) == (1, 11, 1, ())
    assert places(filled) == [
        ("2026-11-01", "compacted"),
        ("2026-11-02", "w-00000010"),
    ]
    assert seen(filled) == Counter(range(110))


def test_rows_are_the_same_and_sorted_by_identity(filled: Storage) -> None:
    compact(filled, now=NOW)
    (file,) = (path for path in files_of(filled) if path.name.startswith("compacted."))
    rows = pq.ParquetFile(file).read()
    assert rows.schema.equals(OFFSET_COMMITS.arrow())
    assert rows.equals(commits(range(105)))


def run_of(sample: str) -> pa.Table:
    return rows_of(SAMPLE_RUNS, [{"cluster_id": "here", "sample": sample, "sampled_at": FIRST}])


def test_samples_are_finished_also_after_their_rows_were_joined(storage: Storage) -> None:
    samples = [f"sample-20261101T{number}" for number in range(4)]
    append_at_once(storage, {sample: [commits([number])] for number, sample in enumerate(samples)})
    append_at_once(storage, {sample: [run_of(sample)] for sample in samples}, SAMPLE_RUNS)
    assert compact(storage, now=NOW).files_after == 2
    append(storage, "sample-20261101T1", commits([8], day=1))  # too large to be joined, say
    assert count_rows(storage, OFFSET_COMMITS) == 5


def test_a_second_compaction_changes_nothing(filled: Storage) -> None:
    compact(filled, now=NOW)
    before = places(filled)
    done = compact(filled, now=NOW)
    assert (done.dates, done.files_before) == (0, 0)
    assert places(filled) == before


def test_later_batches_are_joined_with_an_earlier_joined_file(filled: Storage) -> None:
    compact(filled, now=NOW)
    ingest(filled, 11, commits([200]))
    compact(filled, now=NOW)
    assert [batch for date, batch in places(filled) if date == "2026-11-01"] == ["compacted"]
    assert seen(filled) == Counter([*range(110), 200])


def test_files_of_backfills_are_left_as_they_are(storage: Storage) -> None:
    append_at_once(storage, {f"sampled-{number}": [commits([number])] for number in range(3)})
    append_at_once(storage, {f"backfill-{number}": [commits([100 + number])] for number in range(3)})
    compact(storage, now=NOW)
    assert seen(storage) == Counter([0, 1, 2, 100, 101, 102])
    assert [batch for _, batch in places(storage)] == ["backfill-0", "backfill-1", "backfill-2", "compacted"]


def test_a_date_that_several_tables_have_is_counted_once(storage: Storage) -> None:
    gaps = rows_of(INGEST_GAPS, [{"cluster_id": "here", "found_at": FIRST}])
    both = (commits([1]), OFFSET_COMMITS), (gaps, INGEST_GAPS)
    storage.append([file for rows, table in both for file in written(storage, rows, rows, rows, table=table)])
    done = compact(storage, now=NOW)
    assert (done.dates, done.files_before, done.files_after) == (1, 6, 2)


def test_large_files_are_left_as_they_are(filled: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction_plan, "TARGET_BYTES", 2 * filled.files(OFFSET_COMMITS)[0].bytes - 1000)
    assert compact(filled, now=NOW).dates == 0


def test_a_joined_file_has_at_most_the_rows_that_fit_into_memory(
    filled: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_sorting, "ROWS_AT_ONCE", 30)
    done = compact(filled, now=NOW)
    assert (done.files_before, done.files_after) == (11, 4)
    assert seen(filled) == Counter(range(110))


def test_columns_that_only_some_files_have_are_kept(storage: Storage) -> None:
    append_at_once(storage, {f"w-{number:08}": [commits([number])] for number in (1, 2, 3)})
    (newer,) = Path(storage.location, "offset_commits/date=2026-11-01").glob("w-00000001.*")
    rows = pq.ParquetFile(newer).read().append_column("later", pa.array(["x"])).drop_columns(["metadata"])
    pq.write_table(rows, newer)
    compact(storage, now=NOW)
    (file,) = files_of(storage)
    assert pq.ParquetFile(file).read()["later"].to_pylist() == ["x", None, None]
    assert pq.ParquetFile(file).schema_arrow.names == [*OFFSET_COMMITS.arrow().names, "later"]


def test_lost_rows_stop_the_compaction(filled: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    order = parquet_sorting.sort_by_identity
    monkeypatch.setattr(parquet_sorting, "sort_by_identity", lambda *given: order(*given).slice(1))
    with pytest.raises(StorageError, match=r"joining 105 rows in .* gave 104"):
        compact(filled, now=NOW)
    assert seen(filled) == Counter(range(110))


def test_a_broken_file_is_reported_and_stays(filled: Storage) -> None:
    (file,) = Path(filled.location, "offset_commits/date=2026-11-01").glob("w-00000003.*")
    file.write_bytes(b"not Parquet at all")
    with pytest.raises(StorageError, match=r"cannot read the tables in .*w-00000003"):
        compact(filled, now=NOW)
    assert file.exists()


def test_a_batch_that_is_committed_meanwhile_is_not_lost(filled: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    sort_by_identity = parquet_sorting.sort_by_identity

    def slow_order(*given: Any) -> pa.Table:
        ingest(filled, 11, commits([500]))
        return sort_by_identity(*given)

    monkeypatch.setattr(parquet_sorting, "sort_by_identity", slow_order)
    compact(filled, now=NOW)
    assert seen(filled) == Counter([*range(110), 500])


def test_a_date_that_changed_meanwhile_is_not_joined(filled: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    sort_by_identity = parquet_sorting.sort_by_identity

    def slow_order(*given: Any) -> pa.Table:
        filled.replace(OFFSET_COMMITS, ["2026-11-01"], [])
        return sort_by_identity(*given)

    monkeypatch.setattr(parquet_sorting, "sort_by_identity", slow_order)
    assert compact(filled, now=NOW).dates == 0
    assert seen(filled) == Counter(range(105, 110))


def test_a_second_compaction_at_the_same_time_is_refused(filled: Storage) -> None:
    with filled.lock("compact"), pytest.raises(StorageError, match=rf"\(compact\) by process {os.getpid()} on "):
        compact(filled, now=NOW)
