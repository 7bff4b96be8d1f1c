"""Sandboxes whose start was killed, or that other machines use: what the next start and `down` do with them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from subprocess import PIPE
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kafka_groups.commands.sandbox import sandbox as command_line
from kafka_groups.errors import SandboxError
from kafka_groups.sandbox import down, lifecycle, start_broker, status, up
from kafka_groups.sandbox.processes import ProcessId, is_running, start, stop, wait_until
from kafka_groups.sandbox.profile import plain_profile, write_profiles

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


from tests.sandbox.sandboxes import present_sandbox, specification


@pytest.mark.usefixtures("broken_java")
def test_the_profile_of_a_start_that_was_killed_does_not_prevent_the_next_one(
    tmp_path: Path, profiles: Path, mocker: MockerFixture
) -> None:
    delete = mocker.patch.object(lifecycle, "_delete")
    with pytest.raises(SandboxError):
        up(specification(tmp_path / "home", profile=True))
    left = profiles.read_text()
    mocker.stop(delete)

    with pytest.raises(SandboxError, match="broker-1 ended while it started"):
        up(specification(tmp_path / "home", profile=True))

    assert "[sandbox]" in left
    assert profiles.read_text() == ""


def test_down_ends_a_broker_that_a_killed_start_has_not_written_to_its_state(tmp_path: Path) -> None:
    directory = present_sandbox(tmp_path)
    program = [sys.executable, "-c", "import time; time.sleep(60)", "kafka.Kafka"]
    broker = start([*program, directory.settings("broker-1")], output=directory.output("broker-1"))

    down(home=tmp_path)

    assert not is_running(broker)
    assert not directory.path.exists()


@pytest.mark.usefixtures("broken_java")
def test_down_ends_a_broker_whose_restart_was_killed_before_it_was_written_to_the_state(
    tmp_path: Path, mocker: MockerFixture
) -> None:
    directory = present_sandbox(tmp_path, processes={"broker-1": ProcessId(pid=1, created=-60.0)}, complete=True)
    started: list[ProcessId] = []

    def launch_and_die(*_: object, **__: object) -> None:
        # Holds the lock of its data, as a broker does.
        hold = "import fcntl, sys, time; f = open(sys.argv[2], 'w'); fcntl.lockf(f, fcntl.LOCK_EX); time.sleep(60)"
        program = [sys.executable, "-c", hold, "kafka.Kafka", str(directory.data("broker-1") / ".lock")]
        started.append(start([*program, directory.settings("broker-1")], output=directory.output("broker-1")))
        assert wait_until(lambda: directory.is_in_use("broker-1"), timeout_s=10)
        raise KeyboardInterrupt

    mocker.patch("kafka_groups.sandbox.lifecycle.launch_broker", side_effect=launch_and_die)
    with pytest.raises(KeyboardInterrupt):
        start_broker(1, home=tmp_path)
    try:
        assert down(home=tmp_path) is True
        assert not is_running(started[0])
    finally:
        stop(started, grace_s=0)


@pytest.mark.usefixtures("broken_java")
def test_a_sandbox_of_another_machine_on_the_same_file_system_is_not_deleted(
    tmp_path: Path, mocker: MockerFixture
) -> None:
    mocker.patch("kafka_groups.sandbox.lifecycle._RELEASE_TIMEOUT_S", 0.1)
    directory = present_sandbox(tmp_path, processes={"broker-1": ProcessId(pid=1, created=-60.0)}, complete=True)
    lock_file = directory.data("broker-1") / ".lock"
    # Kafka locks this file, as Java does: with a record lock, which other machines see too.
    hold = (
        "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX); "
        "print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", hold, lock_file], stdin=PIPE, stdout=PIPE) as broker:
        assert broker.stdout is not None
        broker.stdout.readline()
        for command in (lambda: up(specification(tmp_path)), lambda: down(home=tmp_path)):
            with pytest.raises(SandboxError, match=r"broker-1 in .* runs on another machine or in another container"):
                command()
        assert directory.state_file.exists()
        shown = CliRunner().invoke(command_line, ["status", "--dir", str(tmp_path)])
        broker.kill()

    assert shown.exit_code == 1
    assert "sandbox sandbox (runs on another machine or in another container; end it there)" in shown.stdout
    assert "broker-1 pid 1 (not on this machine)" in shown.stdout
    ended = status(home=tmp_path)
    assert ended is not None
    assert not ended.runs_elsewhere
    assert down(home=tmp_path) is True


def test_down_can_be_repeated_after_an_invalid_profiles_file_was_corrected(tmp_path: Path, profiles: Path) -> None:
    directory = present_sandbox(tmp_path / "home", profile=True)
    write_profiles(directory, [plain_profile(directory, "127.0.0.1:9092")])
    written = profiles.read_text()
    profiles.write_text(f"{written}x = = 1\n")

    with pytest.raises(SandboxError, match="correct it first"):
        down(home=tmp_path / "home")
    profiles.write_text(written)

    assert down(home=tmp_path / "home") is True
    assert profiles.read_text() == ""
    assert not directory.path.exists()


def test_down_and_status_find_no_sandbox_where_none_was_started(tmp_path: Path) -> None:
    assert down("other", home=tmp_path) is False
    assert status("other", home=tmp_path) is None
