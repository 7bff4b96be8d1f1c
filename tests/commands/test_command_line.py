"""Behaviour of every command: settings, exit codes, tracebacks, closed and full streams."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.errors import AuthenticationFailedError
from kafka_groups.settings import Endpoint
from tests.fakes.fake_admin import FakeCluster, failure, run, unreachable

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

every_command = pytest.mark.parametrize("command", ["list", "describe", "offsets"])


@every_command
def test_an_error_without_a_cluster_names_the_options_that_set_one(cluster: FakeCluster, command: str) -> None:
    message = "Error: no cluster is named; give -b HOST:PORT, --profile NAME, or set KAFKA_GROUPS_BOOTSTRAP_SERVER\n"
    assert run(command, "g", bootstrap=None) == (2, "", message)
    cluster.client.assert_not_called()


@every_command
@pytest.mark.parametrize("text", ["5", "0.5", "30"])
def test_a_timeout_without_a_unit_is_an_error_with_two_examples(command: str, text: str) -> None:
    message = f"Error: --timeout: '{text}' is not a duration (a number needs a unit); write for example 30s or 500ms\n"
    assert run(command, "g", "--timeout", text) == (2, "", message)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--timeout", "0s"), "--timeout must be greater than 0, for example 30s"),
        (("--timeout", "soon"), "--timeout: 'soon' is not a duration; write for example 30s or 500ms"),
        (("-X", "linger"), "-X: write KEY=VALUE"),
        (("-b", ","), "-b: the bootstrap server list is empty; write host:port, for example -b localhost:9092"),
        (
            ("-b", "a b"),
            "-b: 'a b' is not a bootstrap server; write host:port, for example localhost:9092 or [::1]:9092",
        ),
        (("--config", "/no/such"), "the config file /no/such cannot be read: No such file or directory"),
        (
            ("-X", "security.protocol=SASL"),
            "-X security.protocol=SASL is unknown; write PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL",
        ),
    ],
)
@pytest.mark.usefixtures("cluster")
def test_invalid_settings_are_exit_2_and_one_line(arguments: tuple[str, ...], message: str) -> None:
    outcome = run("list", *arguments)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(f"Error: {message[:60]}")
    assert outcome.stderr.count("\n") == 1


def test_options_override_the_environment(cluster: FakeCluster) -> None:
    run("list", "-b", "flag:1", "--timeout", "500ms", KAFKA_GROUPS_TIMEOUT="10m")
    settings = cluster.client.call_args.args[0]
    assert (settings.bootstrap, settings.timeout_s) == ((Endpoint(host="flag", port=1),), 0.5)


def test_the_environment_names_the_cluster(cluster: FakeCluster) -> None:
    run("list", bootstrap="there:7")
    assert cluster.client.call_args.args[0].bootstrap == (Endpoint(host="there", port=7),)


def test_all_requests_of_a_command_share_one_deadline(cluster: FakeCluster) -> None:
    run("list")
    timeouts = [call.kwargs["timeout"] for call in cluster.admin.list_groups.call_args_list]
    timeouts += [call.kwargs["timeout"] for call in cluster.admin.brokers.call_args_list]
    assert len(set(map(id, timeouts))) == 1
    assert cluster.admin.deadline.call_count == 1


@pytest.mark.parametrize("spelling", ["--config", "--command-config"])
def test_a_properties_file_names_the_cluster(cluster: FakeCluster, tmp_path: Path, spelling: str) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=file:3\n")
    run("list", spelling, str(file), bootstrap=None)
    assert cluster.client.call_args.args[0].bootstrap == (Endpoint(host="file", port=3),)


@pytest.mark.parametrize(
    ("command", "output"),
    [
        *((command, output) for command in ("list", "describe", "offsets") for output in ("json", "ndjson", "csv")),
        ("list", "kafka"),
        ("describe", "kafka"),
    ],
)
def test_colours_in_a_format_without_any_are_a_usage_error(cluster: FakeCluster, command: str, output: str) -> None:
    message = (
        f"--color always needs --format table; --format {output} has no colours; see kafka-groups {command} --help"
    )
    assert run(command, "g", "--format", output, "--color", "always") == (2, "", f"Error: {message}\n")
    cluster.client.assert_not_called()


@every_command
def test_an_interrupt_is_exit_130_and_one_line(cluster: FakeCluster, command: str) -> None:
    cluster.refuse(KeyboardInterrupt())
    assert run(command, "g") == (130, "", "Error: interrupted\n")


@every_command
def test_after_an_interrupt_the_json_document_names_it(cluster: FakeCluster, command: str) -> None:
    cluster.refuse(KeyboardInterrupt())
    outcome = run(command, "--match", "g", "--format", "json")
    document = json.loads(outcome.stdout)
    assert (outcome.exit_code, document["status"], document["groups"]) == (130, "failed", [])
    assert [(error["code"], error["name"]) for error in document["errors"]] == [(None, "INTERRUPTED")]


def test_an_interrupt_after_the_document_does_not_end_it_a_second_time(
    mocker: MockerFixture, cluster: FakeCluster
) -> None:
    cluster.add("g")
    cluster.unlistable[2] = failure(broker=2)
    mocker.patch("kafka_groups.commands.cluster_session.print_failures", side_effect=KeyboardInterrupt)
    outcome = run("list", "--format", "json")
    assert (outcome.exit_code, json.loads(outcome.stdout)["status"]) == (130, "partial")


@pytest.mark.parametrize("arguments", [("--debug", "list"), ("list", "--debug")])
def test_debug_prints_the_traceback(cluster: FakeCluster, arguments: tuple[str, ...]) -> None:
    cluster.refuse(unreachable())
    outcome = run(*arguments)
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert outcome.stderr.startswith("Traceback (most recent call last):\n")
    assert outcome.stderr.endswith("\nError: no broker responded at b1:9092; is it running?\n")


def test_an_internal_error_is_one_line_without_a_traceback(cluster: FakeCluster) -> None:
    cluster.refuse(ZeroDivisionError("oh"))
    message = "Error: internal error: ZeroDivisionError: oh; --debug shows the traceback\n"
    assert run("list") == (1, "", message)


def test_an_operating_systems_error_is_one_line(cluster: FakeCluster) -> None:
    cluster.refuse(PermissionError(13, "Permission denied", "/some/file"))
    assert run("list") == (1, "", "Error: Permission denied: /some/file\n")


def test_version_and_help_are_printed_to_stdout() -> None:
    assert run("--version") == (0, "kafka-groups, version 0.1.0\n", "")
    assert run("--help").stderr == ""
    assert run("list", "--help")[::2] == (0, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nope",), "No such command 'nope'; see kafka-groups --help"),
        (("report",), "No such command 'report'; it is kafka-groups pipeline report; see kafka-groups --help"),
        (
            ("-b", "x", "list"),
            "No such option '-b'; options stand after the command, as in kafka-groups list -b; see kafka-groups --help",
        ),
        (("--debug=1", "list"), "Option '--debug' does not take a value; see kafka-groups --help"),
        (("list", "--format", "xml"), "see kafka-groups list --help"),
        (("list", "--new-consumer"), "see kafka-groups list --help"),
        (("describe", "g", "--state=Stable"), "Option '--state' does not take a value; see kafka-groups describe"),
        (("describe", "g", "--timeout"), "Option '--timeout' requires an argument; see kafka-groups describe --help"),
    ],
)
def test_a_usage_error_is_one_line_that_names_the_help_option(arguments: tuple[str, ...], message: str) -> None:
    outcome = run(*arguments)
    assert (outcome.exit_code, outcome.stdout, outcome.stderr.count("\n")) == (2, "", 1)
    assert message in outcome.stderr


EVIL = "PLAIN\x1b]0;title\x07, \x9b31m\r\nError: another line"
ESCAPED = r"PLAIN\x1b]0;title\x07, \x9b31m\r\nError: another line"


@every_command
def test_the_text_of_a_server_in_a_fatal_error_is_one_line_without_control_characters(
    cluster: FakeCluster, command: str
) -> None:
    cluster.refuse(AuthenticationFailedError(f"the broker supports: {EVIL}"))
    outcome = run(command, "--match", "g")
    assert (outcome.exit_code, outcome.stderr) == (1, f"Error: the broker supports: {ESCAPED}\n")


def test_an_invalid_argument_in_a_usage_error_is_one_line_without_control_characters() -> None:
    outcome = run("list", "--state", EVIL)
    assert outcome.exit_code == 2
    assert outcome.stderr.startswith("Error: --state ")
    assert outcome.stderr.removesuffix("\n").isprintable()


def test_a_traceback_has_no_control_characters(cluster: FakeCluster) -> None:
    cluster.refuse(AuthenticationFailedError(f"the broker supports: {EVIL}"))
    lines = run("list", "--debug").stderr.splitlines()
    assert lines[0] == "Traceback (most recent call last):"
    assert all(line.isprintable() for line in lines)


ROOT = Path(__file__).parents[2]
# A program for a process of its own, because only a real pipe can break: it lists 50,000 groups of a fake client.
MANY_GROUPS = """
import sys
from types import SimpleNamespace
from unittest import mock
from kafka_groups.cli import main
from tests.fakes.fake_admin import FakeCluster

