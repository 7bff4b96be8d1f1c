"""Batches become rows of their tables, each table's with one commit."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.store.delta_log import DeltaLog
from kafka_groups.pipeline.tables import INGEST_GAPS, OFFSET_COMMITS
from tests.pipeline.fact_rows import new_storage
from tests.pipeline.store.commits import FIRST, append, commits, names, places, rows_of, seen, written
from tests.pipeline.store.conftest import KilledError

_GAP = {"cluster_id": "here", "source_partition": 1, "first_offset": 5, "found_at": FIRST}


def test_rows_are_in_files_of_their_dates(storage: Storage) -> None:
    append(storage, "w-00000001", commits(range(3)), commits(range(3, 5), day=1))
    assert places(storage) == [("2026-11-01", "w-00000001"), ("2026-11-02", "w-00000001")]
    assert seen(storage) == Counter(range(5))
    first, second = storage.files(OFFSET_COMMITS)
    assert (first.rows, second.rows) == (3, 2)
    assert first.bytes == Path(first.path).stat().st_size
    assert names(Path(storage.location)) == ["kafka-groups-pipeline.json", "offset_commits"]


def test_tables_are_committed_in_the_requested_order(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    committed: list[str] = []
    monkeypatch.setattr(DeltaLog, "commit", lambda log, **_: committed.append(log._table.name))
    files = [*written(storage, rows_of(INGEST_GAPS, [_GAP]), table=INGEST_GAPS), *written(storage, commits([1]))]
    storage.append(files, tables=[OFFSET_COMMITS, INGEST_GAPS])
    assert committed == ["offset_commits", "ingest_gaps"]


def test_a_deleted_file_stops_the_batch_before_its_commit(storage: Storage) -> None:
    append(storage, "w-00000001", commits([1]))
    files = written(storage, commits([2]), commits([3], day=1))
    Path(files[1].path).unlink()
    with pytest.raises(StorageError, match="was deleted before it became part of its table"):
        storage.append(files)
    assert seen(storage) == Counter([1])


def test_a_commit_that_finds_another_version_than_expected_is_refused(storage: Storage) -> None:
    storage.append(written(storage, commits([1])), {"app": 1}, expected_versions={"offset_commits": {"app": None}})
    with pytest.raises(StorageError, match="was changed by another program meanwhile"):
        storage.append(written(storage, commits([2])), {"app": 2}, expected_versions={"offset_commits": {"app": None}})
    storage.append(written(storage, commits([3])), {"app": 2}, expected_versions={"offset_commits": {"app": 1}})
    assert seen(storage) == Counter([1, 3])


def test_writers_of_a_first_version_at_the_same_time_lose_no_row(tmp_path: Path) -> None:
    storage = new_storage(tmp_path / "tables")
    begin = threading.Barrier(4)
    failed: list[Exception] = []

    def write(writer: int) -> None:
        begin.wait()
        for number in range(5):
            try:
                append(storage, f"w-{writer}", commits([10 * writer + number]))
            except StorageError as error:
                failed.append(error)

    writers = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert failed == []
    assert seen(storage) == Counter(10 * writer + number for writer in range(4) for number in range(5))


def test_a_batch_of_a_killed_process_is_whole_or_absent(storage: Storage, kill_at: Callable[[int], None]) -> None:
    append(storage, "w-00000001", commits(range(3)))
    steps, killed, there = 0, True, Counter(range(3))
    while killed:
        kill_at(steps)
        new = range(10 * steps + 10, 10 * steps + 15)
        try:
            append(storage, "w-00000002", commits(new))
            killed = False
        except KilledError:
            pass
        kill_at(-1)
        found = seen(storage)
        assert found in (there, there + Counter(new))
        there = found
        steps += 1
    assert steps > 3
