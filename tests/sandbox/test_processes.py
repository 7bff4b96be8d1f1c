"""Background processes are identified after their start, and ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from kafka_groups.options.signals import defer_signals
from kafka_groups.sandbox.processes import ProcessId, find_running, is_running, start, stop, wait_until

_SLEEP = [sys.executable, "-c", "import time; print('ready', flush=True); time.sleep(60)"]
_IGNORES_SIGTERM = [
    sys.executable,
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready', flush=True); time.sleep(60)",
]

_ZOMBIE = """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", ""])
print(child.pid, flush=True)
sys.stdin.read()
"""


def _started(command: list[str], output: Path) -> ProcessId:
    process = start(command, output=output)
    assert wait_until(lambda: bool(output.read_text()), timeout_s=10)
    return process


def test_a_process_runs_until_it_is_stopped(tmp_path: Path) -> None:
    process = _started(_SLEEP, tmp_path / "out")

    assert is_running(process)
    assert (tmp_path / "out").read_text() == "ready\n"
    stop([process], grace_s=5)
    assert not is_running(process)


def test_a_process_that_ignores_sigterm_is_killed_after_its_grace_period(tmp_path: Path) -> None:
    process = _started(_IGNORES_SIGTERM, tmp_path / "out")

    stop([process], grace_s=0.2)

    assert not is_running(process)


@pytest.mark.parametrize("earlier_s", [60, 365 * 24 * 60 * 60])
def test_a_later_process_with_the_same_number_is_not_running_and_not_stopped(tmp_path: Path, earlier_s: int) -> None:
    later = _started(_SLEEP, tmp_path / "out")
    earlier = replace(later, created=later.created - earlier_s)

    stop([earlier], grace_s=0.2)

    assert not is_running(earlier)
    assert is_running(later)
    stop([later], grace_s=0)


@pytest.mark.parametrize("step_s", [-3600, 1, 3600])
def test_a_process_is_identified_after_a_step_of_the_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step_s: int
) -> None:
    process = _started(_SLEEP, tmp_path / "out")
    booted, created = psutil.boot_time(), psutil.Process.create_time
    # Both are read from the clock, and move with it.
    monkeypatch.setattr(psutil, "boot_time", lambda: booted + step_s)
    monkeypatch.setattr(psutil.Process, "create_time", lambda process: created(process) + step_s)

    assert is_running(process)
    stop([process], grace_s=0)


def test_a_zombie_is_not_running() -> None:
    parent = subprocess.Popen([sys.executable, "-c", _ZOMBIE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    pid = int(parent.stdout.readline())
    zombie = ProcessId(pid=pid, created=psutil.Process(pid).create_time() - psutil.boot_time())

    assert wait_until(lambda: psutil.Process(pid).status() == psutil.STATUS_ZOMBIE, timeout_s=10)
    assert not is_running(zombie)
    stop([zombie], grace_s=5)
    parent.communicate()


def test_a_process_that_exited_is_not_running(tmp_path: Path) -> None:
    process = start(["/bin/sh", "-c", "exit 3"], output=tmp_path / "out")

    assert wait_until(lambda: not is_running(process), timeout_s=10)


def test_a_process_is_started_in_another_session(tmp_path: Path) -> None:
    process = _started(_SLEEP, tmp_path / "out")

    assert os.getsid(process.pid) != os.getsid(0)
    stop([process], grace_s=0)


def test_a_wait_returns_false_at_its_deadline() -> None:
    assert not wait_until(lambda: False, timeout_s=0.1)


@pytest.mark.parametrize("name", ["with space", "quo'te", "$(id)"])
def test_arguments_are_passed_to_the_program_unchanged(tmp_path: Path, name: str) -> None:
    output = tmp_path / "out"

    start([sys.executable, "-c", "import sys; print(sys.argv[1])", name], output=output)

    assert wait_until(lambda: output.exists() and output.read_text() == f"{name}\n", timeout_s=10)


def test_a_process_is_found_by_its_program_and_its_last_argument(tmp_path: Path) -> None:
    settings = tmp_path / "settings ä.properties"
    sleep = [sys.executable, "-c", "import time; time.sleep(60)", "kafka.Kafka"]
    ours = start([*sleep, settings], output=tmp_path / "out")
    others = [
        start([*sleep, settings, "more"], output=tmp_path / "out"),
        start([*sleep[:-1], "editor", settings], output=tmp_path / "out"),
    ]
    try:
        assert wait_until(lambda: find_running({settings: "kafka.Kafka"}) == [ours], timeout_s=10)
        assert find_running({tmp_path: "kafka.Kafka"}) == []
    finally:
        stop([ours, *others], grace_s=0)
    assert find_running({settings: "kafka.Kafka"}) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_during_a_start_takes_effect_after_it_and_is_not_deferred_in_the_process(
    tmp_path: Path, number: signal.Signals
) -> None:
    received: list[int] = []
    before = signal.signal(number, lambda number, _: received.append(number))
    try:
        with defer_signals(is_interruptible=False):
            signal.raise_signal(number)
            process = start(_SLEEP, output=tmp_path / "out")
            during = list(received)
    finally:
        signal.signal(number, before)

    assert (during, received) == ([], [number])
    os.kill(process.pid, signal.SIGTERM)
    assert wait_until(lambda: not is_running(process), timeout_s=10)