cluster = FakeCluster(SimpleNamespace(patch=lambda target, autospec: mock.patch(target, autospec=autospec).start()))
for number in range(50_000):
    cluster.add(f"group-{number:05}")
sys.argv[1:] = ["list", "-b", "b1:9092", *sys.argv[1:]]
main()
"""


@pytest.mark.parametrize("output", ["table", "json", "ndjson", "csv"])
def test_a_pipe_that_is_closed_during_output_ends_the_command_without_an_error(output: str) -> None:
    command = [sys.executable, "-c", MANY_GROUPS, "--format", output]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() != ""
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 0


def test_a_pipe_that_is_closed_before_output_is_no_error() -> None:
    command = [sys.executable, "-c", MANY_GROUPS.replace("50_000", "1")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 0


def test_json_is_valid_on_a_stream_with_an_ascii_encoding() -> None:
    program = MANY_GROUPS.replace("50_000", "0").replace(
        "sys.argv[1:] =", "cluster.add('caf\\u00e9-\\U0001f680'); sys.argv[1:] ="
    )
    outcome = subprocess.run(
        [sys.executable, "-c", program, "--format", "json"],
        cwd=ROOT,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        check=True,
    )
    assert json.loads(outcome.stdout)["groups"][0]["group"] == "café-🚀"


def _run_in_shell(
    redirection: str, *arguments: str, program: str = MANY_GROUPS.replace("50_000", "3")
) -> tuple[int, str, str]:
    """Run a program with a shell's redirection, and return its exit code, its stdout and its stderr."""
    command = ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-c", program, *arguments]
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, text=True)
    return outcome.returncode, outcome.stdout, outcome.stderr


