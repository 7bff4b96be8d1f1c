"""--data-dir: a directory that does not exist yet, no directory, and texts that are not the path of one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_groups.errors import ConnectionFailedError, SourceError
from tests.fakes.command_line import run
from tests.pipeline.commands.conftest import FakePipeline

MAKERS = ("ingest", "sample", "backfill")


def make_brokers_unavailable(fakes: FakePipeline) -> None:
    """Let every connection to the cluster fail."""
    fakes.open_ingestion.side_effect = SourceError("unavailable")
    fakes.sample.side_effect = fakes.backfill.side_effect = ConnectionFailedError("unavailable")


@pytest.mark.parametrize("command", MAKERS)
@pytest.mark.parametrize("exists", [True, False])
def test_nothing_is_created_if_brokers_are_unavailable(
    fakes: FakePipeline, tmp_path: Path, command: str, *, exists: bool
) -> None:
    make_brokers_unavailable(fakes)
    path = tmp_path / "history"
    if exists:
        path.mkdir()
    assert run("pipeline", command, "--data-dir", str(path)) == (1, "", "Error: unavailable\n")
    assert [*tmp_path.rglob("*")] == ([path] if exists else [])


@pytest.mark.parametrize("command", MAKERS)
@pytest.mark.usefixtures("fakes")
def test_the_directory_is_created_once_brokers_respond(tmp_path: Path, command: str) -> None:
    assert run("pipeline", command, "--data-dir", str(tmp_path / "a" / "history")).exit_code == 0
    assert [path.name for path in (tmp_path / "a" / "history").iterdir()] == ["kafka-groups-pipeline.json"]


@pytest.mark.parametrize("command", ["ingest", "tables", "doctor"])
@pytest.mark.parametrize(
    ("data_dir", "message"),
    [
        ("file://history", "file://history names another machine, 'history'; write a path"),
        ("file://somewhere/history", "file://somewhere/history names another machine, 'somewhere'; write a path"),
        ("file://", "file:// has no path; write a path, or file:/// and"),
    ],
)
@pytest.mark.usefixtures("fakes")
def test_a_file_uri_that_names_a_host_is_refused_and_nothing_is_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, data_dir: str, message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = run("pipeline", command, "--data-dir", data_dir, bootstrap=None if command == "doctor" else "b1:9092")
    assert outcome.exit_code == (3 if command == "doctor" else 1)
    assert message in " ".join((outcome.stdout + outcome.stderr).split())
    assert [*tmp_path.iterdir()] == []


def test_an_empty_data_dir_is_none_even_if_the_environment_names_one(fakes: FakePipeline, data_dir: str) -> None:
    columns = run("pipeline", "tables", "--data-dir", "", "--format", "csv", KAFKA_GROUPS_DATA_DIR=data_dir)
    assert columns.stdout.startswith("TABLE,COLUMN,")
    sizes = run("pipeline", "tables", "--format", "csv", KAFKA_GROUPS_DATA_DIR=data_dir)
    assert sizes.stdout.startswith("TABLE,ROWS,")
    outcome = run("pipeline", "build", "--data-dir", "", KAFKA_GROUPS_DATA_DIR=data_dir)
    assert (outcome.exit_code, "no directory of tables is named" in outcome.stderr) == (2, True)
    fakes.spark.assert_not_called()


@pytest.mark.parametrize("exists", [True, False])
def test_doctor_warns_before_the_first_ingest(tmp_path: Path, *, exists: bool) -> None:
    path = tmp_path / "history"
    if exists:
        path.mkdir()
    outcome = run("pipeline", "doctor", "--data-dir", str(path), "--format", "json", bootstrap=None)
    (tables,) = [check for check in json.loads(outcome.stdout)["checks"] if check["check"] == "tables"]
    assert tables["status"] == "warning"
    assert tables["detail"] == f"there are none in {path} yet; ingest, sample and backfill create them"
    assert path.exists() is exists


def test_doctor_checks_its_timeout_also_without_a_cluster() -> None:
    outcome = run("pipeline", "doctor", "--timeout", "bogus", bootstrap=None)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith("Error: --timeout: 'bogus' is not a duration")
    outcome = run("pipeline", "doctor", bootstrap=None, KAFKA_GROUPS_TIMEOUT="5")
    assert (outcome.exit_code, outcome.stderr.startswith("Error: KAFKA_GROUPS_TIMEOUT: '5' is not")) == (2, True)


def test_a_failed_check_is_an_error_and_the_others_are_results(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    options = ("--data-dir", str(tmp_path / "file"), "--format", "json")
    outcome = run("pipeline", "doctor", *options, bootstrap=None, PATH="", JAVA_HOME=None)
    document = json.loads(outcome.stdout)
    assert (outcome.exit_code, document["status"]) == (3, "partial")
    (error,) = document["errors"]
    assert (error["name"], error["message"].startswith("tables: ")) == ("PIPELINE_FAILED", True)
    assert outcome.stderr == "Failed checks: 1.\n"
