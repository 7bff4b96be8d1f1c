"""The position of an ingest is in the logs of the tables, beside the rows."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.facts.source.position import Position
from kafka_groups.pipeline.facts.source.table_positions import TablePosition, commit_batch, read_position, was_read
from kafka_groups.pipeline.store import NewFile, Storage
from kafka_groups.pipeline.store.delta_log import DeltaLog
from kafka_groups.pipeline.tables import INGEST_GAPS, OFFSET_COMMITS
from tests.pipeline.store.commits import FIRST, commits, rows_of, seen, written

TABLES = ("group_events", "ingest_gaps", "unknown_records", "offset_commits")
UNREAD: Any = ({}, {}, {})
FIRST_END = Position("id", {0: 10, 1: 5}, {0: 2, 1: 7})


def files_of(storage: Storage, *offsets: int) -> list[NewFile]:
    """Return a file of commits, and one of gaps."""
    gaps = rows_of(INGEST_GAPS, [{"cluster_id": "c", "first_offset": one, "found_at": FIRST} for one in offsets])
    return [*written(storage, commits(offsets)), *written(storage, gaps, table=INGEST_GAPS)]


def position_of(storage: Storage, topic_id: str | None = "id", partitions: Sequence[int] = (0, 1, 2)) -> Any:
    """Return the offsets and the epochs where the next batch begins, and which tables are ahead."""
    found = read_position(storage, "c", topic_id, partitions)
    return found.start.next_offsets, found.start.leader_epochs, found.offsets_ahead


def write_batch(storage: Storage, end: Position, *offsets: int, cluster_id: str = "c") -> None:
    """Commit a batch with files of these offsets, as the next run does."""
    stored = read_position(storage, cluster_id, end.topic_id, (0, 1, 2))
    commit_batch(storage, files_of(storage, *offsets) if offsets else [], cluster_id, stored, end)


def all_but(table: str, offsets: dict[int, int]) -> dict[str, dict[int, int]]:
    """Return the same offsets for all tables except this one and ingest_gaps, whose rows may be written twice."""
    return {each: offsets for each in TABLES if each not in (table, "ingest_gaps")}


def test_without_a_batch_there_is_no_position(storage: Storage) -> None:
    assert (position_of(storage), was_read(storage, "c")) == (UNREAD, False)


def test_a_batch_leaves_its_end_and_its_epochs(storage: Storage) -> None:
    write_batch(storage, FIRST_END, 1)
    assert position_of(storage) == ({0: 10, 1: 5}, {0: 2, 1: 7}, {})
    assert was_read(storage, "c")


def test_a_later_batch_moves_the_position(storage: Storage) -> None:
    write_batch(storage, FIRST_END, 1)
    later = Position("id", {0: 10, 1: 9, 2: 4}, {0: 2, 1: 8, 2: 1})
    write_batch(storage, later)
    assert position_of(storage) == ({0: 10, 1: 9, 2: 4}, {0: 2, 1: 8, 2: 1}, {})
    assert seen(storage) == {1: 1}


def test_clusters_have_positions_of_their_own(storage: Storage) -> None:
    write_batch(storage, FIRST_END, 1, cluster_id="another")
    assert (position_of(storage), was_read(storage, "another")) == (UNREAD, True)


@pytest.mark.parametrize(
    ("topic_id", "reason"), [("new", "was recreated: its topic id is new now"), (None, "does not exist any more")]
)
def test_a_topic_with_another_id_is_refused(storage: Storage, topic_id: str | None, reason: str) -> None:
    write_batch(storage, FIRST_END, 1)
    with pytest.raises(SourceError, match=rf"__consumer_offsets was read, and {reason}, .*; use a new directory"):
        position_of(storage, topic_id)


def test_a_position_without_a_topic_id_is_kept_when_brokers_return_one(storage: Storage) -> None:
    write_batch(storage, FIRST_END._replace(topic_id=None), 1)
    assert position_of(storage, None) == position_of(storage, "id") == ({0: 10, 1: 5}, {0: 2, 1: 7}, {})


@pytest.fixture
def killed(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> Callable[[Position], None]:
    """Return a function that commits a batch, and is killed before the table of commits."""
    commit = DeltaLog.commit

    def die_before_commits(log: DeltaLog, **changes: Any) -> None:
        if log._table == OFFSET_COMMITS:
            raise KeyboardInterrupt
        commit(log, **changes)

    def run(end: Position) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(DeltaLog, "commit", die_before_commits)
            with pytest.raises(KeyboardInterrupt):
                write_batch(storage, end, 2)

    return run


def test_tables_that_a_killed_run_committed_are_ahead(storage: Storage, killed: Callable[[Position], None]) -> None:
    write_batch(storage, FIRST_END, 1)
    killed(Position("id", {0: 14, 1: 5, 2: 3}, {0: 9, 1: 7}))
    ahead = all_but("offset_commits", {0: 14, 2: 3})
    assert position_of(storage) == ({0: 10, 1: 5, 2: 0}, {0: 2, 1: 7}, ahead)
    assert TablePosition(FIRST_END, ahead, {}).extend_ends({0: 12, 1: 8, 2: 9}) == {0: 14, 1: 8, 2: 9}


def test_the_first_batch_may_be_the_one_that_was_killed(storage: Storage, killed: Callable[[Position], None]) -> None:
    killed(FIRST_END)
    ahead = all_but("offset_commits", {0: 10, 1: 5})
    assert position_of(storage) == ({0: 0, 1: 0}, {}, ahead)


@pytest.mark.parametrize("table", ["offset_commits", "ingest_gaps", "unknown_records"])
def test_the_next_batch_begins_where_the_oldest_table_ends(storage: Storage, tmp_path: Path, table: str) -> None:
    write_batch(storage, FIRST_END, 1)
    shutil.copytree(Path(storage.location, table), tmp_path / "older")
    write_batch(storage, Position("id", {0: 14, 1: 5}, {0: 2, 1: 7}), 2)
    shutil.rmtree(Path(storage.location, table))
    shutil.copytree(tmp_path / "older", Path(storage.location, table))
    starts, epochs, ahead = position_of(storage)
    assert (starts, epochs) == (FIRST_END.next_offsets, FIRST_END.leader_epochs)
    assert ahead == all_but(table, {0: 14})


def test_after_a_whole_batch_no_table_is_ahead(storage: Storage, killed: Callable[[Position], None]) -> None:
    killed(FIRST_END)
    write_batch(storage, FIRST_END)
    assert position_of(storage) == (FIRST_END.next_offsets, FIRST_END.leader_epochs, {})


def test_a_new_topic_id_changes_the_position_table_by_table(
    storage: Storage, killed: Callable[[Position], None]
) -> None:
    write_batch(storage, FIRST_END._replace(topic_id=None))
    killed(Position("id", {0: 14, 1: 5}))
    starts, _, ahead = position_of(storage)
    assert starts == {0: 10, 1: 5}
    assert ahead["group_events"] == {0: 14}


def test_a_position_under_another_topic_id_is_written_whole(storage: Storage) -> None:
    write_batch(storage, FIRST_END._replace(topic_id=None))
    write_batch(storage, FIRST_END._replace(next_offsets={0: 14, 1: 5}))
    assert position_of(storage) == ({0: 14, 1: 5}, {0: 2, 1: 7}, {})


def test_the_log_of_each_table_is_read_once(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> None:
    write_batch(storage, FIRST_END, 1)
    read_tables: list[str] = []
    transactions = DeltaLog.transactions

    def count(log: DeltaLog) -> dict[str, int]:
        read_tables.append(log._table.name)
        return transactions(log)

    monkeypatch.setattr(DeltaLog, "transactions", count)
    position_of(storage)
    assert sorted(read_tables) == sorted(TABLES)
