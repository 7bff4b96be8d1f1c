"""What the pipeline's commands take, and what they say of what they cannot use."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commands.pipeline.conftest import Rooms
from tests.fakes.fake_admin import run

COMMANDS = ("ingest", "sample", "backfill", "build", "report", "tables", "compact", "doctor")
WITH_SPARK = ("ingest", "build", "report")
NEEDS_TABLES = ("ingest", "sample", "backfill", "build", "report", "compact")
ASKS = ("ingest", "sample", "backfill", "doctor")


def refusal(*arguments: str, **environment: str | None) -> str:
    """The one line on stderr of a run that ends as a usage error."""
    outcome = run("pipeline", *arguments, **environment)
    assert (outcome.exit_code, outcome.stdout, outcome.stderr.count("\n")) == (2, "", 1), outcome
    return outcome.stderr.removeprefix("Error: ").partition("; see ")[0].rstrip()


def test_the_commands_stand_in_the_order_of_work() -> None:
    told = run("pipeline", "--help").stdout.partition("Commands:\n")[2]
    assert tuple(line.split()[0] for line in told.splitlines()) == COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_help_names_what_a_command_shares_with_others(command: str) -> None:
    told = run("pipeline", command, "--help").stdout
    assert [name for name in ("--into", "--format", "--color", "--debug") if name not in told] == []
    for names, those in (
        (("--master", "--remote", "--driver-memory", "--spark-log", "--fetch-java"), WITH_SPARK),
        (("--bootstrap-server", "--config", "-X", "--profile", "--timeout"), ASKS),
    ):
        assert [name in told for name in names] == [command in those] * len(names)


@pytest.mark.parametrize("command", NEEDS_TABLES)
def test_without_a_directory_of_tables_the_ways_to_name_one_are_told(rooms: Rooms, command: str) -> None:
    told = "no directory of tables is named; give --into DIR, or set KAFKA_GROUPS_INTO"
    assert refusal(command, KAFKA_GROUPS_INTO=None) == told
    rooms.spark.assert_not_called()


def test_the_environment_names_the_directory(rooms: Rooms, into: str) -> None:
    assert run("pipeline", "build", KAFKA_GROUPS_INTO=into).exit_code == 0
    assert rooms.build.call_args.args[1].into == into


@pytest.mark.parametrize("is_small", [True, False])
def test_a_build_of_few_facts_gets_a_brief_session(rooms: Rooms, into: str, is_small: bool) -> None:
    rooms.is_small.return_value = is_small
    assert run("pipeline", "build", "--into", into).exit_code == 0
    assert rooms.spark.call_args.kwargs["brief"] is is_small


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("ingest", "--once", "--continuous"), "--once contradicts --continuous: give one or the other"),
        (("ingest", "--every", "30s"), "--every goes with --continuous"),
        (
            ("ingest", "--continuous", "--every", "30"),
            "--every: '30' is not a duration (a number needs a unit); write for example 30s or 500ms",
        ),
        (("sample", "--every", "0s"), "--every must be more than nothing; write for example 30s"),
        (
            ("backfill", "--since", "soon"),
            "--since: 'soon' is not a duration; write for example 30s or 500ms",
        ),
        (("backfill", "--since", "9000d"), "--since: '9000d' is too long; 7300d is the longest"),
        (("sample", "--every", "400d"), "--every: '400d' is too long; 365d is the longest"),
        (
            ("compact", "--keep", "7d"),
            "--keep is 8d at the least: build makes a day from the week before it, too",
        ),
        (("backfill", "--step", "10ms"), "--step is a second at the least; write for example 60s"),
        (
            ("backfill", "--since", "1m", "--step", "2m"),
            "--step is longer than --since: there is nothing between",
        ),
        (("report", "--match", "("), "--match '(' is not a regular expression"),
        (("report", "--all-groups", "-g", "x"), "--all-groups contradicts named groups: give one or the other"),
        (("report", "--html", "/no/such/page.html"), "--html /no/such/page.html: there is no directory /no/such"),
    ],
)
def test_what_cannot_be_used_is_a_usage_error_in_one_line(
    rooms: Rooms, into: str, arguments: tuple[str, ...], told: str
) -> None:
    assert refusal(*arguments, "--into", into).startswith(told)
    rooms.spark.assert_not_called()


@pytest.mark.parametrize("arguments", [("ingest", "--records-per-batch", "0"), ("report", "--top", "0")])
@pytest.mark.usefixtures("rooms")
def test_a_number_has_to_be_one_at_least(into: str, arguments: tuple[str, ...]) -> None:
    assert "is not in the range x>=1" in refusal(*arguments, "--into", into)


@pytest.mark.parametrize("command", ["ingest", "sample", "backfill"])
@pytest.mark.usefixtures("rooms")
def test_without_a_cluster_the_ways_to_name_one_are_told(tmp_path: Path, command: str) -> None:
    path = tmp_path / "fresh"
    outcome = run("pipeline", command, "--into", str(path), bootstrap=None)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith("Error: no cluster is named; give -b HOST:PORT")
    assert not path.exists()


@pytest.mark.usefixtures("rooms")
def test_a_property_that_librdkafka_does_not_know_is_a_usage_error_that_names_it(into: str) -> None:
    assert 'No such configuration property: "no.such"' in refusal("ingest", "--into", into, "-X", "no.such=1")


@pytest.mark.parametrize("command", ["sample", "backfill", "compact", "tables"])
def test_what_needs_no_spark_starts_none(rooms: Rooms, into: str, command: str) -> None:
    assert run("pipeline", command, "--into", into).exit_code == 0
    rooms.spark.assert_not_called()
