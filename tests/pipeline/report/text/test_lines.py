"""A history in rows for programs, where something is not known."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable

from kafka_groups.pipeline.report.history import History
from kafka_groups.pipeline.report.text.lines import write_history_lines
from kafka_groups.rendering.screen import Screen
from tests.pipeline.report.example_histories import group, history, rebalance

MakeScreen = Callable[..., Screen]
TOLD = history(group("none", rebalances=()), group("unknown", rebalances=None), group("one", rebalances=(rebalance(),)))


def written(make_screen: MakeScreen, output_format: str, given: History = TOLD) -> str:
    screen = make_screen()
    write_history_lines(screen, given, output_format)
    assert isinstance(screen.out, io.StringIO)
    return screen.out.getvalue()


def test_an_unknown_number_of_rebalances_is_an_empty_cell(make_screen: MakeScreen) -> None:
    rows = csv.DictReader(io.StringIO(written(make_screen, "csv")))
    assert [row["REBALANCES"] for row in rows] == ["0", "", "1"]


def test_the_quality_of_a_lag_has_a_column_of_its_own(make_screen: MakeScreen) -> None:
    """Cells of numbers hold numbers only, and rates are null."""
    bound = group("bound", lag=12, lag_quality="lower_bound")
    rows = list(csv.DictReader(io.StringIO(written(make_screen, "csv", history(bound, group("none"))))))
    assert [(row["LAG"], row["LAG-QUALITY"]) for row in rows] == [("12", "lower_bound"), ("", "unknown")]


def test_rebalances_that_are_not_known_are_null_in_a_line(make_screen: MakeScreen) -> None:
    lines = [json.loads(line) for line in written(make_screen, "ndjson").splitlines()]
    assert [None if line["rebalances"] is None else len(line["rebalances"]) for line in lines] == [0, None, 1]
