"""Options of the pipeline's commands, and the errors for invalid values."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.command_line import run
from tests.pipeline.commands.conftest import FakePipeline

COMMANDS = ("ingest", "sample", "backfill", "build", "report", "tables", "export", "compact", "doctor")
WITH_SPARK = ("ingest", "build")
NEEDS_TABLES = ("ingest", "sample", "backfill", "build", "report", "compact")
CONNECTS = ("ingest", "sample", "backfill", "doctor")


def refusal(*arguments: str, **environment: str | None) -> str:
    """Return the only line on stderr of a run that ends with a usage error."""
    outcome = run("pipeline", *arguments, **environment)
    assert (outcome.exit_code, outcome.stdout, outcome.stderr.count("\n")) == (2, "", 1), outcome
    return outcome.stderr.removeprefix("Error: ").partition("; see ")[0].rstrip()


def test_the_commands_are_listed_in_the_order_in_which_they_are_run() -> None:
    listing = run("pipeline", "--help").stdout.partition("Commands:\n")[2]
    assert tuple(line.split()[0] for line in listing.splitlines()) == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_the_shared_options(command: str) -> None:
    text = run("pipeline", command, "--help").stdout
    assert [name for name in ("--data-dir", "--format", "--color", "--debug") if name not in text] == []
    for names, commands in (
        (("--master", "--remote", "--driver-memory", "--spark-log", "--fetch-java"), WITH_SPARK),
        (("--bootstrap-server", "--config", "-X", "--profile", "--timeout"), CONNECTS),
    ):
        assert [name in text for name in names] == [command in commands] * len(names)


@pytest.mark.parametrize("command", NEEDS_TABLES)
def test_without_a_directory_the_error_names_the_ways_to_give_one(fakes: FakePipeline, command: str) -> None:
    message = "no directory of tables is named; give --data-dir DIR, or set KAFKA_GROUPS_DATA_DIR"
    assert refusal(command, KAFKA_GROUPS_DATA_DIR=None) == message
    fakes.spark.assert_not_called()


def test_the_environment_names_the_directory(fakes: FakePipeline, data_dir: str) -> None:
    assert run("pipeline", "build", KAFKA_GROUPS_DATA_DIR=data_dir).exit_code == 0
    assert fakes.build.call_args.args[0].location == data_dir


@pytest.mark.parametrize(
    ("facts", "flags", "sessions"),
    [(100_000, (), 0), (100_001, (), 1), (1, ("--master", "local"), 1), (0, ("--master", "local"), 0)],
)
def test_few_facts_are_built_without_spark_unless_an_option_names_one(
    fakes: FakePipeline, data_dir: str, facts: int, flags: tuple[str, ...], sessions: int
) -> None:
    fakes.estimate_facts.return_value = facts
    assert run("pipeline", "build", "--data-dir", data_dir, *flags).exit_code == 0
    assert fakes.spark.call_count == sessions
    engine = fakes.build.call_args.args[1]
    assert type(engine).__name__ == ("SparkEngine" if sessions else "LocalEngine")


@pytest.mark.parametrize("name", ["MASTER", "SPARK_REMOTE"])
def test_few_facts_are_built_on_the_spark_that_the_environment_names(
    fakes: FakePipeline, data_dir: str, name: str
) -> None:
    fakes.estimate_facts.return_value = 1
    value = "local[2]" if name == "MASTER" else "sc://localhost"
    assert run("pipeline", "build", "--data-dir", data_dir, **{name: value}).exit_code == 0
    fakes.spark.assert_called_once()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ingest", "--once", "--continuous"), "--once contradicts --continuous: give one or the other"),
        (("ingest", "--interval", "30s"), "--interval needs --continuous: give both or none"),
        (
            ("ingest", "--continuous", "--interval", "30"),
            "--interval: '30' is not a duration (a number needs a unit); write for example 30s or 500ms",
        ),
        (("sample", "--interval", "0s"), "--interval must be greater than 0, for example 30s"),
        (
            ("backfill", "--since", "soon"),
            "--since: 'soon' is not a duration; write for example 30s or 500ms",
        ),
        (("backfill", "--since", "9000d"), "--since: '9000d' is too long; 7300d is the longest"),
        (("sample", "--interval", "400d"), "--interval: '400d' is too long; 365d is the longest"),
        (
            ("compact", "--retention", "7d"),
            "--retention must be at least 8d: build derives a day from the week before it, too",
        ),
        (("backfill", "--interval", "10ms"), "--interval must be at least 1s; write for example 60s"),
        (
            ("backfill", "--since", "1m", "--interval", "2m"),
            "--interval is longer than --since; give a shorter --interval or a longer --since",
        ),
        (
            ("compact", "--retention", "nosuch=9d"),
            "--retention nosuch=9d: there is no table 'nosuch' with a retention; tables are offset_commits, ",
        ),
        (
            ("compact", "--retention", "sample_runs=9d"),
            "--retention sample_runs=9d: there is no table 'sample_runs'",
        ),
        (("compact", "--retention", "lag_history=7d"), "--retention must be at least 8d"),
        (("compact", "--retention", "lag_history="), "--retention: '' is not a duration"),
        (("build", "--from", "2026-11-02", "--to", "2026-11-01"), "--from is after --to"),
        (("build", "--stop-after", "soon"), "--stop-after: 'soon' is not a duration"),
        (("build", "--allowed-lag", "-1"), "Invalid value for '--allowed-lag': -1 is not in the range x>=0"),
        (("report", "--match", "("), "--match '(' is not a regular expression"),
        (("report", "--all-groups", "-g", "x"), "--all-groups contradicts named groups: give one or the other"),
        (("report", "--html", "/no/such/page.html"), "--html /no/such/page.html: there is no directory /no/such"),
    ],
)
def test_an_invalid_value_is_a_usage_error_in_one_line(
    fakes: FakePipeline, data_dir: str, arguments: tuple[str, ...], message: str
) -> None:
    assert refusal(*arguments, "--data-dir", data_dir).startswith(message)
    fakes.spark.assert_not_called()


@pytest.mark.parametrize("arguments", [("ingest", "--records-per-batch", "0"), ("report", "--top", "0")])
@pytest.mark.usefixtures("fakes")
def test_a_number_must_be_at_least_1(data_dir: str, arguments: tuple[str, ...]) -> None:
    assert "is not in the range x>=1" in refusal(*arguments, "--data-dir", data_dir)


@pytest.mark.parametrize("command", ["ingest", "sample", "backfill"])
@pytest.mark.usefixtures("fakes")
def test_without_a_cluster_the_error_names_the_ways_to_give_one(tmp_path: Path, command: str) -> None:
    path = tmp_path / "fresh"
    outcome = run("pipeline", command, "--data-dir", str(path), bootstrap=None)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith("Error: no cluster is named; give -b HOST:PORT")
    assert not path.exists()


@pytest.mark.usefixtures("fakes")
def test_the_error_for_a_property_that_librdkafka_does_not_know_names_it(data_dir: str) -> None:
    assert 'No such configuration property: "no.such"' in refusal("ingest", "--data-dir", data_dir, "-X", "no.such=1")


@pytest.mark.parametrize("command", ["sample", "backfill", "compact", "tables"])
def test_commands_that_need_no_spark_do_not_start_it(fakes: FakePipeline, data_dir: str, command: str) -> None:
    assert run("pipeline", command, "--data-dir", data_dir).exit_code == 0
    fakes.spark.assert_not_called()
