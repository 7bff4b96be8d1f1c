"""Names in pipes and files are UTF-8, whatever the locale and PYTHONIOENCODING: what comes out goes in again."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_groups.options.parameters import decode_argument
from tests.commands.encoded_runs import ENCODINGS, ROOT, environment_of, every_encoding, run_encoded, two_encodings
from tests.fakes.scripted_cluster import Commit, Group, ScriptedCluster

NAMES = ("päy/ments", "日本", "🚀 \u202e", "line\nbreak", "x")
PLAIN = tuple(name for name in NAMES if "\n" not in name)


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Groups with names of several scripts, each with a commit."""
    groups = {name: Group(state="Empty", commits={("t", 0): 60}) for name in NAMES}
    with ScriptedCluster(brokers=1, groups=groups, topics={"t": {0: 1}}) as cluster:
        yield cluster


def address(cluster: ScriptedCluster) -> tuple[str, str]:
    """Return the options that name the cluster."""
    return "-b", str(cluster.addresses[1])


@every_encoding
def test_ids_of_list_name_the_same_groups_through_xargs(cluster: ScriptedCluster, encoding: str) -> None:
    listed = run_encoded(encoding, "list", "-q", "-0", *address(cluster))
    assert listed.stdout == "".join(f"{name}\0" for name in sorted(NAMES)).encode()
    ids = listed.stdout.split(b"\0")[:-1]
    described = run_encoded(encoding, "offsets", "--format", "json", *address(cluster), "--", *ids)
    assert [group["group"] for group in json.loads(described.stdout)["groups"]] == sorted(NAMES)
    assert (described.exit_code, described.stderr) == (0, b"")


@every_encoding
def test_an_exported_plan_resets_the_same_groups(cluster: ScriptedCluster, encoding: str) -> None:
    scope = ("--topic", "t:0", "--to-offset", "7", "--export", "-")
    exported = run_encoded(encoding, "reset", "--all-groups", *scope, *address(cluster))
    rows = list(csv.reader(io.StringIO(exported.stdout.decode(), newline="")))
    assert sorted(rows) == [[name, "t", "0", "7"] for name in sorted(NAMES)]
    execute = ("--from-file", "-", "--execute", "--yes", "--create")
    executed = run_encoded(encoding, "reset", *execute, *address(cluster), stdin=exported.stdout)
    assert executed.exit_code == 0
    assert {name: group.commits for name, group in cluster.groups.items()} == {
        name: {("t", 0): Commit(7)} for name in NAMES
    }


@every_encoding
def test_a_plan_in_json_deletes_the_same_groups(cluster: ScriptedCluster, encoding: str) -> None:
    exported = run_encoded(encoding, "delete", "--match", "[^x]+", "--export", "-", *address(cluster))
    assert {change["group"] for change in json.loads(exported.stdout)["changes"]} == {*NAMES} - {"x"}
    execute = ("--from-file", "-", "--execute", "--yes")
    executed = run_encoded(encoding, "delete", *execute, *address(cluster), stdin=exported.stdout)
    assert (executed.exit_code, [*cluster.groups]) == (0, ["x"])


@two_encodings
@pytest.mark.parametrize(
    "command",
    [
        ("list",),
        ("list", "--state"),
        ("list", "--format", "kafka"),
        ("describe", "--all-groups"),
        ("describe", "--all-groups", "--format", "kafka"),
        ("offsets", "--all-groups", "--format", "csv"),
        ("lag", "--format", "openmetrics"),
        ("reset", "--all-groups", "--topic", "t", "--to-earliest", "--format", "kafka"),
        ("delete", "--all-groups"),
    ],
    ids=" ".join,
)
def test_every_format_of_text_is_utf_8(cluster: ScriptedCluster, encoding: str, command: tuple[str, ...]) -> None:
    outcome = run_encoded(encoding, *command, *address(cluster))
    assert outcome.exit_code == 0
    assert [name for name in PLAIN if name not in outcome.stdout.decode()] == []


@two_encodings
@pytest.mark.parametrize("output", ["json", "ndjson"])
def test_json_is_utf_8_without_escapes(cluster: ScriptedCluster, encoding: str, output: str) -> None:
    outcome = run_encoded(encoding, "list", "--format", output, *address(cluster))
    assert [name for name in PLAIN if f'"{name}"' not in outcome.stdout.decode()] == []


