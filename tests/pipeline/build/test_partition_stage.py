"""Days of partitions: the same rows however the facts are divided into days, batches and orders."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from kafka_groups.pipeline.build.fact_summary import FactSummary
from kafka_groups.pipeline.build.frames import PartitionStatuses
from kafka_groups.pipeline.build.keyed_tables import sort_rows
from kafka_groups.pipeline.build.packing import columns_of, unpack
from kafka_groups.pipeline.build.partition_batch import cut_batches
from kafka_groups.pipeline.build.partition_rows import make_group_rows, make_lag_history, make_states
from kafka_groups.pipeline.build.partition_stage import build_partition_days
from kafka_groups.pipeline.build.stage_rows import KEY, RowKind, StageRows, read_results, select_kind
from kafka_groups.pipeline.build.stage_settings import StageSettings
from kafka_groups.pipeline.build.topic_days import merge_topic_days
from kafka_groups.pipeline.frames.arrays import to_column
from kafka_groups.verdicts import Limits
from tests.pipeline.build.facts import StageFacts, stage_facts
from tests.pipeline.build.histories import Facts, histories, joined

Rows = dict[str, list[Any]]


def results(rows: pa.Table, days: Sequence[int], summary: FactSummary, *, size: int = 10**9) -> tuple[Rows, pa.Table]:
    """Return the rows of some days, and the states at the end of the last one, as rows of the stage."""
    lag_history: list[Any] = []
    passed_on: list[Any] = []
    states: list[Any] = []
    for batch in cut_batches(iter(rows.to_batches(max_chunksize=20)), size):
        for day in build_partition_days(batch, StageSettings(days, Limits(), 7), summary):
            lag_history += make_lag_history(batch, day).to_pylist()
            passed_on += make_group_rows(batch, day)
            if day.day == days[-1]:
                states += [row | {"day": day.day} for part in make_states(batch, day) for row in part.to_pylist()]
    table = pa.Table.from_batches(passed_on, StageRows.schema())
    found = {"lag_history": lag_history, **for_groups(table)}
    return {name: sorted(each, key=repr) for name, each in found.items()}, as_stage_rows(states)


def for_groups(table: pa.Table) -> Rows:
    """Return the rows for the group stage, unpacked, with the sums of each topic."""
    statuses, _ = select_kind(table, RowKind.STATUSES)
    (numbers,) = unpack(statuses["payload"], [columns_of(PartitionStatuses, "key")])
    named = statuses.drop_columns(["payload"]).take(pa.array(numbers.owner)).to_pylist()
    values = zip(*(to_column(values).to_pylist() for values in numbers.columns.values()), strict=True)
    key_days, _ = select_kind(table, RowKind.KEY_DAYS)
    return {
        "statuses": list(zip(named, values, strict=True)),
        "key_days": key_days.to_pylist(),
        "topic_days": merge_topic_days(read_results(table, "topic_day")).to_pylist(),
    }


def as_stage_rows(states: list[dict[str, Any]]) -> pa.Table:
    rows = [
        dict.fromkeys(StageRows.names())
        | {name: row[name] for name in (*KEY, "day")}
        | {"kind": RowKind.LOG_STATE if row["group"] is None else RowKind.KEY_STATE, "payload": row["state"]}
        for row in states
    ]
    return in_order(pa.Table.from_pylist(rows, schema=StageRows.schema()))


def in_order(*tables: pa.Table) -> pa.Table:
    return sort_rows(pa.concat_tables(tables), (*KEY, "kind", "day"))


@pytest.fixture(scope="module")
def facts() -> Facts:
    return joined(histories(1, 8))


@pytest.fixture(scope="module")
def staged(facts: Facts) -> StageFacts:
    return stage_facts(facts)


@pytest.fixture(scope="module")
def whole(staged: StageFacts) -> tuple[Rows, pa.Table]:
    return results(staged.rows, staged.days, staged.summary)


def test_days_that_are_built_one_by_one_have_the_rows_of_all_at_once(
    staged: StageFacts, whole: tuple[Rows, pa.Table]
) -> None:
    by_day: Rows = {name: [] for name in whole[0]}
    states = StageRows.schema().empty_table()
    for day in staged.days:
        built, states = results(in_order(staged.on(day), states), [day], staged.summary)
        by_day = {name: rows + built[name] for name, rows in by_day.items()}
    assert {name: sorted(rows, key=repr) for name, rows in by_day.items()} == whole[0]
    assert len(whole[0]["lag_history"]) > 2_000
    assert states.equals(whole[1])


def test_rows_do_not_depend_on_how_partitions_are_divided_into_batches(
    staged: StageFacts, whole: tuple[Rows, pa.Table]
) -> None:
    for size in (5_000, 50_000):
        built, states = results(staged.rows, staged.days, staged.summary, size=size)
        assert built == whole[0]
        assert states.equals(whole[1])


def test_facts_that_are_read_twice_count_once(facts: Facts, whole: tuple[Rows, pa.Table]) -> None:
    chance = random.Random(7)
    repeated = stage_facts({name: rows + chance.sample(rows, len(rows) // 3) for name, rows in facts.items()})
    assert results(repeated.rows, repeated.days, repeated.summary)[0] == whole[0]
