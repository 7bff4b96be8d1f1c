"""The tour's commands, as the reader would type them."""

from __future__ import annotations

import shlex
from pathlib import Path

from click.testing import CliRunner

from kafka_groups.commands.sandbox import sandbox
from kafka_groups.sandbox.seed_data import groups_for
from kafka_groups.sandbox.tour import next_steps, pipeline_steps, steps
from kafka_groups.sandbox.versions import parse_version


def test_the_tour_names_its_cluster_by_flag_so_that_no_other_is_asked() -> None:
    tour = steps("127.0.0.1:9092", has_jq=True)

    assert all("-b 127.0.0.1:9092" in step.line for step in tour)


def test_the_tour_shows_the_groups_of_every_version() -> None:
    shown = {step.command[-1] for step in steps("h:1", has_jq=True) if "--group" in step.command}

    for version in ("4.3.1", "2.8.2", "2.5.1"):
        assert shown <= {group.name for group in groups_for(parse_version(version))}


def test_the_pipelines_tour_keeps_its_tables_where_it_was_told_and_asks_the_sandbox(tmp_path: Path) -> None:
    tour = pipeline_steps("127.0.0.1:9092", tmp_path)

    assert [step.command[1] for step in tour if str(tmp_path) not in step.line] == ["doctor"]
    asking = {"doctor", "ingest", "backfill", "sample"}
    assert {step.command[1] for step in tour if "-b 127.0.0.1:9092" in step.line} == asking


def test_what_is_shown_can_be_typed_in_a_shell() -> None:
    last = steps("127.0.0.1:9092", has_jq=True)[-1]

    assert shlex.split(last.line) == ["kafka-groups", *last.command, "|", *last.pipe]


def test_without_jq_the_pipe_uses_python() -> None:
    assert steps("h:1", has_jq=False)[-1].line.endswith("--format json | python3 -m json.tool")


def test_the_end_of_the_tour_names_the_sandbox_that_is_up() -> None:
    assert "kafka-groups sandbox down --name other" in next_steps("other")
    assert "kafka-groups sandbox down --dir '/my home'" in next_steps("sandbox", home=Path("/my home"))
    assert next_steps("sandbox").endswith("kafka-groups sandbox down")


def test_newer_brokers_have_newer_groups() -> None:
    kinds = {
        version: {group.name for group in groups_for(parse_version(version)) if group.consumer_protocol}
        for version in ("4.3.1", "2.8.2")
    }

    assert kinds == {"4.3.1": {"fraud-detector"}, "2.8.2": set()}


def test_status_of_no_sandbox_is_a_note_and_exit_code_1(tmp_path: Path) -> None:
    done = CliRunner().invoke(sandbox, ["status", "--dir", str(tmp_path)])

    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.endswith(f"start it with: kafka-groups sandbox up --dir {tmp_path}\n")


def test_status_of_a_named_sandbox_tells_how_to_start_that_one(tmp_path: Path) -> None:
    done = CliRunner().invoke(sandbox, ["status", "--name", "rvx", "--dir", str(tmp_path)])

    assert done.stderr.endswith(f"start it with: kafka-groups sandbox up --name rvx --dir {tmp_path}\n")


def test_status_as_json_is_json_also_when_nothing_is_up(tmp_path: Path) -> None:
    done = CliRunner().invoke(sandbox, ["status", "--dir", str(tmp_path), "--format", "json"])

    assert done.exit_code == 1
    assert '"up": false' in done.stdout
