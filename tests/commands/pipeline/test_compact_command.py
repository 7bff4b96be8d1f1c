"""`pipeline compact` while it works, and what it says of what it did where something ends it early."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kafka_groups.errors import StorageError
from kafka_groups.rendering.pipeline.schemas import pipeline_schemas
from kafka_groups.rendering.progress import ProgressBar
from tests.commands.pipeline.conftest import Rooms
from tests.fakes.fake_admin import Outcome, run

SO_FAR = SimpleNamespace(dates=3, files_before=522, files_after=3, removed_dates=0)
NOTHING = SimpleNamespace(dates=0, files_before=0, files_after=0, removed_dates=0)


def compact(into: str, *more: str) -> Outcome:
    return run("pipeline", "compact", "--into", into, *more)


def ended(rooms: Rooms, so_far: SimpleNamespace, error: BaseException) -> None:
    """From now on a compaction ends so, after it has done that."""

    def ending(*_: object, begun: Callable[[object], None], **__: object) -> None:
        begun(lambda: so_far)
        raise error

    rooms.compact.side_effect = ending


def document(outcome: Outcome) -> dict[str, Any]:
    """What a program gets, which is as its schema says."""
    told: dict[str, Any] = json.loads(outcome.stdout)
    Draft202012Validator(pipeline_schemas()["pipeline-compact"]).validate(told)
    return told


def test_a_compaction_has_a_bar(rooms: Rooms, into: str) -> None:
    compact(into)
    assert isinstance(rooms.compact.call_args.kwargs["progress"], ProgressBar)


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt(), 130), (SystemExit(143), 143)])
def test_an_interrupted_compaction_tells_what_it_did(rooms: Rooms, into: str, error: BaseException, code: int) -> None:
    ended(rooms, SO_FAR, error)
    outcome = compact(into)
    assert outcome.exit_code == code
    assert outcome.stdout.split()[:4] == ["WHAT", "NUMBER", "dates", "3"]
    assert outcome.stderr.startswith("Done so far, in ")
    assert ": dates 3, files before 522, files after 3, removed dates 0.\n" in outcome.stderr
    told = document(compact(into, "--format", "json"))
    assert (told["status"], told["files_before"], told["errors"][0]["name"]) == ("partial", 522, "INTERRUPTED")


def test_what_failed_on_the_way_leaves_a_part_done(rooms: Rooms, into: str) -> None:
    ended(rooms, SO_FAR, StorageError("no"))
    outcome = compact(into)
    assert (outcome.exit_code, outcome.stderr.splitlines()[-1]) == (3, "Error: no")
    assert "Done so far, in " in outcome.stderr


def test_what_ended_before_anything_was_done_has_no_numbers(rooms: Rooms, into: str) -> None:
    ended(rooms, NOTHING, StorageError("no"))
    assert compact(into) == (1, "", "Error: no\n")
    assert document(compact(into, "--format", "json"))["status"] == "failed"
