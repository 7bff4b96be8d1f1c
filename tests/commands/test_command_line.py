"""Behaviour of every command: settings, exit codes, tracebacks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.errors import AuthenticationFailedError
from kafka_groups.settings import Endpoint
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, failure, unreachable

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
    mocker.patch("kafka_groups.options.cluster_session.print_failures", side_effect=KeyboardInterrupt)
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


def test_an_interrupt_while_options_are_parsed_is_exit_130(mocker: MockerFixture) -> None:
    mocker.patch("click.Group.parse_args", side_effect=KeyboardInterrupt)
    assert run("list") == (130, "", "Error: interrupted\n")


@pytest.mark.parametrize("arguments", [(), ("sandbox",)])
def test_a_group_of_commands_without_a_command_prints_its_help(arguments: tuple[str, ...]) -> None:
    outcome = run(*arguments)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith("Usage: kafka-groups ")
    assert "; see" not in outcome.stderr


def test_an_interrupt_while_modules_are_imported_ends_the_program_without_a_traceback() -> None:
    program = """
import sys

class Interrupted:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "click":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupted)
from kafka_groups.__main__ import main
main()
"""
    outcome = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False, text=True)
    assert (outcome.returncode, outcome.stderr) == (130, "")
