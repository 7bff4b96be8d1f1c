"""Days of topic partitions: the same rows however the facts are divided into days, batches and orders."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pytest

from kafka_groups.pipeline.build.kernels.segments import NULL
from kafka_groups.pipeline.build.partition_batch import (
    INPUT,
    KEY_STATE,
    LOG_STATE,
    PartitionBatch,
    PartitionDay,
    cut_batches,
    lag_history_rows,
    rows_for_groups,
)
from kafka_groups.pipeline.build.partition_stage import Context, Settings, transform_days
from kafka_groups.verdicts import Rules
from tests.pipeline.build.facts import context_of, rows_of, table_of
from tests.pipeline.build.histories import Facts, histories, joined

Rows = dict[str, list[dict[str, Any]]]


def results(table: pa.Table, days: Sequence[int], context: Context, *, most_rows: int = 10**9) -> tuple[Rows, pa.Table]:
    """The rows of some days, and the state at the end of the last one, as rows of the input."""
    found: Rows = {"lag_history": [], "for_groups": []}
    states: list[dict[str, Any]] = []
    pieces = table.to_batches(max_chunksize=max(1, min(table.num_rows, most_rows // 2)))
    for batch in cut_batches(iter(pieces), most_rows):
        one = None
        for one in transform_days(batch, Settings(days, Rules(), 7), context):
            found["lag_history"] += lag_history_rows(batch, one).to_pylist()
            for rows in rows_for_groups(batch, one):
                found["for_groups"] += rows.to_pylist()
        if one is not None:
            states += state_rows(batch, one)
    return {name: sorted(rows, key=repr) for name, rows in found.items()}, pa.Table.from_pylist(states, schema=INPUT)


def state_rows(batch: PartitionBatch, found: PartitionDay) -> Iterator[dict[str, Any]]:
    """The state, as a build reads it back."""
    nothing = dict.fromkeys(INPUT.names)
    columns = zip(*(each.to_pylist() for each in (batch.cluster_id, batch.topic, batch.partition)), strict=True)
    known = [dict(zip(("cluster_id", "topic", "partition"), each, strict=True)) for each in columns]
    for place, state in enumerate(found.log_state.write().to_pylist()):
        if found.log_state.totals.fact_day[place] != NULL and batch.with_log[place]:
            yield nothing | known[place] | {"kind": LOG_STATE, "day": found.day, "at_us": 0, "state": state}
    for place, state in enumerate(found.key_state.write().to_pylist()):
        if found.key_state.totals.fact_day[place] != NULL:
            named = known[batch.partition_of[place]] | {"group": batch.group[place].as_py()}
            yield nothing | named | {"kind": KEY_STATE, "day": found.day, "at_us": 0, "state": state}


def in_order(*tables: pa.Table) -> pa.Table:
    rows = [row for table in tables for row in table.to_pylist()]
    key = ("cluster_id", "topic", "partition", "group", "kind", "at_us", "source_offset")
    return pa.Table.from_pylist(sorted(rows, key=lambda row: [(row[n] is not None, row[n]) for n in key]), schema=INPUT)


@pytest.fixture(scope="module")
def facts() -> Facts:
    return joined(histories(1, 8))


@pytest.fixture(scope="module")
def whole(facts: Facts) -> tuple[Rows, pa.Table]:
    rows = rows_of(facts)
    return results(table_of(rows), days_of(rows), context_of(facts))


def days_of(rows: Sequence[Any]) -> list[int]:
    return sorted({row["day"] for row in rows})


def test_days_that_are_built_one_by_one_have_the_rows_of_all_days_at_once(
    facts: Facts, whole: tuple[Rows, pa.Table]
) -> None:
    rows, context = rows_of(facts), context_of(facts)
    found: Rows = {"lag_history": [], "for_groups": []}
    state = INPUT.empty_table()
    for day in days_of(rows):
        own = table_of([row for row in rows if row["day"] == day])
        built, state = results(in_order(own, state), [day], context)
        found = {name: found[name] + built[name] for name in found}
    assert {name: sorted(each, key=repr) for name, each in found.items()} == whole[0]
    assert len(whole[0]["lag_history"]) > 2_000
    assert in_order(state).equals(in_order(whole[1]))


def test_rows_do_not_depend_on_how_partitions_are_divided_into_batches(
    facts: Facts, whole: tuple[Rows, pa.Table]
) -> None:
    rows = rows_of(facts)
    for most_rows in (150, 1_000):
        built, state = results(table_of(rows), days_of(rows), context_of(facts), most_rows=most_rows)
        assert built == whole[0]
        assert in_order(state).equals(in_order(whole[1]))


def test_facts_that_are_read_twice_count_once(facts: Facts, whole: tuple[Rows, pa.Table]) -> None:
    chance = random.Random(7)
    again = {name: rows + chance.sample(rows, len(rows) // 3) for name, rows in facts.items()}
    rows = rows_of(again)
    assert results(table_of(rows), days_of(rows), context_of(again))[0] == whole[0]
