"""Sizes of tables, and how the command prints them."""

from __future__ import annotations

from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.store.table_sizes import measure_tables
from kafka_groups.pipeline.tables import OFFSET_COMMITS
from tests.fakes.command_line import run
from tests.pipeline.store.commits import append, commits


def test_the_size_of_a_table_is_that_of_its_files(storage: Storage) -> None:
    append(storage, "w-1", commits(range(2)), commits(range(2, 3), day=1))
    sizes = measure_tables(storage)
    size = sizes[OFFSET_COMMITS.name]
    assert (size.rows, size.files, size.first_date, size.last_date) == (3, 2, "2026-11-01", "2026-11-02")
    assert size.bytes > 100


def test_a_table_without_rows_has_no_dates(storage: Storage) -> None:
    assert measure_tables(storage)["ingest_gaps"] == (0, 0, 0, None, None)


def test_the_command_prints_the_sizes_of_a_directory(storage: Storage) -> None:
    append(storage, "w-1", commits(range(2)))
    printed = run("pipeline", "tables", "--data-dir", storage.location).stdout
    assert ["offset_commits", "2", "1"] in [line.split()[:3] for line in printed.splitlines()]
