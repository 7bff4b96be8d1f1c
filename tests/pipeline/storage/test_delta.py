"""What Delta tables promise beyond what all tables do: versions, known batches, readers of old versions."""

from __future__ import annotations

import datetime as dt
import importlib.util
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, TableFeatures
from pyarrow.fs import LocalFileSystem

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.compacting import compact
from kafka_groups.pipeline.examining import measure
from kafka_groups.pipeline.storage import Storage, open_storage
from kafka_groups.pipeline.storage.delta import check_delta, requirements
from kafka_groups.pipeline.storage.delta import log as log_module
from kafka_groups.pipeline.storage.delta.log import DeltaLog, Repeatable
from kafka_groups.pipeline.storage.marker import MARKER
from kafka_groups.pipeline.storage.places import Place
from kafka_groups.pipeline.tables import GROUP_EVENTS, INGEST_GAPS, OFFSET_COMMITS, Table
from tests.pipeline.storage.commits import FIRST, commits, delta_rows, names, places, rows_of, seen, staged
from tests.pipeline.storage.conftest import KilledError

NOW = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)


def table_of(storage: Storage, table: Table = OFFSET_COMMITS) -> DeltaTable:
    return DeltaTable(str(Path(storage.into, table.name)))


def gaps(*offsets: int) -> pa.Table:
    return rows_of(INGEST_GAPS, [{"cluster_id": "here", "from_offset": one, "found_at": FIRST} for one in offsets])


def data_files(storage: Storage) -> list[Path]:
    return sorted(Path(storage.into, OFFSET_COMMITS.name).glob("date=*/batch=*/*.parquet"))


@pytest.mark.parametrize("number", [0, 7])
def test_the_same_batch_twice_is_the_same_rows_and_one_version(delta: Storage, number: int) -> None:
    for cut in (5, 12, 20):
        parts = commits(range(cut)), commits(range(cut, 20)), commits(range(100, 103), day=1)
        delta.publish(f"w-{number:08}", staged(delta, *parts))
    assert seen(delta) == Counter([*range(20), *range(100, 103)])
    assert table_of(delta).version() == 1  # version 0 made the table
    assert table_of(delta).transaction_version("w") == number
    assert len(data_files(delta)) == 3
    assert names(Path(delta.into, ".staging")) == []


def test_a_batch_that_reads_on_to_another_end_takes_the_place_of_the_old_one(delta: Storage) -> None:
    delta.publish("w-00000001", staged(delta, commits(range(5))))
    delta.publish("w-00000001", staged(delta, commits(range(9))))
    delta.publish("w-00000001", staged(delta, commits(range(9, 18))))
    assert seen(delta) == Counter(range(9, 18))
    assert table_of(delta).version() == 3


def test_an_older_batch_that_comes_again_does_not_turn_its_writer_back(delta: Storage) -> None:
    for number in (1, 2):
        delta.publish(f"w-{number:08}", staged(delta, commits([number])))
    delta.publish("w-00000001", staged(delta, commits([1, 5])))
    assert seen(delta) == Counter([1, 2, 5])
    assert table_of(delta).transaction_version("w") == 2


