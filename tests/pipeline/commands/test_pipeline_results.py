"""Results of the pipeline's commands: tables, documents and exit codes."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.errors import (
    ConnectionFailedError,
    PipelineError,
    SourceError,
    SparkMissingError,
    StorageError,
)
from kafka_groups.pipeline.build.build_plan import DateRange
from kafka_groups.pipeline.store import open_storage
from kafka_groups.pipeline.store.retention import uniform_retention
from kafka_groups.pipeline.tables import LAG_HISTORY
from kafka_groups.verdicts import Limits
from tests.fakes.command_line import run
from tests.fakes.fake_admin import failure
from tests.pipeline.commands.conftest import FakePipeline
from tests.pipeline.fact_rows import commit, put_all
from tests.pipeline.report.example_histories import history

if TYPE_CHECKING:
    from pytest_mock import MockerFixture
from tests.pipeline.commands.pipeline_documents import document_of

HISTORY = history(made_ms=3, from_ms=1, to_ms=2, clusters=("c",))


@pytest.fixture(autouse=True)
def a_history(fakes: FakePipeline) -> None:
    """Let the fake report return a history."""
    fakes.report.return_value = HISTORY


def test_ingest_reports_what_it_wrote(fakes: FakePipeline, data_dir: str) -> None:
    outcome = run("pipeline", "ingest", "--data-dir", data_dir)
    assert (outcome.exit_code, outcome.stdout) == (0, "TABLE           ROWS\noffset_commits    28\n")
    assert outcome.stderr.endswith("s: batches 2, records 30, rows written 28.\n")
    assert fakes.open_ingestion.call_args.args[1]["bootstrap.servers"] == "b1:9092"
    assert fakes.open_ingestion.call_args.kwargs == {"timeout_s": 30.0}


def test_ingest_continues_with_continuous(fakes: FakePipeline, data_dir: str) -> None:
    run("pipeline", "ingest", "--data-dir", data_dir, "--continuous", "--interval", "1m", "--records-per-batch", "5")
    arguments = fakes.ingest.call_args.kwargs
    assert (arguments["continuous"], arguments["interval_s"], arguments["records_per_batch"]) == (True, 60.0, 5)


def test_backfill_receives_the_period_the_interval_and_the_topics(fakes: FakePipeline, data_dir: str) -> None:
    run("pipeline", "backfill", "--data-dir", data_dir, "--since", "1h", "--interval", "10s", "--topic", "t")
    period = fakes.backfill.call_args.args[2]
    assert (period.step_ms, period.until_ms - period.since_ms) == (10_000, 3_600_000)
    assert fakes.backfill.call_args.kwargs["topics"] == ("t",)
    run("pipeline", "backfill", "--data-dir", data_dir)
    assert fakes.backfill.call_args.kwargs["topics"] is None


def test_backfill_reports_how_many_log_end_offsets_are_unknown(fakes: FakePipeline, data_dir: str) -> None:
    fakes.backfill.return_value.deleted = 1_440
    stderr = run("pipeline", "backfill", "--data-dir", data_dir).stderr
    assert stderr.startswith("1,440 past log end offsets are unknown: their records were deleted.\n")


def test_compact_reports_its_numbers(fakes: FakePipeline, data_dir: str) -> None:
    outcome = run("pipeline", "compact", "--data-dir", data_dir, "--retention", "90d")
    assert outcome.stdout.split() == [
        *("WHAT", "NUMBER", "dates", "1", "files", "before", "9", "files", "after", "2", "removed", "dates", "1")
    ]
    assert fakes.compact.call_args.kwargs["retention"] == uniform_retention(timedelta(days=90))
    run("pipeline", "compact", "--data-dir", data_dir)
    assert fakes.compact.call_args.kwargs["retention"] == {}
    options = ("--retention", "lag_history=30d", "--retention", "3650d")
    run("pipeline", "compact", "--data-dir", data_dir, *options)
    expected = uniform_retention(timedelta(days=3_650)) | {LAG_HISTORY: timedelta(days=30)}
    assert fakes.compact.call_args.kwargs["retention"] == expected


@pytest.mark.parametrize("command", ["ingest", "sample", "backfill", "build", "compact", "report", "tables"])
def test_every_document_conforms_to_its_schema(data_dir: str, command: str) -> None:
    document = document_of(command, "--data-dir", data_dir)
    assert (document["status"], document["errors"]) == ("complete", [])


def test_failures_are_reported_beside_the_written_rows(fakes: FakePipeline, data_dir: str) -> None:
    fakes.sample.return_value.failures = (failure(group="g"),)
    document = document_of("sample", "--data-dir", data_dir, exit_code=3)
    assert (document["status"], document["errors"][0]["group"]) == ("partial", "g")
    fakes.sample.return_value.rows = {"partition_offsets": 0}
    assert document_of("sample", "--data-dir", data_dir, exit_code=1)["status"] == "failed"


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
def test_the_error_that_ends_a_command_is_in_its_document_and_once_on_stderr(
    fakes: FakePipeline, data_dir: str, error: Exception, name: str
) -> None:
    fakes.ingest.side_effect = error
    document = document_of("ingest", "--data-dir", data_dir, exit_code=1)
    assert (document["status"], [entry["name"] for entry in document["errors"]]) == ("failed", [name])
    assert run("pipeline", "ingest", "--data-dir", data_dir) == (1, "", "Error: no\n")


def test_ctrl_c_is_exit_code_130_with_a_whole_document(fakes: FakePipeline, data_dir: str) -> None:
    fakes.build.side_effect = KeyboardInterrupt
    assert document_of("build", "--data-dir", data_dir, exit_code=130)["status"] == "failed"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_sigterm_and_a_closed_terminal_exit_with_143_and_a_document(
    fakes: FakePipeline, data_dir: str, number: signal.Signals
) -> None:
    before = signal.getsignal(number)
    fakes.build.side_effect = lambda *_, **__: os.kill(os.getpid(), number)
    assert document_of("build", "--data-dir", data_dir, exit_code=143)["status"] == "failed"
    assert run("pipeline", "build", "--data-dir", data_dir).stderr == "Error: terminated\n"
    assert signal.getsignal(number) is before


def test_a_signal_while_spark_stops_does_not_prevent_the_report(fakes: FakePipeline, data_dir: str) -> None:
    @contextmanager
    def terminated_at_the_end() -> Iterator[object]:
        yield object()
        os.kill(os.getpid(), signal.SIGTERM)

    fakes.spark.side_effect = lambda **_: terminated_at_the_end()
    document = document_of("ingest", "--data-dir", data_dir, exit_code=143)
    assert (document["status"], document["records"], document["errors"]) == ("complete", 30, [])
    outcome = run("pipeline", "ingest", "--data-dir", data_dir)
    assert [line for line in outcome.stderr.splitlines() if "Done" not in line] == ["Error: terminated"]


def test_a_directory_of_other_files_is_refused_before_any_request(fakes: FakePipeline, tmp_path: Path) -> None:
    (tmp_path / "letters").write_text("mine")
    for command in ("ingest", "sample", "backfill", "build", "report", "compact", "tables"):
        outcome = run("pipeline", command, "--data-dir", str(tmp_path))
        assert (outcome.exit_code, outcome.stdout, outcome.stderr.count("\n")) == (1, "", 1), command
    fakes.spark.assert_not_called()
    for client in fakes.clients.values():
        client.assert_not_called()
    assert (tmp_path / "letters").read_text() == "mine"


def test_the_progress_bar_shows_at_once_that_spark_is_started(
    fakes: FakePipeline, data_dir: str, mocker: MockerFixture
) -> None:
    begin = mocker.patch("kafka_groups.rendering.progress.ProgressBar.begin")
    fakes.spark.side_effect = PipelineError("no")
    assert run("pipeline", "build", "--data-dir", data_dir).exit_code == 1
    assert begin.mock_calls == [mocker.call("starting Spark")]
    fakes.spark.side_effect = None
    run("pipeline", "build", "--data-dir", data_dir)
    assert callable(fakes.build.call_args.kwargs["progress"])


def test_build_reports_what_is_missing(data_dir: str) -> None:
    outcome = run("pipeline", "build", "--data-dir", data_dir)
    assert outcome.stderr.startswith("no end offsets\nDone in ")
    assert document_of("build", "--data-dir", data_dir)["missing"] == ["no end offsets"]


def test_a_temporary_log_is_deleted_unless_an_error_names_it(fakes: FakePipeline, data_dir: str) -> None:
    logs: list[Path] = []
    opened = fakes.spark.return_value

    def start(**arguments: Any) -> Any:
        logs.append(arguments["log"])
        return opened

    fakes.spark.side_effect = start
    run("pipeline", "build", "--data-dir", data_dir)
    assert not logs[0].exists()
    fakes.build.side_effect = lambda *_, **__: (_ for _ in ()).throw(PipelineError(f"its log is {logs[-1]}"))
    run("pipeline", "build", "--data-dir", data_dir)
    assert logs[1].exists()
    logs[1].unlink()


def test_the_table_of_columns_shows_no_fields_of_structs() -> None:
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


def test_build_passes_its_dates_and_settings_and_reports_the_settings(fakes: FakePipeline, data_dir: str) -> None:
    options = ("--from", "2026-11-01", "--to", "2026-11-03", "--stop-after", "5m", "--allowed-lag", "5")
    document = document_of("build", "--data-dir", data_dir, *options, "--full")
    assert document["settings"] == {"allowed_lag": 5, "stop_after_ms": 300_000}
    arguments = fakes.build.call_args.kwargs
    assert arguments["limits"] == Limits(allowed_lag=5, stop_after_ms=300_000)
    assert arguments["selection"] == DateRange(date(2026, 11, 1), date(2026, 11, 3))
    assert arguments["full"]
    assert fakes.estimate_facts.call_args.kwargs["selection"] == arguments["selection"]


def test_build_reports_that_other_settings_derive_all_dates_again(
    fakes: FakePipeline, data_dir: str, mocker: MockerFixture
) -> None:
    mocker.patch("kafka_groups.pipeline.build.fact_state.read_last_limits", return_value=Limits(stop_after_ms=300_000))
    outcome = run("pipeline", "build", "--data-dir", data_dir)
    assert outcome.stderr.startswith(
        "The last run had other settings (--allowed-lag 0 --stop-after 5m), so all dates have to be derived again.\n"
    )
    assert "settings" not in run("pipeline", "build", "--data-dir", data_dir, "--stop-after", "5m").stderr
    assert fakes.build.call_count == 2


def test_export_writes_files_and_reports_the_rows_of_each_table(data_dir: str, tmp_path: Path) -> None:
    put_all(open_storage(data_dir), "b", {"offset_commits": [commit(0, 1, source=1)]})
    output = tmp_path / "plain"
    options = ("--as", "csv", "--output", str(output), "--table", "offset_commits", "--table", "rebalances")
    document = document_of("export", "--data-dir", data_dir, *options)
    assert document["tables"] == [{"table": "offset_commits", "rows": 1}, {"table": "rebalances", "rows": 0}]
    assert [path.name for path in output.iterdir()] == ["offset_commits.csv"]
    again = run("pipeline", "export", "--data-dir", data_dir, *options)
    assert (again.exit_code, again.stderr) == (1, f"Error: {output} is not empty; name a new directory\n")
    other = ("--as", "csv", "--output", str(tmp_path / "other"), "--table", "nosuch")
    outcome = run("pipeline", "export", "--data-dir", data_dir, *other)
    assert (outcome.exit_code, "Error: --table nosuch: there is no such table; " in outcome.stderr) == (2, True)


def test_ddl_has_a_statement_for_each_table_with_a_version(data_dir: str) -> None:
    put_all(open_storage(data_dir), "b", {"offset_commits": [commit(0, 1, source=1)]})
    outcome = run("pipeline", "tables", "--data-dir", data_dir, "--ddl")
    assert outcome.exit_code == 0
    assert outcome.stdout.startswith("CREATE TABLE IF NOT EXISTS offset_commits (\n  `cluster_id` STRING,\n")
    assert outcome.stdout.endswith(
        f"  `date` DATE\n)\nUSING DELTA\nPARTITIONED BY (`date`)\nLOCATION '{data_dir}/offset_commits';\n"
    )
    assert outcome.stdout.count("CREATE TABLE") == 1
    assert "--ddl needs --data-dir; see" in run("pipeline", "tables", "--ddl").stderr
    with_format = run("pipeline", "tables", "--data-dir", data_dir, "--ddl", "--format", "json")
    assert "--ddl prints SQL: it contradicts --format json; see" in with_format.stderr
