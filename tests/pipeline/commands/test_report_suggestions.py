"""A group of `pipeline report` that is in no table: the error suggests the nearest one that is."""

from __future__ import annotations

import json
from dataclasses import replace

from tests.fakes.command_line import run
from tests.pipeline.commands.conftest import FakePipeline
from tests.pipeline.report.example_histories import history

WHY = "check the id, or give a longer --since; did you mean 'billing'?"


def test_a_misspelt_group_gets_the_nearest_one_of_the_tables(fakes: FakePipeline, data_dir: str) -> None:
    known = history(made_ms=3, from_ms=1, to_ms=2, clusters=("c",))
    fakes.report.return_value = replace(known, unknown=("biling",), nearest={"biling": "billing"})
    outcome = run("pipeline", "report", "--data-dir", data_dir, "biling")
    assert outcome.exit_code == 1
    assert outcome.stderr.splitlines()[-1].endswith(f"{WHY} (GROUP_ID_NOT_FOUND)")
    document = json.loads(run("pipeline", "report", "--data-dir", data_dir, "biling", "--format", "json").stdout)
    assert [error["message"].endswith(WHY) for error in document["errors"]] == [True]