@two_encodings
@pytest.mark.parametrize("arguments", [("schema", "describe"), ("completion", "bash"), ("reset", "--help")])
def test_output_without_a_cluster_is_the_same_in_every_encoding(encoding: str, arguments: tuple[str, ...]) -> None:
    outcome = run_encoded(encoding, *arguments)
    assert (outcome.exit_code, outcome.stderr) == (0, b"")
    assert outcome == run_encoded("utf-8", *arguments)


@every_encoding
def test_completions_of_a_name_are_utf_8(cluster: ScriptedCluster, encoding: str, tmp_path: Path) -> None:
    line = ("kafka-groups", "describe", *address(cluster), "päy".encode())
    variables = {"_KAFKA_GROUPS_COMPLETE": "zsh_complete", "XDG_CACHE_HOME": str(tmp_path)}
    assert "päy/ments\0".encode() in run_encoded(encoding, *line, variables=variables).stdout


@two_encodings
def test_csv_ends_lines_with_a_newline_only(cluster: ScriptedCluster, encoding: str) -> None:
    outcome = run_encoded(encoding, "list", "--format", "csv", *address(cluster))
    assert (outcome.stdout.count(b"\r"), outcome.stdout.endswith(b"\n")) == (0, True)


def test_a_name_on_stderr_that_the_locale_cannot_show_is_replaced(cluster: ScriptedCluster) -> None:
    outcome = run_encoded("ascii", "describe", "日本", *address(cluster))
    assert rb"Consumer group '\u65e5\u672c' has no active members." in outcome.stderr
    assert "日本" in outcome.stdout.decode()


@pytest.mark.parametrize("reply", ["é\n".encode(), b"\xff\n"])
def test_a_reply_that_is_not_ascii_changes_nothing(cluster: ScriptedCluster, reply: bytes) -> None:
    command = ("reset", "x", "--topic", "t", "--to-latest", "--execute", *address(cluster))
    code, output = run_on_terminal("ascii", *command, reply=reply)
    assert (code, b"Nothing was changed; the attempt is recorded as " in output, b"internal error" in output) == (
        1,
        True,
        False,
    )


@pytest.mark.parametrize("encoding", [name for name in ENCODINGS if name not in ("utf-8", "utf-16")])
def test_a_terminal_shows_a_replacement_for_what_it_lacks(cluster: ScriptedCluster, encoding: str) -> None:
    code, output = run_on_terminal(encoding, "list", "-q", *address(cluster))
    assert (code, rb"\u65e5\u672c" in output, "日本".encode() in output) == (0, True, False)


def test_a_plan_on_a_terminal_is_utf_8(cluster: ScriptedCluster) -> None:
    command = ("reset", "日本", "päy/ments", "--topic", "t", "--to-earliest", "--export", "-", *address(cluster))
    code, output = run_on_terminal("latin-1", *command)
    assert (code, "日本,t,0,0".encode() in output, "päy/ments,t,0,0".encode() in output) == (0, True, True)


def run_on_terminal(encoding: str, *arguments: str, reply: bytes = b"") -> tuple[int, bytes]:
    """Run the command line on a terminal, and return its exit code and what the terminal showed."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "kafka_groups", *arguments]
    environment = environment_of(encoding, {"TERM": "dumb"})
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdin=theirs, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        os.write(ours, reply)
        shown = b""
        try:
            while piece := os.read(ours, 4096):
                shown += piece
        except OSError:
            # Linux ends the output of a terminal with an error.
            pass
        os.close(ours)
    return process.returncode, shown


@pytest.mark.parametrize(
    ("data", "text"), [("日本".encode(), "日本"), (b"caf\xe9", "café"), (b"x", "x"), ("Ã©".encode("latin-1"), "é")]
)
def test_an_argument_is_utf_8_if_it_can_be_and_of_the_locale_otherwise(
    monkeypatch: pytest.MonkeyPatch, data: bytes, text: str
) -> None:
    monkeypatch.setattr(os, "fsencode", lambda argument: argument.encode("latin-1"))
    assert decode_argument(data.decode("latin-1")) == text
