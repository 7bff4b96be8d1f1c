"""The progress bar of `pipeline compact`, and its report if it ends early."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.commands.schemas import pipeline_schemas
from kafka_groups.rendering.progress import ProgressBar
from tests.fakes.command_line import Outcome, run
from tests.pipeline.commands.conftest import FakePipeline

PARTIAL = SimpleNamespace(dates=3, files_before=522, files_after=3, removed_dates=0)
NOTHING = SimpleNamespace(dates=0, files_before=0, files_after=0, removed_dates=0)


def compact(data_dir: str, *more: str) -> Outcome:
    return run("pipeline", "compact", "--data-dir", data_dir, *more)


def end_early(fakes: FakePipeline, done: SimpleNamespace, error: BaseException) -> None:
    """Let the fake compaction raise this error after it has done this."""

    def ending(*_: object, on_start: Callable[[object], None], **__: object) -> None:
        on_start(done)
        raise error

    fakes.compact.side_effect = ending


def document(outcome: Outcome) -> dict[str, Any]:
    """Return the JSON document, which conforms to its schema."""
    content: dict[str, Any] = json.loads(outcome.stdout)
    Draft202012Validator(pipeline_schemas()["pipeline-compact"]).validate(content)
    return content


def test_a_compaction_has_a_progress_bar(fakes: FakePipeline, data_dir: str) -> None:
    compact(data_dir)
    assert isinstance(fakes.compact.call_args.kwargs["progress"], ProgressBar)


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (SystemExit(143), 143)])
def test_an_interrupted_compaction_reports_what_it_did(
    fakes: FakePipeline, data_dir: str, error: BaseException, code: int
) -> None:
    end_early(fakes, PARTIAL, error)
    outcome = compact(data_dir)
    assert outcome.exit_code == code
    assert outcome.stdout.split()[:4] == ["WHAT", "NUMBER", "dates", "3"]
    assert outcome.stderr.startswith("Partly done, in ")
    assert ": dates 3, files before 522, files after 3, removed dates 0.\n" in outcome.stderr
    content = document(compact(data_dir, "--format", "json"))
    assert (content["status"], content["files_before"], content["errors"][0]["name"]) == ("partial", 522, "INTERRUPTED")


def test_a_compaction_that_fails_midway_is_partial(fakes: FakePipeline, data_dir: str) -> None:
    end_early(fakes, PARTIAL, StorageError("no"))
    outcome = compact(data_dir)
    assert (outcome.exit_code, outcome.stderr.splitlines()[-1]) == (3, "Error: no")
    assert "Partly done, in " in outcome.stderr


def test_a_compaction_that_fails_before_it_did_anything_has_no_numbers(fakes: FakePipeline, data_dir: str) -> None:
    end_early(fakes, NOTHING, StorageError("no"))
    assert compact(data_dir) == (1, "", "Error: no\n")
    assert document(compact(data_dir, "--format", "json"))["status"] == "failed"
