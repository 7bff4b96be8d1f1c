"""What the proof reports about rows that differ."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.pipeline.proof.__main__ import split_seeds
from tests.pipeline.proof.differences import Comparison, Difference, Expected, ExplainedDifferences, compare
from tests.pipeline.proof.random_facts import Rows
from tests.pipeline.proof.trees import index_rows, report_rows, table_rows

KEY = ("seed-0007", "g")
ROW = {"cluster_id": "seed-0007", "group": "g", "lag": 1, "rate": 2.0}
RATES = Expected(defect=36, table="lags", columns=frozenset({"rate"}), why="Rates differ.")
LAGS = Expected(defect=37, table="lags", columns=frozenset({"lag"}), why="Lags differ.")
ROWS = Expected(defect=38, table="lags", columns=frozenset(), is_whole_row=True, why="Rows are missing.")


def compared(old: Rows, new: Rows, *expected: Expected) -> Comparison:
    return compare({"lags": old}, {"lags": new}, expected)


def test_equal_rows_are_counted() -> None:
    comparison = compared({KEY: ROW}, {KEY: dict(ROW)})

    assert comparison.summary() == "1 rows equal, 0 unexpected"


def test_an_unexpected_difference_has_its_table_seed_and_column() -> None:
    comparison = compared({KEY: ROW}, {KEY: ROW | {"lag": 3}})

    assert comparison.summary() == "0 rows equal, 1 unexpected"
    assert comparison.unexpected_places() == ["lags, lag: 1 rows of seeds 7"]
    assert str(comparison.unexpected[0]) == "lags, seed 7, g: lag: 1 -> 3"


def test_an_expected_difference_is_counted_by_its_defect() -> None:
    comparison = compared({KEY: ROW}, {KEY: ROW | {"rate": 1.0}}, RATES)

    assert comparison.summary() == "0 rows equal, 1 differ as expected by defect 36, 0 unexpected"


def test_a_difference_in_a_further_column_is_unexpected() -> None:
    comparison = compared({KEY: ROW}, {KEY: ROW | {"rate": 1.0, "lag": 3}}, RATES)

    assert comparison.summary() == "0 rows equal, 1 unexpected"


def test_two_defects_together_can_explain_a_row() -> None:
    comparison = compared({KEY: ROW}, {KEY: ROW | {"rate": 1.0, "lag": 3}}, RATES, LAGS)

    assert comparison.summary() == "0 rows equal, 1 differ as expected by defects 36 and 37, 0 unexpected"


def test_a_defect_without_its_columns_explains_nothing() -> None:
    comparison = compared({KEY: ROW}, {KEY: ROW | {"rate": 1.0}}, LAGS)

    assert comparison.summary() == "0 rows equal, 1 unexpected"


def test_a_defect_of_other_rows_explains_nothing() -> None:
    def is_of_seed_8(difference: Difference, _before: ExplainedDifferences) -> bool:
        return difference.seed == 8

    other = Expected(defect=36, table="lags", columns=frozenset({"lag"}), why="Seed 8.", applies=is_of_seed_8)

    comparison = compared({KEY: ROW}, {KEY: ROW | {"lag": 3}}, other)

    assert comparison.summary() == "0 rows equal, 1 unexpected"


@pytest.mark.parametrize(("old", "new", "side"), [({KEY: ROW}, {}, "old"), ({}, {KEY: ROW}, "new")])
def test_a_row_on_one_side_is_explained_only_as_a_whole(old: Rows, new: Rows, side: str) -> None:
    unexpected = compared(old, new, LAGS)

    assert str(unexpected.unexpected[0]) == f"lags, seed 7, g: only the {side} code derives it"
    assert unexpected.unexpected_places() == ["lags, row on one side only: 1 rows of seeds 7"]
    assert compared(old, new, ROWS).summary() == "0 rows equal, 1 differ as expected by defect 38, 0 unexpected"


def test_a_column_that_only_new_rows_have_is_a_difference() -> None:
    comparison = compared({KEY: ROW}, {KEY: ROW | {"skew": None}})

    assert comparison.unexpected_places() == ["lags, skew: 1 rows of seeds 7"]


def test_examples_of_differences_show_different_columns() -> None:
    old: Rows = {(*KEY, number): ROW for number in range(4)}
    new: Rows = {(*KEY, number): ROW | {"lag" if number else "rate": 9} for number in range(4)}

    examples = compared(old, new).examples(2)

    assert [(example.key[-1], set(example.columns)) for example in examples] == [
        (0, {"rate"}),
        (1, {"lag"}),
        (2, {"lag"}),
    ]


def test_a_repeated_row_has_a_key_of_its_own() -> None:
    assert list(index_rows([{"group": "g"}, {"group": "h"}, {"group": "g"}], ["group"])) == [("g",), ("h",), ("g", 2)]


def test_columns_of_the_old_commit_get_their_present_names() -> None:
    old = {"group": "g", "protocol": "classic", "removed_at": None}

    assert index_rows([old], ["group", "group_protocol"]) == {
        ("g", "classic"): {"group": "g", "group_protocol": "classic", "deleted_at": None}
    }


@pytest.mark.parametrize(
    ("table", "present_name"), [("group_daily", "min_retention_margin"), ("lag_history", "retention_margin")]
)
def test_a_column_that_was_renamed_in_one_table_stays_in_others(tmp_path: Path, table: str, present_name: str) -> None:
    directory = tmp_path / table
    directory.mkdir()
    pq.write_table(pa.table({"group": ["g"], "retention_margin": [5]}), directory / "rows.parquet")

    assert table_rows(directory, ("group",)) == {("g",): {"group": "g", present_name: 5}}


def test_verdicts_are_not_compared() -> None:
    of_verdicts = {"rule": "stalled", "verdict": "STALL", "complete": 1.0, "verdict_since": "12:00"}

    assert index_rows([ROW | of_verdicts], ["group"]) == {("g",): ROW}


def test_rebalances_of_a_report_are_rows_with_the_key_of_their_group() -> None:
    rebalance = {"started_at": "12:00", "generation": 3}
    group = {"cluster_id": "seed-0007", "group": "g", "points": [], "rebalances": [rebalance], "lag": 1}
    reset = {"cluster_id": "seed-0007", "kind": "known_reset", "group": "g", "topic": None}
    document = {"schema": "s", "made_at": "13:00", "groups": [group], "findings": [reset]}

    rows = report_rows(document)

    assert rows["report groups"] == {KEY: group | {"points": 0, "rebalances": 1}}
    assert list(rows["report rebalances"]) == [(*KEY, "12:00", 3)]
    assert rows["report document"] == {(None,): {"schema": "s"}}
    assert rows["report findings"] == {}


def test_outcomes_of_several_directories_are_added() -> None:
    comparison = compared({KEY: ROW}, {KEY: ROW})

    comparison.add(compared({KEY: ROW}, {KEY: ROW | {"rate": 1.0}}, RATES))

    assert comparison.summary() == "1 rows equal, 1 differ as expected by defect 36, 0 unexpected"


def test_rows_are_counted_by_the_first_entry_that_explains_them() -> None:
    again = Expected(defect=39, table="lags", columns=frozenset({"rate"}), why="Rates differ again.")
    comparison = compared({KEY: ROW}, {KEY: ROW | {"rate": 1.0}}, RATES, again)

    assert comparison.entry_lines([RATES, again]) == [
        "expected: 1 rows of 1 seeds, at most 1 of one; defect 36, lags (rate): Rates differ.",
        "expected: 0 rows of 0 seeds, at most 0 of one; defect 39, lags (rate): Rates differ again.",
    ]


def test_each_seed_is_in_one_directory() -> None:
    assert split_seeds(41, 5, 2) == [range(41, 43), range(43, 45), range(45, 46)]
