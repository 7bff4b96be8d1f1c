"""Closed, broken and full streams, in processes of their own: the exit code is right, and there is no traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# A program for a process of its own, because only a real pipe can break: it lists 5,000 groups of a fake client.
MANY_GROUPS = """
import sys
from kafka_groups.cli import main
from tests.fakes.fake_admin import FakeCluster

cluster = FakeCluster(None)
for number in range(5_000):
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
    command = [sys.executable, "-c", MANY_GROUPS.replace("5_000", "1")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait() == 0


# A program that checks a condition; the reader of its output has gone.
CHECK = """
import sys
from kafka_groups.cli import main
from tests.fakes.fake_admin import FakeCluster

cluster = FakeCluster(None)
cluster.end("t", 100, starts=(10,))
cluster.add("a", commits={("t", 0): 60})
main()
"""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("lag --fail-if lag>0", 4),
        ("lag --fail-if lag>50", 0),
        ("lag a nope", 3),
        ("wait a --until lag<=0 --for 0s", 4),
        ("wait a --until lag<=50", 0),
    ],
)
def test_a_closed_pipe_does_not_hide_a_failed_check(arguments: str, code: int) -> None:
    command = [sys.executable, "-c", CHECK, *arguments.split(), "-b", "b1:9092"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        stderr = process.stderr.read()
        assert process.wait() == code
    assert stderr.count("Error: ") == (code != 0)


@pytest.mark.parametrize("output", ["table", "json"])
def test_a_closed_pipe_does_not_keep_metrics_from_their_file(tmp_path: Path, output: str) -> None:
    file = tmp_path / "lag.prom"
    many = CHECK.replace("main()", "for at in range(3_000): cluster.add(f'g{at}', commits={('t', 0): 60})\nmain()")
    command = [sys.executable, "-c", many, "lag", "--metrics-file", str(file), "--format", output, "-b", "b1:9092"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == ("", 0)
    assert file.read_text().count("_group_lag_messages{") == 3_001
    assert "kafka_groups_poll_timestamp_seconds{" in file.read_text().splitlines()[-1]


def test_json_is_valid_on_a_stream_with_an_ascii_encoding() -> None:
    program = MANY_GROUPS.replace("5_000", "0").replace(
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


@cache
def _print_without_redirection(program: str) -> str:
    """Return the stdout of a program, which always prints the same."""
    return _run_in_shell("", program=program)[1]


def _run_in_shell(
    redirection: str, *arguments: str, program: str = MANY_GROUPS.replace("5_000", "3")
) -> tuple[int, str, str]:
    """Run a program with a shell's redirection, and return its exit code, its stdout and its stderr."""
    command = ["sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-c", program, *arguments]
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, check=False, text=True)
    return outcome.returncode, outcome.stdout, outcome.stderr


VERSION = "import sys; from kafka_groups.cli import main; sys.argv[1:] = ['--version']; main()"


CLOSED = "Error: stdout is closed, or open only for reading; redirect it to a file, or to /dev/null\n"


@pytest.mark.parametrize("redirection", ["2>&-", "<&-", "<&- 2>&-"])
@pytest.mark.parametrize("program", [MANY_GROUPS.replace("5_000", "3"), VERSION], ids=["list", "version"])
def test_a_closed_stdin_or_stderr_is_no_error(redirection: str, program: str) -> None:
    code, stdout, stderr = _run_in_shell(redirection, program=program)
    assert (code, stdout, stderr) == (0, _print_without_redirection(program), "")


@pytest.mark.parametrize(
    ("redirection", "message"), [(">&-", CLOSED), ("1</dev/null", CLOSED), (">&- 2>&-", ""), ("<&- >&- 2>&-", "")]
)
@pytest.mark.parametrize("program", [MANY_GROUPS.replace("5_000", "3"), VERSION], ids=["list", "version"])
def test_a_closed_stdout_is_one_line_and_exit_1(redirection: str, message: str, program: str) -> None:
    assert _run_in_shell(redirection, program=program) == (1, "", message)


def _run_alone(redirection: str, arguments: str) -> tuple[int, str, str]:
    program = "import sys; from kafka_groups.cli import main; sys.argv[1:] = sys.argv[1].split(); main()"
    return _run_in_shell(redirection, arguments, program=program)


@pytest.mark.parametrize(
    "arguments",
    [
        "lag --all-groups -b 127.0.0.1:1",
        "delete g --execute --yes -b 127.0.0.1:1",
        "undo --list",
        "pipeline doctor",
        "sandbox up",
        "sandbox demo",
        "schema list",
        "completion bash",
        "list --help",
    ],
)
def test_a_command_that_cannot_print_its_result_starts_nothing(arguments: str) -> None:
    assert _run_alone(">&-", arguments) == (1, "", CLOSED)


def test_a_command_without_a_result_needs_no_stdout(tmp_path: Path) -> None:
    message = "the sandbox 'sandbox' is not up\n"
    assert _run_alone(">&-", f"sandbox down --dir {tmp_path / 'none'}") == (0, "", message)


def test_a_usage_error_without_streams_is_exit_2() -> None:
    assert _run_in_shell(">&- 2>&-", "--nonsense") == (2, "", "")


def test_a_full_stderr_does_not_truncate_stdout() -> None:
    program = MANY_GROUPS.replace("5_000", "3").replace('"list"', '"describe", "group-00001", "gone"')
    code, stdout, _ = _run_in_shell("", "--format", "json", program=program)
    assert _run_in_shell("2>/dev/full", "--format", "json", program=program) == (code, stdout, "")
    assert json.loads(stdout)["groups"][0]["group"] == "group-00001"


def test_an_error_with_a_full_stderr_keeps_its_exit_code() -> None:
    assert _run_in_shell("2>/dev/full", "--nonsense") == (2, "", "")
    assert _run_in_shell("2>/dev/full", "--nonsense", "--debug") == (2, "", "")


@pytest.mark.parametrize("program", [MANY_GROUPS.replace("5_000", "3"), VERSION], ids=["list", "version"])
def test_a_full_stdout_is_one_line_and_exit_1(program: str) -> None:
    assert _run_in_shell(">/dev/full", program=program) == (1, "", "Error: No space left on device\n")


def test_an_interrupt_before_a_command_starts_is_exit_130_without_output() -> None:
    program = """
import kafka_groups.cli as root

def interrupted():
    raise KeyboardInterrupt

root.prepare_streams = interrupted
root.main()
"""
    assert _run_in_shell("", program=program) == (130, "", "")
