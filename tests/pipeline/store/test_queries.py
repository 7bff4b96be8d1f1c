"""Queries return rows of the tables, without those of unfinished samples, and take every value as a value."""

from __future__ import annotations

import datetime as dt

import pytest

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.store import Queries, Storage
from kafka_groups.pipeline.tables import OFFSET_COMMITS, SAMPLE_RUNS
from kafka_groups.pipeline.tables.sql import Identifier, Sql
from tests.pipeline.store.commits import FIRST, append, commits, rows_of

COUNT = "SELECT count(*) AS number FROM {rows}"
ODD_NAMES = ["it's", "{rows}", "{", "}}", "", 'say "hi"', "-- ' OR 1 = 1"]


def sampled(cluster: str, second: int) -> dict[str, object]:
    at = FIRST + dt.timedelta(seconds=second)
    return {"cluster_id": cluster, "origin": "sample", "group": f"g{second}", "commit_time": at, "record_time": at}


def groups(storage: Storage) -> list[str]:
    rows = Queries(storage).select(OFFSET_COMMITS, 'SELECT "group" FROM {rows} ORDER BY "group"')
    return [row["group"] for row in rows]


def test_a_table_without_a_version_gives_no_row_and_no_count(storage: Storage) -> None:
    assert Queries(storage).select(OFFSET_COMMITS, COUNT) == []


def test_fields_are_rendered_as_values_identifiers_and_sql(storage: Storage) -> None:
    append(storage, "w-1", commits(range(5)), commits(range(5, 8), day=1))
    rows = Queries(storage).select(
        OFFSET_COMMITS,
        "SELECT {name} AS number FROM {rows} WHERE date = {date} AND {condition} ORDER BY 1",
        name=Identifier("committed_offset"),
        date=dt.date(2026, 11, 2),
        condition=Sql("committed_offset > 5"),
    )
    assert rows == [{"number": 6}, {"number": 7}]


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_value_with_any_characters_is_found(storage: Storage, name: str) -> None:
    append(storage, "w-1", *(commits([number], cluster=cluster) for number, cluster in enumerate(ODD_NAMES)))
    rows = Queries(storage).select(
        OFFSET_COMMITS, "SELECT cluster_id FROM {rows} WHERE cluster_id IN ({names})", names=[name]
    )
    assert rows == [{"cluster_id": name}]


def test_rows_of_unfinished_samples_are_omitted(storage: Storage) -> None:
    append(storage, "w-1", commits([1]))
    clusters = ("one", "it's")
    for cluster in clusters:
        for second in (10, 20):
            batch = f"sample-{second}-{cluster}"
            append(storage, batch, rows_of(OFFSET_COMMITS, [sampled(cluster, second)]))
    assert groups(storage) == ["g1"]
    run = {"cluster_id": "it's", "sample": "sample-20-it's", "sampled_at": FIRST}
    append(storage, "sample-20-it's", rows_of(SAMPLE_RUNS, [run]), table=SAMPLE_RUNS)
    assert groups(storage) == ["g1", "g20"]


def test_all_queries_of_a_command_read_the_same_version(storage: Storage) -> None:
    append(storage, "w-1", commits([1]))
    queries = Queries(storage)
    assert queries.select(OFFSET_COMMITS, COUNT) == [{"number": 1}]
    append(storage, "w-2", commits([2]))
    assert queries.select(OFFSET_COMMITS, COUNT) == [{"number": 1}]
    assert Queries(storage).select(OFFSET_COMMITS, COUNT) == [{"number": 2}]


def test_sql_that_the_engine_refuses_is_a_storage_error(storage: Storage) -> None:
    append(storage, "w-1", commits([1]))
    with pytest.raises(StorageError, match=r"^cannot read the table .*offset_commits"):
        Queries(storage).select(OFFSET_COMMITS, "SELECT missing_column FROM {rows}")
