"""Samples of a date are joined, and sorted together when the date is over."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.store import Storage, parquet_sorting
from kafka_groups.pipeline.store.compaction import compact
from kafka_groups.pipeline.tables import OFFSET_COMMITS, SAMPLE_RUNS
from tests.pipeline.store.commits import FIRST, append_at_once, commits, count_rows, rows_of

NOW = FIRST + dt.timedelta(days=1)
PARTITIONS = 5
KEYS = 10 * PARTITIONS


def sample(storage: Storage, minutes: Iterable[int], *, few_at: Collection[int] = (), groups: int = 10) -> None:
    """Add finished samples of all partitions of the groups, in the given minutes; `few_at` some lack every other."""
    commits_of, runs = {}, {}
    for minute in minutes:
        at = FIRST + dt.timedelta(minutes=minute)
        rows: list[dict[str, object]] = [
            {
                "cluster_id": "MkU3OEVBNTcwNTJENDM2Qg",
                "origin": "sample",
                "group": f"group-{group:02}",
                "topic": "orders",
                "partition": partition,
                "committed_offset": (group * PARTITIONS + partition) * (10**6 + minute),
                "commit_time": at,
                "record_time": at,
                "is_tombstone": False,
            }
            for group in range(0, groups, 2 if minute in few_at else 1)
            for partition in range(PARTITIONS)
        ]
        name = f"sample-20261101T{minute:06}Z-x"
        commits_of[name] = [rows_of(OFFSET_COMMITS, rows)]
        run = {"cluster_id": "MkU3OEVBNTcwNTJENDM2Qg", "sample": name, "sampled_at": at}
        runs[name] = [rows_of(SAMPLE_RUNS, [run])]
    append_at_once(storage, commits_of)
    append_at_once(storage, runs, SAMPLE_RUNS)


def read(storage: Storage) -> list[pa.Table]:
    """Return the rows of the files that were sorted together, in the order of their first keys."""
    files = [file.path for file in storage.files(OFFSET_COMMITS) if file.batch == "sorted-samples"]
    return sorted((pq.ParquetFile(path).read() for path in files), key=lambda rows: keys(rows)[0])


def keys(rows: pa.Table) -> list[tuple[str, int, dt.datetime]]:
    columns = (rows[name].to_pylist() for name in ("group", "partition", "commit_time"))
    return list(zip(*columns, strict=True))


def batches(storage: Storage) -> list[str]:
    return sorted(file.batch for file in storage.files(OFFSET_COMMITS))


def test_samples_take_a_tenth_of_their_bytes(storage: Storage) -> None:
    sample(storage, range(40), groups=100)
    before = sum(file.bytes for file in storage.files(OFFSET_COMMITS))
    compact(storage, now=NOW)
    assert sum(file.bytes for file in storage.files(OFFSET_COMMITS)) * 10 < before


@pytest.mark.parametrize("at_once", [7, 90, 1_000_000])
def test_samples_of_a_date_are_sorted_whatever_fits_into_memory(
    storage: Storage, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    sample(storage, range(6), few_at=(1, 3, 5))
    expected = sorted(key for file in storage.files(OFFSET_COMMITS) for key in keys(pq.ParquetFile(file.path).read()))
    monkeypatch.setattr(parquet_sorting, "ROWS_AT_ONCE", at_once)
    compact(storage, now=NOW)
    found = read(storage)
    if at_once < len(expected):
        assert max(map(len, found)) <= at_once + 6  # a key is not divided
        assert [key for rows in found for key in keys(rows)] == expected
    else:
        assert batches(storage) == ["compacted-samples"]  # one file, and so in order


def test_samples_of_a_date_that_is_not_over_are_joined_but_not_sorted(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet_sorting, "ROWS_AT_ONCE", 2 * KEYS)
    sample(storage, range(4))
    compact(storage, now=FIRST)
    assert batches(storage) == ["compacted-samples"] * 2
    compact(storage, now=NOW)
    assert batches(storage) == ["sorted-samples"] * 2


def test_few_samples_that_come_late_wait_for_others(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_sorting, "ROWS_AT_ONCE", 8 * KEYS)
    sample(storage, range(16))
    compact(storage, now=NOW)
    once = batches(storage)
    compact(storage, now=NOW)
    sample(storage, [16])
    compact(storage, now=NOW)
    assert sorted(set(batches(storage)) - set(once)) == ["sample-20261101T000016Z-x"]
    assert batches(storage).count("sorted-samples") == once.count("sorted-samples")
    sample(storage, (17, 18))
    compact(storage, now=NOW)
    assert set(batches(storage)) == {"sorted-samples"}
    assert sum(map(len, read(storage))) == 19 * KEYS


def test_records_are_joined_apart_from_samples(storage: Storage) -> None:
    sample(storage, range(2))
    append_at_once(storage, {f"w-{number:08}": [commits([number])] for number in range(2)})
    compact(storage, now=NOW)
    assert batches(storage) == ["compacted", "compacted-samples"]


def test_lost_rows_stop_the_compaction(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_sorting, "ROWS_AT_ONCE", 3 * KEYS // 2)
    sample(storage, range(2))
    order = parquet_sorting.sort_by_identity
    monkeypatch.setattr(parquet_sorting, "sort_by_identity", lambda *given: order(*given).slice(1))
    with pytest.raises(StorageError, match="nothing was replaced"):
        compact(storage, now=NOW)
    assert len(batches(storage)) == 2
    assert count_rows(storage, OFFSET_COMMITS) == 2 * KEYS
    assert not [*Path(storage.location).rglob("sorted-samples*")]
