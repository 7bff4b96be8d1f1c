"""sample --every: rounds that fail, a directory that goes away, and what is told when somebody ends it."""

from __future__ import annotations

import json
from typing import Any

from kafka_groups.errors import ConnectionFailedError, StorageError
from tests.commands.pipeline.conftest import Rooms
from tests.fakes.fake_admin import Outcome, failure, run

Json = dict[str, Any]


def rounds(rooms: Rooms, into: str, *ends: object) -> tuple[Outcome, Json]:
    """A run of these rounds, and its document."""
    rooms.sample.side_effect = ends
    outcome = run("pipeline", "sample", "--into", into, "--every", "1ms", "--format", "json")
    return outcome, json.loads(outcome.stdout)


def test_rounds_outlive_a_cluster_that_is_away_and_one_that_was_missed_is_told(rooms: Rooms, into: str) -> None:
    done = rooms.sample.return_value
    outcome, document = rounds(rooms, into, done, ConnectionFailedError("away"), done, KeyboardInterrupt)
    assert (outcome.exit_code, document["rounds"], document["tables"][0]["rows"]) == (130, 2, 8)
    assert (document["status"], [error["message"] for error in document["errors"]]) == ("partial", ["away"])
    assert outcome.stderr.count("away") == 1


def test_if_no_round_was_answered_it_has_failed(rooms: Rooms, into: str) -> None:
    away = ConnectionFailedError("away")
    outcome, document = rounds(rooms, into, away, away, KeyboardInterrupt)
    assert (outcome.exit_code, document["status"], document["rounds"]) == (130, "failed", 0)
    assert [error["name"] for error in document["errors"]] == ["CONNECTION_FAILED"]


def test_what_a_round_could_not_ask_is_told(rooms: Rooms, into: str) -> None:
    done = rooms.sample.return_value
    done.failures = (failure(group="g"),)
    outcome, document = rounds(rooms, into, done, KeyboardInterrupt)
    assert (outcome.exit_code, document["status"], document["errors"][0]["group"]) == (130, "partial", "g")


def test_rounds_that_were_answered_are_complete(rooms: Rooms, into: str) -> None:
    outcome, document = rounds(rooms, into, rooms.sample.return_value, KeyboardInterrupt)
    assert (outcome.exit_code, document["status"], document["errors"]) == (130, "complete", [])


def test_what_was_written_before_the_directory_went_away_is_told(rooms: Rooms, into: str) -> None:
    done = rooms.sample.return_value
    outcome, document = rounds(rooms, into, done, done, done, StorageError("it is gone"))
    assert (outcome.exit_code, document["status"], document["rounds"]) == (3, "partial", 3)
    assert document["tables"] == [{"table": "partition_offsets", "rows": 12}]
    assert [error["name"] for error in document["errors"]] == ["STORAGE_FAILED"]
    assert outcome.stderr.splitlines()[-1] == "Error: it is gone"
