"""What the pipeline's commands say of their work: tables, documents, exit codes, whatever ended them."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from kafka_groups.errors import (
    ConnectionFailedError,
    PipelineError,
    SourceError,
    SparkMissingError,
    StorageError,
)
from kafka_groups.history import Cut
from tests.commands.pipeline.conftest import Rooms
from tests.fakes.fake_admin import failure, run
from tests.rendering.history.stories import group, history

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

HISTORY = history(made_ms=3, from_ms=1, to_ms=2, clusters=("c",))
Json = dict[str, Any]


def document_of(command: str, *arguments: str, exit_code: int = 0) -> Json:
    """The document of a command, which is as its schema says."""
    outcome = run("pipeline", command, *arguments, "--format", "json")
    assert outcome.exit_code == exit_code, outcome
    document: Json = json.loads(outcome.stdout)
    schema = json.loads(run("schema", f"pipeline-{command}", bootstrap=None).stdout)
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(document)
    assert document["schema"] == f"kafka-groups/pipeline-{command}/1"
    return document


@pytest.fixture(autouse=True)
def a_history(rooms: Rooms) -> None:
    """What report shows."""
    rooms.report.return_value = HISTORY


def test_ingest_tells_what_it_wrote(rooms: Rooms, into: str) -> None:
    outcome = run("pipeline", "ingest", "--into", into)
    assert (outcome.exit_code, outcome.stdout) == (0, "TABLE           ROWS\noffset_commits    28\n")
    assert outcome.stderr.endswith("s: batches 2, records 30, rows written 28.\n")
    assert rooms.prepared.call_args.args[1]["bootstrap.servers"] == "b1:9092"
    assert rooms.prepared.call_args.kwargs == {"timeout_s": 30.0}


def test_ingest_goes_on_if_told_to(rooms: Rooms, into: str) -> None:
    run("pipeline", "ingest", "--into", into, "--continuous", "--every", "1m", "--records-per-batch", "5")
    told = rooms.ingest.call_args.kwargs
    assert (told["continuous"], told["every_s"], told["records_per_batch"]) == (True, 60.0, 5)


def test_backfill_looks_back_in_steps_whose_times_a_later_run_looks_up_too(rooms: Rooms, into: str) -> None:
    run("pipeline", "backfill", "--into", into, "--since", "1h", "--step", "10s", "--topic", "t")
    told = rooms.backfill.call_args.kwargs
    assert (told["step_ms"], told["topics"], told["since_ms"] % 10_000) == (10_000, ("t",), 0)
    assert 3_590_000 < told["until_ms"] - told["since_ms"] <= 3_600_000
    run("pipeline", "backfill", "--into", into)
    assert rooms.backfill.call_args.kwargs["topics"] is None


def test_a_backfill_says_how_much_of_the_past_is_deleted(rooms: Rooms, into: str) -> None:
    rooms.backfill.return_value.deleted = 1_440
    told = run("pipeline", "backfill", "--into", into).stderr
    assert told.startswith("1,440 log ends of the past are not known, since the records of then are deleted.\n")


def test_compact_tells_its_numbers(rooms: Rooms, into: str) -> None:
    outcome = run("pipeline", "compact", "--into", into, "--keep", "90d")
    assert outcome.stdout.split() == [
        *("WHAT", "NUMBER", "dates", "1", "files", "before", "9", "files", "after", "2", "removed", "dates", "1")
    ]
    assert rooms.compact.call_args.kwargs["keep"].days == 90
    run("pipeline", "compact", "--into", into, "--keep", "3650d")
    assert rooms.compact.call_args.kwargs["keep"].days == 3_650


@pytest.mark.parametrize("command", ["ingest", "sample", "backfill", "build", "compact", "report", "tables"])
def test_every_document_is_as_its_schema_says(into: str, command: str) -> None:
    document = document_of(command, "--into", into)
    assert (document["status"], document["errors"]) == ("complete", [])


def test_items_that_failed_are_told_beside_what_was_written(rooms: Rooms, into: str) -> None:
    rooms.sample.return_value.failures = (failure(group="g"),)
    document = document_of("sample", "--into", into, exit_code=3)
    assert (document["status"], document["errors"][0]["group"]) == ("partial", "g")
    rooms.sample.return_value.rows = {"partition_offsets": 0}
    assert document_of("sample", "--into", into, exit_code=1)["status"] == "failed"


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (SparkMissingError("no"), "SPARK_MISSING"),
        (SourceError("no"), "SOURCE_FAILED"),
        (StorageError("no"), "STORAGE_FAILED"),
        (PipelineError("no"), "PIPELINE_FAILED"),
        (ConnectionFailedError("no"), "CONNECTION_FAILED"),
    ],
)
def test_what_ends_a_command_stands_in_its_document_and_once_on_stderr(
    rooms: Rooms, into: str, error: Exception, name: str
) -> None:
    rooms.ingest.side_effect = error
    document = document_of("ingest", "--into", into, exit_code=1)
    assert (document["status"], [told["name"] for told in document["errors"]]) == ("failed", [name])
    assert run("pipeline", "ingest", "--into", into) == (1, "", "Error: no\n")


def test_ctrl_c_is_130_and_a_whole_document(rooms: Rooms, into: str) -> None:
    rooms.build.side_effect = KeyboardInterrupt
    assert document_of("build", "--into", into, exit_code=130)["status"] == "failed"


def test_sigterm_is_143_and_a_whole_document(rooms: Rooms, into: str) -> None:
    before = signal.getsignal(signal.SIGTERM)
    rooms.build.side_effect = lambda *_, **__: os.kill(os.getpid(), signal.SIGTERM)
    assert document_of("build", "--into", into, exit_code=143)["status"] == "failed"
    assert run("pipeline", "build", "--into", into).stderr == "Error: terminated\n"
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_signal_while_spark_stops_does_not_take_what_was_written(rooms: Rooms, into: str) -> None:
    @contextmanager
    def ended_meanwhile() -> Iterator[object]:
        yield object()
        os.kill(os.getpid(), signal.SIGTERM)

    rooms.spark.side_effect = lambda **_: ended_meanwhile()
    document = document_of("ingest", "--into", into, exit_code=143)
    assert (document["status"], document["records"], document["errors"]) == ("complete", 30, [])
    outcome = run("pipeline", "ingest", "--into", into)
    assert [line for line in outcome.stderr.splitlines() if "Done" not in line] == ["Error: terminated"]


def test_a_directory_that_is_not_ours_is_told_before_anything_is_asked(rooms: Rooms, tmp_path: Path) -> None:
    (tmp_path / "letters").write_text("mine")
    for command in ("ingest", "sample", "backfill", "build", "report", "compact", "tables"):
        outcome = run("pipeline", command, "--into", str(tmp_path))
        assert (outcome.exit_code, outcome.stdout, outcome.stderr.count("\n")) == (1, "", 1), command
    rooms.spark.assert_not_called()
    for door in rooms.doors.values():
        door.assert_not_called()
    assert (tmp_path / "letters").read_text() == "mine"


def test_a_report_is_of_the_groups_that_are_selected(rooms: Rooms, into: str) -> None:
    run("pipeline", "report", "--into", into, "--since", "2d", "--top", "5", "--match", "a.*", "--exclude", "ab")
    told = rooms.report.call_args.kwargs
    assert (told["until_ms"] - told["since_ms"], told["shown"]) == (2 * 86_400_000, Cut(5))
    assert (told["groups"], told["match"], told["exclude"]) == ((), "a.*", "ab")
    run("pipeline", "report", "--into", into)
    told = rooms.report.call_args.kwargs
    assert (told["groups"], told["match"], told["exclude"]) == ((), None, None)


def test_named_groups_that_are_all_excluded_are_not_all_groups(rooms: Rooms, into: str) -> None:
    run("pipeline", "report", "--into", into, "a", "-g", "b", "--exclude", "a")
    told = rooms.report.call_args.kwargs
    assert (told["groups"], told["match"]) == (("b",), None)
    run("pipeline", "report", "--into", into, "a", "--exclude", "a")
    told = rooms.report.call_args.kwargs
    assert told["groups"] == ()
    assert [group for group in ("", "a", "b") if re.fullmatch(told["match"], group)] == []


def test_an_id_that_the_tables_do_not_know_is_an_error_of_that_group(rooms: Rooms, into: str) -> None:
    rooms.report.return_value = replace(HISTORY, groups=(group("billing"),), groups_in_all=1, unknown=("nosuch",))
    outcome = run("pipeline", "report", "--into", into, "nosuch", "billing")
    assert outcome.exit_code == 3
    assert "billing" in outcome.stdout
    assert outcome.stderr.splitlines()[-1] == (
        "Error: group 'nosuch': the tables tell of no such group in this period (GROUP_ID_NOT_FOUND)"
    )
    document = document_of("report", "--into", into, "nosuch", "billing", exit_code=3)
    assert (document["status"], [told["group"] for told in document["errors"]]) == ("partial", ["nosuch"])


def test_if_no_named_group_is_known_there_is_no_table_and_the_old_page_stays(
    rooms: Rooms, into: str, tmp_path: Path
) -> None:
    rooms.report.return_value = replace(HISTORY, unknown=("nosuch",))
    page = tmp_path / "page.html"
    page.write_text("of yesterday")
    outcome = run("pipeline", "report", "--into", into, "nosuch", "--html", str(page))
    assert (outcome.exit_code, outcome.stdout, outcome.stderr.count("\n")) == (1, "", 1)
    assert page.read_text() == "of yesterday"
    document = document_of("report", "--into", into, "nosuch", exit_code=1)
    assert (document["status"], document["groups"], document["errors"][0]["code"]) == ("failed", [], 69)


def test_a_pattern_that_matches_nothing_is_a_note(into: str) -> None:
    outcome = run("pipeline", "report", "--into", into, "--match", "x.*")
    assert (outcome.exit_code, outcome.stderr.splitlines()[-1]) == (0, "No group matches.")


@pytest.mark.parametrize("command", ["report", "build"])
def test_spark_is_being_started_is_seen_on_a_terminal_at_once(
    rooms: Rooms, into: str, mocker: MockerFixture, command: str
) -> None:
    begin = mocker.patch("kafka_groups.rendering.progress.ProgressBar.begin")
    rooms.spark.side_effect = PipelineError("no")
    assert run("pipeline", command, "--into", into).exit_code == 1
    assert begin.mock_calls == [mocker.call("starting Spark")]
    rooms.spark.side_effect = None
    run("pipeline", command, "--into", into)
    assert callable(getattr(rooms, command).call_args.kwargs["progress"])


def test_build_says_what_could_not_be_told(into: str) -> None:
    outcome = run("pipeline", "build", "--into", into)
    assert outcome.stderr.startswith("no end offsets\nDone in ")
    assert document_of("build", "--into", into)["missing"] == ["no end offsets"]


def test_a_temporary_log_goes_away_unless_an_error_names_it(rooms: Rooms, into: str) -> None:
    logs: list[Path] = []
    opened = rooms.spark.return_value

    def start(**told: Any) -> Any:
        logs.append(told["log"])
        return opened

    rooms.spark.side_effect = start
    run("pipeline", "build", "--into", into)
    assert not logs[0].exists()
    rooms.build.side_effect = lambda *_, **__: (_ for _ in ()).throw(PipelineError(f"its log is {logs[-1]}"))
    run("pipeline", "build", "--into", into)
    assert logs[1].exists()
    logs[1].unlink()


def test_a_table_of_columns_leaves_out_what_structs_consist_of() -> None:
    header, *lines = run("pipeline", "tables").stdout.splitlines()
    assert "ARRAY<STRUCT<…>>" in {line[header.index("TYPE") :].split()[0] for line in lines}
    assert header.index("ABOUT") - header.index("TYPE") < len("ARRAY<STRUCT<…>>") + 3


def test_tables_are_documented_without_a_directory() -> None:
    lines = run("pipeline", "tables", "--format", "csv").stdout.splitlines()
    assert lines[:2] == ["TABLE,COLUMN,TYPE,ABOUT", "offset_commits,cluster_id,STRING,Kafka's id of the cluster"]
    struct = next(line for line in lines if line.startswith("group_events,assignment,"))
    assert '"ARRAY<STRUCT<`topic`: STRING,' in struct
    row = json.loads(run("pipeline", "tables", "--format", "ndjson").stdout.splitlines()[0])
    assert set(row) == {"table", "name", "type", "about"}
    assert {table["rows"] for table in document_of("tables")["tables"]} == {None}
