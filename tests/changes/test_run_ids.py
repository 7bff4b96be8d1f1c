"""The ids that users give: whole ones, their starts, and texts that are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_groups.changes.journal import RunHead, begin_run
from kafka_groups.changes.runs import read_run
from kafka_groups.errors import JournalError
from tests.changes.plans import NOON, plan
from tests.changes.written_runs import Journal


@pytest.fixture
def runs(tmp_path: Path) -> Journal:
    return Journal(tmp_path)


def test_the_start_of_an_id_is_enough_if_there_is_only_one(runs: Journal) -> None:
    first, second = runs.run(), runs.run()
    assert read_run(runs.location, first[:-3]).id == first
    with pytest.raises(JournalError) as caught:
        read_run(runs.location, "20261123-1200")
    assert str(caught.value) == (
        f"2 runs have ids that start with '20261123-1200' in {runs.directory}; `kafka-groups undo --list` lists the ids"
    )
    assert read_run(runs.location, second).id == second


def test_an_id_that_another_one_starts_with_is_found(runs: Journal) -> None:
    tokens = iter(["a", "ab"])
    for _ in range(2):
        begin_run(runs.location, RunHead("reset", plan()), clock=lambda: NOON, token=lambda: next(tokens))
    assert read_run(runs.location, "20261123-120000-a").id == "20261123-120000-a"


@pytest.mark.parametrize("run_id", ["", "..", ".", "../x", "a/b", "/etc/passwd", "a\\b", "20261123*", "A", "a\n", "ä"])
def test_a_text_that_is_no_id_is_refused(runs: Journal, run_id: str) -> None:
    runs.run()
    with pytest.raises(JournalError, match="is not the id of a run"):
        read_run(runs.location, run_id)


def test_an_id_without_a_run_is_an_error_with_the_next_step(runs: Journal) -> None:
    runs.run()
    with pytest.raises(JournalError) as caught:
        read_run(runs.location, "20270101")
    assert str(caught.value) == (
        f"there is no run '20270101' in {runs.directory}; `kafka-groups undo --list` lists the ids"
    )


def test_a_misspelt_id_gets_the_nearest_one(runs: Journal) -> None:
    run_id = runs.run()
    with pytest.raises(JournalError) as caught:
        read_run(runs.location, run_id.replace("-", "", 1))
    assert str(caught.value).endswith(f"`kafka-groups undo --list` lists the ids; did you mean '{run_id}'?")
    runs.run()
    with pytest.raises(JournalError, match="start with '2026'") as caught:
        read_run(runs.location, "2026")
    assert "did you mean" not in str(caught.value)
