"""Processes that are started in the background, known again, and ended."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from kafka_groups.sandbox.processes import ProcessId, is_running, start, stop, wait_until

_SLEEP = [sys.executable, "-c", "import time; print('here', flush=True); time.sleep(60)"]
_DEAF = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(60)",
]


def _started(command: list[str], output: Path) -> ProcessId:
    process = start(command, output=output)
    assert wait_until(lambda: bool(output.read_text()), timeout_s=10)
    return process


def test_a_process_runs_until_it_is_stopped(tmp_path: Path) -> None:
    process = _started(_SLEEP, tmp_path / "out")

    assert is_running(process)
    assert (tmp_path / "out").read_text() == "here\n"
    stop([process], grace_s=5)
    assert not is_running(process)


def test_one_that_does_not_listen_is_killed_after_its_grace(tmp_path: Path) -> None:
    process = _started(_DEAF, tmp_path / "out")

    stop([process], grace_s=0.2)

    assert not is_running(process)


def test_a_process_that_took_over_the_number_is_another_one_and_is_left_alone(
    tmp_path: Path,
) -> None:
    process = _started(_SLEEP, tmp_path / "out")
    gone = replace(process, born="at another time")

    stop([gone], grace_s=0.2)

    assert not is_running(gone)
    assert is_running(process)
    stop([process], grace_s=0)


def test_a_process_that_ended_by_itself_is_not_running(tmp_path: Path) -> None:
    process = start(["/bin/sh", "-c", "exit 3"], output=tmp_path / "out")

    assert wait_until(lambda: not is_running(process), timeout_s=10)


def test_what_is_started_is_in_no_session_of_ours(tmp_path: Path) -> None:
    process = _started(_SLEEP, tmp_path / "out")

    assert os.getsid(process.pid) != os.getsid(0)
    stop([process], grace_s=0)


def test_a_wait_ends_at_its_deadline() -> None:
    assert not wait_until(lambda: False, timeout_s=0.1)


@pytest.mark.parametrize("name", ["with space", "quo'te", "$(id)"])
def test_arguments_reach_the_program_as_they_are(tmp_path: Path, name: str) -> None:
    output = tmp_path / "out"

    start([sys.executable, "-c", "import sys; print(sys.argv[1])", name], output=output)

    assert wait_until(lambda: output.exists() and output.read_text() == f"{name}\n", timeout_s=10)
