"""Group ids and topic names in output: never as markup, and without control characters on a terminal."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING

import pytest

from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, member
from tests.fakes.fake_terminal import pretend_terminal

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

MARKUP = "[red]x[/red]:fire:"
EVIL = "one\ntwo\x1b[31m\x7f\x9b31m"
ESCAPED = r"one\ntwo\x1b[31m\x7f\x9b31m"
WIDE = "注文-日本"
QUOTED = 'a,"b"; c'
LINE_BREAKS = "a\rb\nc"
every_name = pytest.mark.parametrize("name", [MARKUP, EVIL, WIDE, QUOTED, LINE_BREAKS, "émoji-🚀", "-"])
every_table = pytest.mark.parametrize(
    "command",
    [
        ("list",),
        ("list", "-q"),
        ("list", "--state"),
        ("list", "--state", "--format", "kafka"),
        ("describe", "--all-groups"),
        ("describe", "--all-groups", "--members"),
        ("describe", "--all-groups", "--state"),
        ("describe", "--all-groups", "--state", "--format", "kafka"),
        ("offsets", "--all-groups"),
        ("offsets", "--all-groups", "--format", "csv"),
    ],
    ids=" ".join,
)


@every_name
@pytest.mark.parametrize(
    "command", [("list",), ("describe", "--all-groups"), ("offsets", "--all-groups")], ids=" ".join
)
def test_json_has_every_name_unchanged(cluster: FakeCluster, command: tuple[str, ...], name: str) -> None:
    cluster.add(name, commits={("t", 0): 1})
    outcome = run(*command, "--format", "json")
    assert json.loads(outcome.stdout)["groups"][0]["group"] == name
    assert json.loads(run(*command, "--format", "ndjson").stdout)["group"] == name


@every_name
@pytest.mark.parametrize(
    "command", [("list",), ("describe", "--all-groups"), ("offsets", "--all-groups")], ids=" ".join
)
def test_csv_has_every_name_unchanged(cluster: FakeCluster, command: tuple[str, ...], name: str) -> None:
    cluster.add(name, commits={("t", 0): 1})
    rows = list(csv.reader(io.StringIO(run(*command, "--format", "csv").stdout, newline="")))
    assert [row[0] for row in rows] == ["GROUP", name]


def test_csv_quotes_separators_and_quotes(cluster: FakeCluster) -> None:
    cluster.add(QUOTED, state="Stable")
    outcome = run("list", "--format", "csv")
    assert outcome.stdout.splitlines()[1] == '"a,""b""; c",Classic,Stable,consumer'


@every_name
def test_output_to_a_pipe_has_the_raw_name(cluster: FakeCluster, name: str) -> None:
    cluster.add(name)
    assert run("list") == (0, f"{name}\n", "")
    assert run("list", "-q", "-0") == (0, f"{name}\0", "")
    assert run("list", "--state", "--format", "kafka").stdout.splitlines()[-1].endswith("Empty               ")


@every_table
def test_output_to_a_terminal_has_no_control_character(
    mocker: MockerFixture, cluster: FakeCluster, command: tuple[str, ...]
) -> None:
    cluster.add(EVIL, commits={("t", 0): 1}, state="Stable", members=[member("m")])
    pretend_terminal(mocker)
    outcome = run(*command)
    assert outcome.stdout.replace("\n", "").isprintable()
    assert ESCAPED in outcome.stdout


@every_table
def test_output_to_a_terminal_has_markup_unchanged(
    mocker: MockerFixture, cluster: FakeCluster, command: tuple[str, ...]
) -> None:
    cluster.add(MARKUP, commits={("t", 0): 1}, state="Stable", members=[member("m")])
    pretend_terminal(mocker)
    assert MARKUP in run(*command).stdout


@pytest.mark.parametrize("output", ["json", "ndjson"])
def test_json_on_a_terminal_escapes_as_json_does(mocker: MockerFixture, cluster: FakeCluster, output: str) -> None:
    cluster.add(EVIL)
    cluster.add(WIDE)
    pretend_terminal(mocker)
    text = run("list", "--format", output).stdout
    assert r'"one\ntwo\u001b[31m\u007f\u009b31m"' in text
    assert f'"{WIDE}"' in text


def test_notes_and_errors_are_one_line_for_every_name(cluster: FakeCluster) -> None:
    cluster.add(EVIL)
    outcome = run("describe", EVIL, "no\nsuch", "--state", "--format", "ndjson")
    assert outcome.stderr == (
        f"Consumer group '{ESCAPED}' has no active members.\n"
        "Error: group 'no\\nsuch': there is no such group (GROUP_ID_NOT_FOUND)\n"
    )


def test_a_topic_name_is_escaped_on_a_terminal(mocker: MockerFixture, cluster: FakeCluster) -> None:
    cluster.add("g", commits={("t\x1b[2J", 0): 1})
    pretend_terminal(mocker)
    assert r"t\x1b[2J" in run("offsets", "g").stdout
