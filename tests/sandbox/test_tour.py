"""The commands of the tour, as the reader types them."""

from __future__ import annotations

import shlex
from pathlib import Path

from click.testing import CliRunner

from kafka_groups.commands.sandbox import sandbox
from kafka_groups.sandbox.seed_data import groups_for
from kafka_groups.sandbox.tour import next_steps, pipeline_steps, steps
from kafka_groups.sandbox.versions import parse_version


def test_every_command_of_the_tour_has_the_cluster_as_a_flag() -> None:
    tour = steps("127.0.0.1:9092", has_jq=True)

    assert all("-b 127.0.0.1:9092" in step.line for step in tour)


def test_the_groups_of_the_tour_exist_in_every_kafka_version() -> None:
    shown = {step.command[-1] for step in steps("h:1", has_jq=True) if "--group" in step.command}

    for version in ("4.3.1", "2.8.2", "2.5.1"):
        assert shown <= {group.name for group in groups_for(parse_version(version))}


def test_the_pipelines_tour_uses_the_directory_of_tables_and_the_sandbox(tmp_path: Path) -> None:
    tour = pipeline_steps("127.0.0.1:9092", tmp_path)

    assert [step.command[1] for step in tour if str(tmp_path) not in step.line] == ["doctor"]
    connected = {"doctor", "ingest", "backfill", "sample"}
    assert {step.command[1] for step in tour if "-b 127.0.0.1:9092" in step.line} == connected


def test_a_shown_line_is_valid_in_a_shell() -> None:
    last = steps("127.0.0.1:9092", has_jq=True)[-1]

    assert shlex.split(last.line) == ["kafka-groups", *last.command, "|", *last.pipe]


def test_without_jq_the_pipe_uses_python() -> None:
    assert steps("h:1", has_jq=False)[-1].line.endswith("--format json | python3 -m json.tool")


def test_the_next_steps_name_the_running_sandbox() -> None:
    assert "kafka-groups sandbox down --name other" in next_steps("other")
    assert "kafka-groups sandbox down --dir '/my home'" in next_steps("sandbox", home=Path("/my home"))
    assert next_steps("sandbox").endswith("kafka-groups sandbox down")


def test_newer_versions_have_groups_of_the_consumer_protocol() -> None:
    kinds = {
        version: {group.name for group in groups_for(parse_version(version)) if group.consumer_protocol}
        for version in ("4.3.1", "2.8.2")
    }

    assert kinds == {"4.3.1": {"fraud-detector"}, "2.8.2": set()}


def test_status_without_a_sandbox_prints_a_note_and_exits_with_1(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(sandbox, ["status", "--dir", str(tmp_path)])

    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert outcome.stderr.endswith(f"start it with: kafka-groups sandbox up --dir {tmp_path}\n")


def test_status_of_a_named_sandbox_prints_the_command_that_starts_it(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(sandbox, ["status", "--name", "rvx", "--dir", str(tmp_path)])

    assert outcome.stderr.endswith(f"start it with: kafka-groups sandbox up --name rvx --dir {tmp_path}\n")


def test_status_prints_json_also_without_a_sandbox(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(sandbox, ["status", "--dir", str(tmp_path), "--format", "json"])

    assert outcome.exit_code == 1
    assert '"up": false' in outcome.stdout
