"""The groups that `pipeline report` reads: those of its options, and those without data."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_groups.pipeline.report.limits import GroupLimit
from tests.fakes.command_line import run
from tests.pipeline.commands.conftest import FakePipeline
from tests.pipeline.commands.pipeline_documents import document_of
from tests.pipeline.report.example_histories import group, history

HISTORY = history(made_ms=3, from_ms=1, to_ms=2, clusters=("c",))


@pytest.fixture(autouse=True)
def a_history(fakes: FakePipeline) -> None:
    """Let the fake report return a history."""
    fakes.report.return_value = HISTORY


def test_report_reads_the_selected_groups(fakes: FakePipeline, data_dir: str) -> None:
    run(
        "pipeline", "report", "--data-dir", data_dir, "--since", "2d", "--top", "5", "--match", "a.*", "--exclude", "ab"
    )
    arguments = fakes.report.call_args.kwargs
    assert (arguments["until_ms"] - arguments["since_ms"], arguments["shown"]) == (2 * 86_400_000, GroupLimit(5))
    assert (arguments["groups"], arguments["match"], arguments["exclude"]) == ((), "a.*", "ab")
    run("pipeline", "report", "--data-dir", data_dir)
    arguments = fakes.report.call_args.kwargs
    assert (arguments["groups"], arguments["match"], arguments["exclude"]) == ((), None, None)


def test_excluding_every_named_group_selects_no_group(fakes: FakePipeline, data_dir: str) -> None:
    run("pipeline", "report", "--data-dir", data_dir, "a", "-g", "b", "--exclude", "a")
    arguments = fakes.report.call_args.kwargs
    assert (arguments["groups"], arguments["match"]) == (("b",), None)
    run("pipeline", "report", "--data-dir", data_dir, "a", "--exclude", "a")
    arguments = fakes.report.call_args.kwargs
    assert arguments["groups"] == ()
    assert [group for group in ("", "a", "b") if re.fullmatch(arguments["match"], group)] == []


def test_a_requested_group_without_data_is_an_error_of_that_group(fakes: FakePipeline, data_dir: str) -> None:
    fakes.report.return_value = replace(
        HISTORY, groups=(group("billing"),), selected=(group("billing"),), unknown=("nosuch",)
    )
    outcome = run("pipeline", "report", "--data-dir", data_dir, "nosuch", "billing")
    assert outcome.exit_code == 3
    assert "billing" in outcome.stdout
    assert outcome.stderr.splitlines()[-1] == (
        "Error: group 'nosuch': the tables have no data on this group in this period; "
        "check the id, or give a longer --since (GROUP_ID_NOT_FOUND)"
    )
    document = document_of("report", "--data-dir", data_dir, "nosuch", "billing", exit_code=3)
    assert (document["status"], [entry["group"] for entry in document["errors"]]) == ("partial", ["nosuch"])


def test_an_old_page_stays_if_no_requested_group_has_data(fakes: FakePipeline, data_dir: str, tmp_path: Path) -> None:
    fakes.report.return_value = replace(HISTORY, unknown=("nosuch",))
    page = tmp_path / "page.html"
    page.write_text("yesterday's page")
    outcome = run("pipeline", "report", "--data-dir", data_dir, "nosuch", "--html", str(page))
    assert (outcome.exit_code, outcome.stdout, outcome.stderr.count("\n")) == (1, "", 1)
    assert page.read_text() == "yesterday's page"
    document = document_of("report", "--data-dir", data_dir, "nosuch", exit_code=1)
    assert (document["status"], document["groups"], document["errors"][0]["code"]) == ("failed", [], 69)


def test_a_pattern_that_matches_nothing_is_a_note(data_dir: str) -> None:
    outcome = run("pipeline", "report", "--data-dir", data_dir, "--match", "x.*")
    assert (outcome.exit_code, outcome.stderr.splitlines()[-1]) == (0, "No group matches.")


def test_report_needs_no_spark(fakes: FakePipeline, data_dir: str) -> None:
    run("pipeline", "report", "--data-dir", data_dir)
    assert callable(fakes.report.call_args.kwargs["progress"])
    fakes.spark.assert_not_called()
