"""A build: the same rows on Spark and in this process, at once and date by date, whatever is among the facts."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kafka_groups.pipeline.schemas import TABLES
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.transform.engine import Engine, LocalEngine, SparkEngine
from kafka_groups.pipeline.transform.replacement import Replacement
from kafka_groups.pipeline.transform.run import dates_to_read, transform
from kafka_groups.pipeline.transform.state_tables import STATES, StateTables
from kafka_groups.verdicts import Rules
from tests.pipeline.fact_rows import new_storage, put_all
from tests.pipeline.proof import DERIVED, facts_of, rows_of
from tests.pipeline.transform.histories import FIRST, histories, joined

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FACTS: Final = ("offset_commits", "partition_offsets", "group_events")


def dates_of(storage: Storage) -> list[date]:
    return sorted({date.fromisoformat(day) for name in FACTS for day in storage.dates(TABLES[name])})


def built(directory: Path, facts: Any, *, engine: Engine | None = None, at_once: bool = True) -> Storage:
    storage = new_storage(directory)
    put_all(storage, "b", facts)
    dates = dates_of(storage)
    for days in [dates] if at_once else [[day] for day in dates]:
        build(storage, days, engine)
    return storage


def build(storage: Storage, days: Sequence[date], engine: Engine | None = None) -> None:
    dates = dates_to_read(storage, days, dates_of(storage))
    transform(engine or LocalEngine(), storage, dates, rules=Rules(), lookback_days=7)


def all_rows(storage: Storage) -> dict[str, Any]:
    return {name: rows_of(storage, name) for name in DERIVED}


# In 132 a record after midnight shows that a rebalance of the day before was not over.
@pytest.mark.parametrize(("first", "count"), [(1, 3), (132, 1)])
def test_dates_that_are_built_one_by_one_have_the_rows_of_all_at_once(tmp_path: Path, first: int, count: int) -> None:
    facts = facts_of(first, count)
    whole = all_rows(built(tmp_path / "whole", facts))
    assert all_rows(built(tmp_path / "single", facts, at_once=False)) == whole
    assert all(whole.values())


@pytest.mark.slow
def test_a_date_that_is_built_again_has_the_same_rows(tmp_path: Path) -> None:
    storage = built(tmp_path, facts_of(1, 2), at_once=False)
    before = all_rows(storage)
    for first in (3, 1, 0):
        build(storage, dates_of(storage)[first:])
        assert all_rows(storage) == before


@pytest.mark.slow
def test_late_facts_give_the_rows_of_facts_in_time(tmp_path: Path) -> None:
    facts = facts_of(4, 2)
    second = FIRST + timedelta(days=1)
    late = {
        name: [row for row in rows if row["cluster_id"] == "seed-0005" and _time(row) >= second]
        for name, rows in facts.items()
    }
    in_time = {name: [row for row in rows if row not in late[name]] for name, rows in facts.items()}
    storage = built(tmp_path / "late", in_time)
    put_all(storage, "c", late)
    build(storage, [day for day in dates_of(storage) if day >= second.date()])
    assert all_rows(storage) == all_rows(built(tmp_path / "whole", facts))


def _time(row: Any) -> Any:
    return row.get("commit_time") or row.get("observed_at") or row["record_time"]


def test_a_date_whose_state_before_was_removed_is_built_with_the_dates_before_it(tmp_path: Path) -> None:
    storage = built(tmp_path, facts_of(1, 1))
    before, dates = all_rows(storage), dates_of(storage)
    StateTables(storage).replace(Replacement(storage, STATES), [], [], oldest=dates[1])
    build(storage, dates[1:])
    assert all_rows(storage) == before


def test_states_of_dates_that_no_build_needs_are_removed(tmp_path: Path) -> None:
    storage = built(tmp_path, facts_of(1, 2))
    states, dates = StateTables(storage), dates_of(storage)
    assert states.newest_before(dates[-1] + timedelta(days=1)) == dates[-1]
    states.replace(Replacement(storage, STATES), [dates[-1]], [], oldest=dates[2])
    for table in STATES:
        assert states.dates(table) == [day.isoformat() for day in dates[2:-1]]


@pytest.mark.slow
def test_an_absurd_commit_does_not_end_the_build_of_all_groups(tmp_path: Path) -> None:
    facts = joined(histories(1, 3))
    commit = next(row for row in facts["offset_commits"] if row["origin"] == "topic")
    absurd = [
        commit | {"committed_offset": offset, "source_offset": 10**6 + place, "partition": place % 2, "group": "absurd"}
        for place, offset in enumerate((0, 0, 2**63 - 1, 2**63 - 1) * 2)
    ]
    before = all_rows(built(tmp_path / "before", facts))
    after = all_rows(built(tmp_path / "after", facts | {"offset_commits": facts["offset_commits"] + absurd}))
    consumed = {row["messages_consumed"] for row in after["group_daily"].values() if row["group"] == "absurd"}
    assert 2**63 - 1 in consumed
    for name in ("lag_history", "group_status", "group_daily", "rebalances"):
        others = {key: row for key, row in after[name].items() if row["group"] != "absurd"}
        assert others == before[name]


def test_times_of_derived_tables_have_a_zone(tmp_path: Path) -> None:
    storage = built(tmp_path, facts_of(1, 2))
    for name in DERIVED:
        files = storage.files(TABLES[name])
        assert files
        for file in files:
            schema: pa.Schema = pq.ParquetFile(file.path).schema_arrow
            assert schema.remove_metadata() == TABLES[name].arrow()


@pytest.mark.spark
def test_spark_gives_the_rows_of_this_process(spark: SparkSession, tmp_path: Path) -> None:
    facts = facts_of(1, 4)
    found = all_rows(built(tmp_path / "spark", facts, engine=SparkEngine(spark, 3)))
    assert found == all_rows(built(tmp_path / "local", facts))
    # And from the state of a date before.
    storage = built(tmp_path / "again", facts)
    build(storage, dates_of(storage)[4:], SparkEngine(spark, 2))
    assert all_rows(storage) == found
