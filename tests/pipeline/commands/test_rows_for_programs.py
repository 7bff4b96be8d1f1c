"""ndjson and csv: every command writes rows of one kind, which conform to its schema and are not rounded."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.commands.schemas import pipeline_schemas
from kafka_groups.pipeline.report.text.lines import COLUMNS
from tests.fakes.command_line import run
from tests.pipeline.commands.conftest import FakePipeline
from tests.pipeline.report.example_histories import group, history

HISTORY = replace(
    history(made_ms=3, from_ms=1, to_ms=2, clusters=("c",)),
    groups=(group("billing", lag=12_345, consume_rate=0.123456), group("quiet", lag=None)),
    selected=(group("billing"), group("quiet")),
    missing=("no log ends of yesterday",),
    gaps=("partition 3: 120 offsets",),
)
WRITING = {"ingest": "offset_commits", "sample": "partition_offsets", "backfill": "partition_offsets"}
Row = dict[str, Any]


@pytest.fixture(autouse=True)
def a_history(fakes: FakePipeline) -> None:
    fakes.report.return_value = HISTORY


def lines(command: str, data_dir: str) -> list[Row]:
    """Return the rows of ndjson, each of which conforms to the command's schema."""
    outcome = run("pipeline", command, "--data-dir", data_dir, "--format", "ndjson")
    assert outcome.exit_code == 0, outcome
    schema = pipeline_schemas()[f"pipeline-{command}"]["$defs"]["row"]
    rows: list[Row] = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert [list(Draft202012Validator(schema).iter_errors(row)) for row in rows] == [[]] * len(rows)
    assert all(set(schema["properties"]) == set(row) for row in rows)
    return rows


def cells(command: str, data_dir: str) -> list[Row]:
    """Return the rows of csv."""
    outcome = run("pipeline", command, "--data-dir", data_dir, "--format", "csv")
    assert outcome.exit_code == 0, outcome
    return list(csv.DictReader(io.StringIO(outcome.stdout)))


@pytest.mark.parametrize("command", [*WRITING, "build"])
def test_a_row_has_a_table_and_the_number_of_rows_written(data_dir: str, command: str) -> None:
    (line,) = lines(command, data_dir)
    assert line["table"] == WRITING.get(command, "lag_history")
    assert cells(command, data_dir) == [{"TABLE": line["table"], "ROWS": str(line["rows"])}]


def test_a_build_without_work_prints_no_row(fakes: FakePipeline, data_dir: str) -> None:
    fakes.build.return_value.rows = {}
    assert lines("build", data_dir) == []
    assert run("pipeline", "build", "--data-dir", data_dir, "--format", "csv").stdout == "TABLE,ROWS\n"


def test_compact_has_a_row_for_each_number(data_dir: str) -> None:
    assert {row["what"]: row["number"] for row in lines("compact", data_dir)} == {
        "dates": 1,
        "files_before": 9,
        "files_after": 2,
        "removed_dates": 1,
    }
    assert cells("compact", data_dir)[1] == {"WHAT": "files_before", "NUMBER": "9"}


def test_a_line_of_a_report_is_a_group_of_the_json_document(data_dir: str) -> None:
    document = json.loads(run("pipeline", "report", "--data-dir", data_dir, "--format", "json").stdout)
    assert lines("report", data_dir) == document["groups"]


def test_a_cell_of_a_report_has_the_value_of_the_document_unrounded(data_dir: str) -> None:
    first, second = cells("report", data_dir)
    assert (first["GROUP"], first["LAG"], first["CONSUME-RATE"]) == ("billing", "12345", "0.123456")
    assert (second["LAG"], second["SINCE-IS-BOUND"]) == ("", "false")
    assert "POINTS" not in first
    nested = {"points", "rebalances", "tasks"}
    flat = lines("report", data_dir)[0].keys() - nested
    assert flat | {"rebalances", "longest_ms"} == {column.attribute for column in COLUMNS}


@pytest.mark.parametrize("output_format", ["ndjson", "csv"])
def test_what_has_no_row_in_a_report_is_printed_to_stderr(data_dir: str, output_format: str) -> None:
    notes = run("pipeline", "report", "--data-dir", data_dir, "--format", output_format).stderr.splitlines()
    assert notes == ["Omitted: 1 gap; --format json has them all.", "Missing: no log ends of yesterday"]


@pytest.mark.parametrize("output_format", ["ndjson", "csv"])
def test_a_failed_command_writes_no_line(fakes: FakePipeline, data_dir: str, output_format: str) -> None:
    fakes.ingest.side_effect = SourceError("no")
    assert run("pipeline", "ingest", "--data-dir", data_dir, "--format", output_format) == (1, "", "Error: no\n")


def test_the_rows_include_what_was_written_before_an_error(fakes: FakePipeline, data_dir: str) -> None:
    def write_and_fail(*_: object, on_start: Callable[[object], None], **__: object) -> None:
        on_start(fakes.backfill.return_value)
        raise SourceError("no")

    fakes.backfill.side_effect = write_and_fail
    outcome = run("pipeline", "backfill", "--data-dir", data_dir, "--format", "ndjson")
    assert (outcome.exit_code, json.loads(outcome.stdout)) == (3, {"table": "partition_offsets", "rows": 10})
