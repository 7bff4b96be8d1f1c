"""A build: the same rows on Spark and in this process, at once and date by date, whatever is among the facts."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from kafka_groups.pipeline.build.build_plan import DateRange
from kafka_groups.pipeline.build.keyed_tables import sort_rows
from kafka_groups.pipeline.build.local_engine import LocalEngine
from kafka_groups.pipeline.build.run import build
from kafka_groups.pipeline.build.spark_engine import SparkEngine
from kafka_groups.pipeline.build.stage_rows import GROUP_KEY, KEY, RowKind, StageRows
from kafka_groups.pipeline.build.tasks import Task, run_group_task, run_partition_task
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import GROUP_STATE, STATE_TABLES, TABLES
from tests.pipeline.build.builds import build_here, built
from tests.pipeline.build.histories import histories, joined
from tests.pipeline.fact_rows import new_storage, put_all
from tests.pipeline.proof import DERIVED, facts_of, rows_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module", autouse=True)
def delayed_commits() -> None:
    """These builds use Delta logs, as those of users do."""


def all_rows(storage: Storage) -> dict[str, Any]:
    return {name: rows_of(storage, name) for name in DERIVED}


def dates_of(storage: Storage) -> list[date]:
    names = ("offset_commits", "partition_offsets", "group_events")
    return sorted({date.fromisoformat(day) for name in names for day in storage.dates(TABLES[name])})


def forget(storage: Storage, dates: Sequence[date]) -> None:
    """Make the next build derive these dates again."""
    note = storage.read_metadata("build")
    note["facts"] = {key: one for key, one in note["facts"].items() if key.partition(" ")[0] not in map(str, dates)}
    storage.save_metadata("build", note)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Storage:
    """A build of all dates at once. A record after midnight shows that a rebalance of the day before was not over."""
    return built(tmp_path_factory.mktemp("whole"), facts_of(132, 1))


@pytest.mark.slow
def test_dates_that_are_built_one_by_one_have_the_rows_of_all_at_once(whole: Storage, tmp_path: Path) -> None:
    storage = new_storage(tmp_path)
    put_all(storage, "b", facts_of(132, 1))
    for day in dates_of(storage):
        build_here(storage, selection=DateRange(day, day))
    expected = all_rows(whole)
    assert all_rows(storage) == expected
    assert all(expected.values())

    # And from the states of dates before, of which one is missing.
    dates = dates_of(storage)
    forget(storage, dates[3:])
    assert build_here(storage).dates == tuple(dates[3:])
    for table in STATE_TABLES:
        storage.replace(table, [day.isoformat() for day in dates[2:]], [])
    build_here(storage)
    assert all_rows(storage) == expected


def test_states_of_dates_that_no_build_needs_are_removed(tmp_path: Path) -> None:
    storage = new_storage(tmp_path)
    put_all(storage, "b", facts_of(132, 1))
    dates = [day.isoformat() for day in dates_of(storage)]
    for last in (4, 6):
        build_here(storage, selection=DateRange(last=date.fromisoformat(dates[last])), lookback_days=1)
        # Those of the lookback and two days before it, and the last one.
        assert storage.dates(GROUP_STATE) == dates[last - 3 : last + 1]


def test_an_absurd_commit_does_not_end_the_build_of_all_groups(tmp_path: Path) -> None:
    facts = joined(histories(3, 1))
    commit = next(row for row in facts["offset_commits"] if row["origin"] == "topic")
    absurd = [
        commit | {"committed_offset": offset, "source_offset": 10**6 + index, "partition": index % 2, "group": "absurd"}
        for index, offset in enumerate((0, 0, 2**63 - 1, 2**63 - 1) * 2)
    ]
    before = all_rows(built(tmp_path / "before", facts))
    after = all_rows(built(tmp_path / "after", facts | {"offset_commits": facts["offset_commits"] + absurd}))
    consumed = {row["records_consumed"] for row in after["group_daily"].values() if row["group"] == "absurd"}
    assert 2**63 - 1 in consumed
    for name in ("lag_history", "group_status", "group_daily", "rebalances"):
        others = {key: row for key, row in after[name].items() if row["group"] != "absurd"}
        assert others == before[name]


def test_files_of_derived_tables_have_the_documented_schema(whole: Storage) -> None:
    for name in DERIVED:
        files = whole.files(TABLES[name])
        assert files
        for file in files:
            assert pq.ParquetFile(file.path).schema_arrow.remove_metadata() == TABLES[name].arrow()


class ShufflingEngine(LocalEngine):
    """What Spark does before each stage: rows come in any order, and are handed on by key in small batches."""

    def run(self, task: Task) -> Any:
        """Return what the other engine returns."""
        chance = random.Random(1)
        is_for_groups = pc.is_in(self._rows["kind"], pa.array([RowKind.GROUP_STATE, RowKind.EVENTS], pa.int8()))
        partitions = by_key(shuffled(self._rows.filter(pc.invert(is_for_groups)), chance), KEY)
        passed_on = pa.Table.from_batches(run_partition_task(task, partitions), schema=StageRows.schema())
        groups = pa.concat_tables([passed_on, self._rows.filter(is_for_groups)])
        results = run_group_task(task, by_key(shuffled(groups, chance), GROUP_KEY))
        return pa.Table.from_batches(results, schema=StageRows.schema())


def shuffled(rows: Any, chance: random.Random) -> Any:
    return rows.take(pa.array(chance.sample(range(len(rows)), len(rows)), pa.int64()))


def by_key(rows: Any, key: Sequence[str]) -> Iterator[Any]:
    yield from sort_rows(rows, key).to_batches(max_chunksize=100)


def test_rows_do_not_depend_on_the_order_in_which_rows_come(whole: Storage, tmp_path: Path) -> None:
    storage = new_storage(tmp_path)
    put_all(storage, "b", facts_of(132, 1))
    for last in (2, 6):
        build(storage, ShufflingEngine(), selection=DateRange(last=dates_of(storage)[last]))
    assert all_rows(storage) == all_rows(whole)


@pytest.mark.spark
def test_spark_gives_the_rows_of_this_process(spark: SparkSession, whole: Storage, tmp_path: Path) -> None:
    storage = new_storage(tmp_path)
    put_all(storage, "b", facts_of(132, 1))
    engine = SparkEngine(spark, 2)
    dates = dates_of(storage)
    # The second build begins with the states that the first one left, and changes a rebalance of the date before.
    build(storage, engine, selection=DateRange(last=dates[2]))
    assert build(storage, engine).dates == tuple(dates[2:])
    assert all_rows(storage) == all_rows(whole)