def test_a_batch_killed_between_two_tables_is_finished_by_its_repeat(
    delta: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    def attempt() -> None:
        delta.publish("w-00000001", [*staged(delta, commits([1])), *staged(delta, gaps(5), table=INGEST_GAPS)])

    commit = DeltaLog.commit

    def commit_but_one(log: DeltaLog, **named: Any) -> None:
        if log._table == OFFSET_COMMITS:
            raise KilledError
        commit(log, **named)

    with monkeypatch.context() as patch:
        patch.setattr(DeltaLog, "commit", commit_but_one)
        with pytest.raises(KilledError):
            attempt()
    assert (places(delta), len(places(delta, INGEST_GAPS))) == ([], 1)
    attempt()
    assert seen(delta) == Counter([1])
    assert delta_rows(delta, INGEST_GAPS)["from_offset"].to_pylist() == [5]
    assert table_of(delta, INGEST_GAPS).version() == 1


def test_a_reader_of_an_old_version_reads_on_while_files_are_joined(delta: Storage) -> None:
    for number in range(5):
        delta.publish(f"w-{number:08}", staged(delta, commits([number])))
    old = table_of(delta)
    before = old.to_pyarrow_table().sort_by("source_offset")
    assert compact(delta, now=NOW).files_before == 4
    assert old.to_pyarrow_table().sort_by("source_offset").equals(before)
    assert len(data_files(delta)) == 6
    assert seen(delta) == Counter(range(5))


def test_files_stay_a_day_after_they_left_the_table(delta: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        delta.publish(f"w-{number:08}", staged(delta, commits([number])))
    compact(delta, now=NOW)
    version = table_of(delta).version()
    compact(delta, now=NOW)
    assert (len(data_files(delta)), table_of(delta).version()) == (6, version)
    monkeypatch.setattr(log_module, "_KEPT_H", 0)
    compact(delta, now=NOW)
    assert [str(file.parent.name) for file in data_files(delta)] == ["batch=compacted-1", "batch=w-00000004"]
    assert names(Path(delta.into, "offset_commits/date=2026-11-01")) == ["batch=compacted-1", "batch=w-00000004"]
    assert seen(delta) == Counter(range(5))


def test_what_was_never_committed_is_in_no_table_and_goes(
    delta: Storage, kill_at: Callable[[int], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    delta.publish("w-00000001", staged(delta, commits([1])))
    files = staged(delta, commits([2], day=1))
    monkeypatch.setattr(DeltaLog, "commit", lambda *_, **__: kill_at(0))
    with pytest.raises(KilledError):
        delta.publish("w-00000002", files)
    kill_at(-1)
    assert len(data_files(delta)) == 2
    assert (seen(delta), delta.rows(OFFSET_COMMITS)) == (Counter([1]), 1)
    monkeypatch.setattr(log_module, "_KEPT_H", 0)
    delta.format.tidy()
    assert len(data_files(delta)) == 1
    assert not Path(delta.into, "offset_commits/date=2026-11-02").exists()


def test_old_dates_go_in_one_version_a_date(delta: Storage) -> None:
    for day in range(3):
        delta.publish(f"w-{day:08}", staged(delta, commits([day], day=day)))
    done = compact(delta, keep=dt.timedelta(days=1), now=NOW)
    assert done.removed == (("offset_commits", "2026-11-01"), ("offset_commits", "2026-11-02"))
    assert seen(delta) == Counter([2])
    assert table_of(delta).version() == 5


def test_who_rests_on_what_another_took_away_is_refused(delta: Storage) -> None:
    delta.publish("w-00000001", staged(delta, commits([1])))
    one, other = DeltaLog(delta.place, OFFSET_COMMITS), DeltaLog(delta.place, OFFSET_COMMITS)
    gone = other.files
    one.commit(remove=one.files)
    with pytest.raises(StorageError, match=r"cannot change the table .*offset_commits: .*concurrent"):
        other.commit(remove=gone)


def test_two_that_write_the_same_batch_are_one_too_many(delta: Storage) -> None:
    delta.publish("w-00000001", staged(delta, commits([1])))
    one, other = DeltaLog(delta.place, OFFSET_COMMITS), DeltaLog(delta.place, OFFSET_COMMITS)
    assert one.last_of("w") == other.last_of("w") == 1
    one.commit(known_by=Repeatable("w", 2))
    with pytest.raises(StorageError, match="cannot change the table"):
        other.commit(known_by=Repeatable("w", 2))


def test_many_versions_read_from_their_checkpoint(delta: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    # delta-rs writes a checkpoint at every hundredth version, unless the table has another interval.
    monkeypatch.setitem(log_module._PROPERTIES, "delta.checkpointInterval", "10")
    for number in range(13):
        delta.publish(f"w-{number:08}", staged(delta, commits([number])))
    assert list(Path(delta.into, "offset_commits/_delta_log").glob("*.checkpoint.parquet"))
    assert seen(delta) == Counter(range(13))
    delta.publish("w-00000012", staged(delta, commits([12])))
    assert table_of(delta).version() == 13
    assert delta.rows(OFFSET_COMMITS) == 13


def test_columns_that_an_older_version_did_not_have_are_added(delta: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    delta.append(INGEST_GAPS, "sample-1", gaps(1))
    later = pa.field("later", pa.list_(pa.string()))
    monkeypatch.setattr(Table, "arrow", lambda table: table_arrow(table).append(later))
    row = {"from_offset": 2, "found_at": FIRST, "later": ["x"]}
    delta.append(INGEST_GAPS, "sample-2", rows_of(INGEST_GAPS, [row]))
    rows = delta_rows(delta, INGEST_GAPS).sort_by("from_offset")
    assert rows["later"].to_pylist() == [None, ["x"]]


table_arrow = Table.arrow


def test_features_that_need_another_reader_are_told(delta: Storage) -> None:
    delta.publish("w-00000001", staged(delta, commits([1])))
    table_of(delta).alter.add_feature(TableFeatures.DeletionVectors, allow_protocol_versions_increase=True)
    with pytest.raises(StorageError, match="Delta reader version 3"):
        delta.batches(OFFSET_COMMITS)


def test_a_log_that_cannot_be_read_is_told(delta: Storage) -> None:
    delta.publish("w-00000001", staged(delta, commits([1])))
    Path(delta.into, "offset_commits/_delta_log/00000000000000000001.json").write_text("no JSON")
    with pytest.raises(StorageError, match=r"cannot read the table .*offset_commits"):
        delta.rows(OFFSET_COMMITS)


def test_a_log_without_a_first_version_is_begun(delta: Storage) -> None:
    Path(delta.into, "offset_commits/_delta_log").mkdir(parents=True)
    assert places(delta) == []
    delta.publish("w-00000001", staged(delta, commits([1])))
    assert seen(delta) == Counter([1])


def test_both_formats_hold_the_same_rows(delta: Storage, storage: Storage) -> None:
    for held in (delta, storage):
        for number in range(6):
            parts = commits(range(number * 10, number * 10 + 7)), commits([500 + number], day=number % 2)
            held.publish(f"w-{number:08}", staged(held, *parts))
        held.append(GROUP_EVENTS, "sample-1", rows_of(GROUP_EVENTS, [{"group": "g", "record_time": FIRST}]))
        compact(held, now=NOW)
    assert places(delta) == places(storage)
    days = [dt.date(2026, 11, 2), dt.date(2026, 11, 3)]
    assert [held.rows(OFFSET_COMMITS, days) for held in (delta, storage)] == [3, 3]
    assert {name: size[:2] + size[3:] for name, size in measure(delta).items()} == {
        name: size[:2] + size[3:] for name, size in measure(storage).items()
    }
    by_files = [
        pa.concat_tables([read(held, path) for path in held.files(OFFSET_COMMITS)]) for held in (delta, storage)
    ]
    one, other = (rows.sort_by("source_offset") for rows in by_files)
    assert one.num_rows == 48
    assert one.equals(other)
    whole = delta_rows(delta).sort_by("source_offset")
    assert whole.drop_columns(["date", "batch"]).equals(one)
    assert set(whole["batch"].to_pylist()) == {"compacted-1", "w-00000005"}


def read(storage: Storage, path: str) -> pa.Table:
    return pq.ParquetFile(path, filesystem=storage.place.fs).read()


@pytest.mark.parametrize(("made", "asked"), [("delta", "parquet"), ("parquet", "delta")])
def test_another_format_than_the_directory_has_is_refused(tmp_path: Path, made: str, asked: str) -> None:
    into = str(tmp_path / "history")
    open_storage(into, create=True, table_format=made)
    assert json.loads(Path(into, MARKER).read_text())["table_format"] == made
    with pytest.raises(StorageError, match=f"have the format {made}, which contradicts the requested {asked}"):
        open_storage(into, create=True, table_format=asked)
    for table_format in (made, None):
        assert type(open_storage(into, create=True, table_format=table_format).format).__name__.lower().startswith(made)


def test_without_deltalake_one_line_tells_and_nothing_is_made(
    delta: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(requirements, "find_spec", lambda name: None if name == "deltalake" else find(name))
    with pytest.raises(StorageError, match=r"pip install 'kafka-groups\[delta\]'"):
        open_storage(delta.into)
    with pytest.raises(StorageError, match=r"pip install 'kafka-groups\[delta\]'"):
        open_storage(str(tmp_path / "new"), create=True, table_format="delta")
    assert not (tmp_path / "new").exists()
    open_storage(str(tmp_path / "new"), create=True)


def test_a_store_that_is_not_a_file_system_is_refused() -> None:
    far = Place("s3://bucket/history", LocalFileSystem(), "bucket/history", local=False)
    with pytest.raises(StorageError, match="need a local or mounted file system"):
        check_delta(far)
