"""What holds for every command: settings, exit codes, tracebacks, a reader that leaves early."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.settings import Endpoint
from tests.fakes.fake_admin import FakeCluster, run, unreachable

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

every_command = pytest.mark.parametrize("command", ["list", "describe", "offsets"])


@every_command
def test_without_a_cluster_the_ways_to_name_one_are_told(cluster: FakeCluster, command: str) -> None:
    told = "Error: no cluster is named; give -b HOST:PORT, --profile NAME, or set KAFKA_GROUPS_BOOTSTRAP_SERVER\n"
    assert run(command, "g", bootstrap=None) == (2, "", told)
    cluster.client.assert_not_called()


@every_command
@pytest.mark.parametrize("text", ["5", "0.5", "30"])
def test_a_timeout_without_a_unit_is_refused_and_two_that_would_do_are_named(command: str, text: str) -> None:
    told = f"Error: --timeout: '{text}' is not a duration (a number needs a unit); write for example 30s or 500ms\n"
    assert run(command, "g", "--timeout", text) == (2, "", told)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--timeout", "0s"), "--timeout must be greater than 0, for example 30s"),
        (("--timeout", "soon"), "--timeout: 'soon' is not a duration; write for example 30s or 500ms"),
        (("-X", "linger"), "-X linger: write KEY=VALUE"),
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
def test_settings_that_cannot_be_used_are_exit_2_and_one_line(arguments: tuple[str, ...], told: str) -> None:
    outcome = run("list", *arguments)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith(f"Error: {told[:60]}")
    assert outcome.stderr.count("\n") == 1


def test_flags_beat_the_environment(cluster: FakeCluster) -> None:
    run("list", "-b", "flag:1", "--timeout", "500ms", KAFKA_GROUPS_TIMEOUT="10m")
    settings = cluster.client.call_args.args[0]
    assert (settings.bootstrap, settings.timeout_s) == ((Endpoint(host="flag", port=1),), 0.5)


def test_the_environment_names_the_cluster(cluster: FakeCluster) -> None:
    run("list", bootstrap="there:7")
    assert cluster.client.call_args.args[0].bootstrap == (Endpoint(host="there", port=7),)


def test_all_that_a_command_asks_shares_one_deadline(cluster: FakeCluster) -> None:
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


@every_command
def test_an_interrupt_is_exit_130_and_one_word(cluster: FakeCluster, command: str) -> None:
    cluster.refuse(KeyboardInterrupt())
    assert run(command, "g") == (130, "", "Error: interrupted\n")


@pytest.mark.parametrize("arguments", [("--debug", "list"), ("list", "--debug")])
def test_a_traceback_is_shown_to_who_asks_for_it(cluster: FakeCluster, arguments: tuple[str, ...]) -> None:
    cluster.refuse(unreachable())
    outcome = run(*arguments)
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert outcome.stderr.startswith("Traceback (most recent call last):\n")
    assert outcome.stderr.endswith("\nError: no broker responded at b1:9092; is it running?\n")


def test_a_fault_of_the_tool_is_one_line_without_a_traceback(cluster: FakeCluster) -> None:
    cluster.refuse(ZeroDivisionError("oh"))
    told = "Error: internal error: ZeroDivisionError: oh; --debug shows the traceback\n"
    assert run("list") == (1, "", told)


def test_an_operating_systems_error_is_one_line(cluster: FakeCluster) -> None:
    cluster.refuse(PermissionError(13, "Permission denied", "/some/file"))
    assert run("list") == (1, "", "Error: Permission denied: /some/file\n")


def test_version_and_help_are_data() -> None:
    assert run("--version") == (0, "kafka-groups, version 0.1.0\n", "")
    assert run("--help").stderr == ""
    assert run("list", "--help")[::2] == (0, "")


@pytest.mark.parametrize(
    ("arguments", "told"),
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
def test_a_usage_error_is_one_line_that_says_where_help_is(arguments: tuple[str, ...], told: str) -> None:
    outcome = run(*arguments)
    assert (outcome.exit_code, outcome.stdout, outcome.stderr.count("\n")) == (2, "", 1)
    assert told in outcome.stderr


ROOT = Path(__file__).parents[2]
# A process of its own, because only a real pipe can break: 50,000 groups behind the fake door.
CROWD = """
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
def test_a_reader_that_has_read_enough_ends_the_command_quietly(output: str) -> None:
    command = [sys.executable, "-c", CROWD, "--format", output]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() != ""
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 0


def test_a_reader_that_never_read_is_no_error_either() -> None:
    command = [sys.executable, "-c", CROWD.replace("50_000", "1")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 0


def test_json_stays_json_where_the_stream_cannot_show_a_name() -> None:
    program = CROWD.replace("50_000", "0").replace(
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


def _by_shell(redirection: str, *arguments: str, program: str = CROWD.replace("50_000", "3")) -> tuple[int, str, str]:
    """Run with streams as a shell makes them: exit code, stdout, stderr."""
    command = ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-c", program, *arguments]
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, text=True)
    return outcome.returncode, outcome.stdout, outcome.stderr


VERSION = "import sys; from kafka_groups.cli import main; sys.argv[1:] = ['--version']; main()"


@pytest.mark.parametrize("redirection", [">&-", "2>&-", "<&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("program", [CROWD.replace("50_000", "3"), VERSION], ids=["list", "version"])
def test_closed_streams_are_no_fault(redirection: str, program: str) -> None:
    code, _, told = _by_shell(redirection, program=program)
    assert (code, told) == (0, "")


def test_a_usage_error_without_streams_is_exit_2() -> None:
    assert _by_shell(">&- 2>&-", "--nonsense") == (2, "", "")


def test_a_stderr_that_is_full_does_not_end_the_data() -> None:
    program = CROWD.replace("50_000", "3").replace('"list"', '"describe", "group-00001", "gone"')
    code, data, _ = _by_shell("", "--format", "json", program=program)
    assert _by_shell("2>/dev/full", "--format", "json", program=program) == (code, data, "")
    assert json.loads(data)["groups"][0]["group"] == "group-00001"


def test_an_error_that_stderr_does_not_take_keeps_its_exit_code() -> None:
    assert _by_shell("2>/dev/full", "--nonsense") == (2, "", "")
    assert _by_shell("2>/dev/full", "--nonsense", "--debug") == (2, "", "")


@pytest.mark.parametrize("program", [CROWD.replace("50_000", "3"), VERSION], ids=["list", "version"])
def test_a_stdout_that_is_full_is_one_line_and_exit_1(program: str) -> None:
    assert _by_shell(">/dev/full", program=program) == (1, "", "Error: No space left on device\n")


def test_an_interrupt_outside_of_any_command_is_exit_130_and_silent() -> None:
    program = """
import kafka_groups.cli as root

def interrupted():
    raise KeyboardInterrupt

root._open_missing_streams = interrupted
root.main()
"""
    assert _by_shell("", program=program) == (130, "", "")


def test_an_interrupt_while_options_are_read_is_exit_130(mocker: MockerFixture) -> None:
    mocker.patch("click.Group.parse_args", side_effect=KeyboardInterrupt)
    assert run("list") == (130, "", "Error: interrupted\n")


@pytest.mark.parametrize("arguments", [(), ("sandbox",)])
def test_without_a_command_its_help_is_shown_as_it_is(arguments: tuple[str, ...]) -> None:
    outcome = run(*arguments)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert outcome.stderr.startswith("Usage: kafka-groups ")
    assert "; see" not in outcome.stderr
