"""--into: a directory that is not there yet, none at all, and what may not be read as one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_groups.errors import ConnectionFailedError, SourceError
from tests.commands.pipeline.conftest import Rooms
from tests.fakes.fake_admin import run

MAKERS = ("ingest", "sample", "backfill")


def away(rooms: Rooms) -> None:
    """The brokers do not answer."""
    rooms.prepared.side_effect = SourceError("away")
    for door in rooms.doors.values():
        door.return_value.__enter__.return_value.cluster_id.side_effect = ConnectionFailedError("away")


@pytest.mark.parametrize("command", MAKERS)
@pytest.mark.parametrize("is_there", [True, False])
def test_brokers_that_are_away_leave_nothing_behind(
    rooms: Rooms, tmp_path: Path, command: str, *, is_there: bool
) -> None:
    away(rooms)
    path = tmp_path / "history"
    if is_there:
        path.mkdir()
    assert run("pipeline", command, "--into", str(path)) == (1, "", "Error: away\n")
    assert [*tmp_path.rglob("*")] == ([path] if is_there else [])


@pytest.mark.parametrize("command", MAKERS)
@pytest.mark.usefixtures("rooms")
def test_brokers_that_answer_make_it_ours(tmp_path: Path, command: str) -> None:
    assert run("pipeline", command, "--into", str(tmp_path / "a" / "history")).exit_code == 0
    assert [path.name for path in (tmp_path / "a" / "history").iterdir()] == ["kafka-groups-pipeline.json"]


def test_rounds_that_begin_before_the_cluster_is_there_make_it_once_it_is(rooms: Rooms, tmp_path: Path) -> None:
    cluster_id = rooms.doors["sample"].return_value.__enter__.return_value.cluster_id
    cluster_id.side_effect = [ConnectionFailedError("away"), "c", "c"]
    rooms.sample.side_effect = [rooms.sample.return_value, KeyboardInterrupt]
    assert run("pipeline", "sample", "--into", str(tmp_path / "new"), "--every", "1ms").exit_code == 130
    assert (tmp_path / "new" / "kafka-groups-pipeline.json").is_file()


@pytest.mark.parametrize("command", ["ingest", "tables", "doctor"])
@pytest.mark.parametrize(
    ("into", "told"),
    [
        ("file://history", "file://history names a machine, 'history', and files are"),
        ("file://somewhere/history", "file://somewhere/history names a machine, 'somewhere', and files are"),
        ("file://", "file:// names no path: write a path, or file:/// and"),
    ],
)
@pytest.mark.usefixtures("rooms")
def test_a_uri_that_names_a_machine_is_refused_and_nothing_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, into: str, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run("pipeline", command, "--into", into, bootstrap=None if command == "doctor" else "b1:9092")
    assert outcome.exit_code == (3 if command == "doctor" else 1)
    assert told in " ".join((outcome.stdout + outcome.stderr).split())
    assert [*tmp_path.iterdir()] == []


def test_an_empty_one_is_none_whatever_the_environment_says(rooms: Rooms, into: str) -> None:
    known = run("pipeline", "tables", "--into", "", "--format", "csv", KAFKA_GROUPS_INTO=into)
    assert known.stdout.startswith("TABLE,COLUMN,")
    held = run("pipeline", "tables", "--format", "csv", KAFKA_GROUPS_INTO=into)
    assert held.stdout.startswith("TABLE,ROWS,")
    told = run("pipeline", "build", "--into", "", KAFKA_GROUPS_INTO=into)
    assert (told.exit_code, "no directory of tables is named" in told.stderr) == (2, True)
    rooms.spark.assert_not_called()


@pytest.mark.parametrize("is_there", [True, False])
def test_a_doctor_that_is_asked_before_the_first_ingest_warns(tmp_path: Path, *, is_there: bool) -> None:
    path = tmp_path / "history"
    if is_there:
        path.mkdir()
    outcome = run("pipeline", "doctor", "--into", str(path), "--format", "json", bootstrap=None)
    (tables,) = [check for check in json.loads(outcome.stdout)["checks"] if check["check"] == "tables"]
    assert tables["status"] == "warning"
    assert tables["detail"] == f"there are none in {path} yet: ingest, sample and backfill make them"
    assert path.exists() is is_there


def test_a_doctor_reads_its_timeout_whether_a_cluster_is_named_or_not() -> None:
    outcome = run("pipeline", "doctor", "--timeout", "bogus", bootstrap=None)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith("Error: --timeout: 'bogus' is not a duration")
    outcome = run("pipeline", "doctor", bootstrap=None, KAFKA_GROUPS_TIMEOUT="5")
    assert (outcome.exit_code, outcome.stderr.startswith("Error: KAFKA_GROUPS_TIMEOUT: '5' is not")) == (2, True)


def test_a_check_that_failed_is_an_error_and_the_others_are_answers() -> None:
    outcome = run("pipeline", "doctor", "--format", "json", bootstrap=None, PATH="", JAVA_HOME=None)
    document = json.loads(outcome.stdout)
    assert (outcome.exit_code, document["status"]) == (3, "partial")
    (error,) = document["errors"]
    assert (error["name"], error["message"].startswith("java: Spark needs a JDK")) == ("PIPELINE_FAILED", True)
    assert outcome.stderr == "Failed checks: 1.\n"