VERSION = "import sys; from kafka_groups.cli import main; sys.argv[1:] = ['--version']; main()"


@pytest.mark.parametrize("redirection", [">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("program", [MANY_GROUPS.replace("50_000", "3"), VERSION], ids=["list", "version"])
def test_closed_streams_are_no_error(redirection: str, program: str) -> None:
    code, _, stderr = _run_in_shell(redirection, program=program)
    assert (code, stderr) == (0, "")


def test_a_usage_error_without_streams_is_exit_2() -> None:
    assert _run_in_shell(">&- 2>&-", "--nonsense") == (2, "", "")


def test_a_full_stderr_does_not_truncate_stdout() -> None:
    program = MANY_GROUPS.replace("50_000", "3").replace('"list"', '"describe", "group-00001", "gone"')
    code, stdout, _ = _run_in_shell("", "--format", "json", program=program)
    assert _run_in_shell("2>/dev/full", "--format", "json", program=program) == (code, stdout, "")
    assert json.loads(stdout)["groups"][0]["group"] == "group-00001"


def test_an_error_with_a_full_stderr_keeps_its_exit_code() -> None:
    assert _run_in_shell("2>/dev/full", "--nonsense") == (2, "", "")
    assert _run_in_shell("2>/dev/full", "--nonsense", "--debug") == (2, "", "")


@pytest.mark.parametrize("program", [MANY_GROUPS.replace("50_000", "3"), VERSION], ids=["list", "version"])
def test_a_full_stdout_is_one_line_and_exit_1(program: str) -> None:
    assert _run_in_shell(">/dev/full", program=program) == (1, "", "Error: No space left on device\n")


def test_an_interrupt_before_a_command_starts_is_exit_130_without_output() -> None:
    program = """
import kafka_groups.cli as root

def interrupted():
    raise KeyboardInterrupt

root._open_missing_streams = interrupted
root.main()
"""
    assert _run_in_shell("", program=program) == (130, "", "")


def test_an_interrupt_while_options_are_parsed_is_exit_130(mocker: MockerFixture) -> None:
    mocker.patch("click.Group.parse_args", side_effect=KeyboardInterrupt)
    assert run("list") == (130, "", "Error: interrupted\n")


@pytest.mark.parametrize("arguments", [(), ("sandbox",)])
def test_a_group_of_commands_without_a_command_prints_its_help(arguments: tuple[str, ...]) -> None:
    outcome = run(*arguments)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith("Usage: kafka-groups ")
    assert "; see" not in outcome.stderr
