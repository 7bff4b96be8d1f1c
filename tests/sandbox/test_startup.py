"""Failed starts of a sandbox leave only an error and the logs."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
from pathlib import Path
from subprocess import PIPE
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from kafka_groups.commands.sandbox import sandbox as command_line
from kafka_groups.errors import SandboxError
from kafka_groups.sandbox import SandboxSpec, down, lifecycle, start_broker, status, up
from kafka_groups.sandbox.brokers import last_error, prepare
from kafka_groups.sandbox.directory import SandboxDirectory, sandbox_directory
from kafka_groups.sandbox.kafka import Kafka
from kafka_groups.sandbox.processes import ProcessId, is_running, start, stop, wait_until
from kafka_groups.sandbox.profile import write_profile
from kafka_groups.sandbox.state_file import Node, SandboxState, read_state, write_state
from kafka_groups.sandbox.versions import parse_version

if TYPE_CHECKING:
    from pytest_mock import MockerFixture


@pytest.fixture
def broken_java(tmp_path: Path, mocker: MockerFixture) -> Path:
    """Replace Java with a program that prints an error and exits."""
    java = tmp_path / "java"
    java.write_text("#!/bin/sh\necho starting\necho 'Error: cannot reserve the heap'\necho bye\nexit 1\n")
    java.chmod(0o755)
    kafka = Kafka(version=parse_version("2.8.2"), java=java, jars=())
    mocker.patch("kafka_groups.sandbox.lifecycle.find_kafka", return_value=kafka)
    return java


@pytest.fixture
def profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of the profiles file of a user without profiles."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config" / "kafka-groups" / "profiles.toml"


def _spec(home: Path, *, port: int = 0, brokers: int = 1, heap_mb: int = 512, profile: bool = False) -> SandboxSpec:
    return SandboxSpec(
        home=home,
        port=port,
        brokers=brokers,
        heap_mb=heap_mb,
        kafka_version="2.8.2",
        profile=profile,
    )


def _present_sandbox(
    home: Path,
    *,
    profile: bool = False,
    complete: bool = False,
    data: bool = True,
    processes: dict[str, ProcessId] | None = None,
) -> SandboxDirectory:
    """Create a sandbox of one broker, with `processes` in its state."""
    directory = sandbox_directory("sandbox", home=home)
    directory.create()
    if data:
        directory.data("broker-1").mkdir(parents=True)
    state = SandboxState(
        kafka_version="2.8.2",
        cluster_id="c",
        java="java",
        jvm=(),
        nodes=(Node(id=1, port=9092, controller_port=20001),),
        zookeeper_port=None,
        processes=processes or {},
        profile=profile,
        complete=complete,
    )
    write_state(directory, state)
    return directory


@pytest.mark.usefixtures("broken_java")
def test_the_error_quotes_the_output_of_a_broker_that_exits_and_keeps_its_log(tmp_path: Path) -> None:
    log = tmp_path / "home" / "sandbox" / "logs" / "broker-1.out"

    with pytest.raises(SandboxError) as caught:
        up(_spec(tmp_path / "home"))

    assert str(caught.value) == (f"broker-1 ended while it started: Error: cannot reserve the heap (more in {log})")
    assert log.read_text().startswith("starting\n")
    assert status(home=tmp_path / "home") is None


def test_the_last_error_is_the_root_cause_in_the_log(tmp_path: Path) -> None:
    directory = sandbox_directory("mine", home=tmp_path)
    directory.create()
    directory.log("broker-1").write_text(
        "12:00 INFO starting\n12:01 ERROR Exiting Kafka due to fatal exception\n"
        "org.apache.kafka.common.KafkaException: Socket server failed to bind\n\tat kafka.X\n"
        "Caused by: java.net.BindException: Address already in use\n\tat sun.Y\n12:02 INFO down\n"
    )
    directory.output("broker-1").write_text("Picked up JAVA_TOOL_OPTIONS\n")

    assert last_error(directory, "broker-1") == (
        f"java.net.BindException: Address already in use (more in {directory.log('broker-1')})"
    )


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        (
            "Error occurred during initialization of VM\nCould not reserve enough space for 9KB object heap\n",
            "Error occurred during initialization of VM: Could not reserve enough space for 9KB object heap",
        ),
        (
            "Invalid maximum heap size: -Xmx9m\nError: Could not create the Java Virtual Machine.\nError: A fatal\n",
            "Invalid maximum heap size: -Xmx9m",
        ),
        ("Error occurred during initialization of VM\n", "Error occurred during initialization of VM"),
    ],
)
def test_the_last_error_of_a_jvm_that_cannot_have_its_heap_has_the_reason(
    tmp_path: Path, output: str, reason: str
) -> None:
    directory = sandbox_directory("mine", home=tmp_path)
    directory.create()
    directory.output("broker-1").write_text(output)

    assert last_error(directory, "broker-1") == f"{reason} (more in {directory.output('broker-1')})"


@pytest.mark.parametrize("blocked", ["broker-1", "logging.properties"])
def test_files_that_cannot_be_written_are_reported_with_their_directory(tmp_path: Path, blocked: str) -> None:
    directory = _present_sandbox(tmp_path, data=False)
    state = read_state(directory)
    assert state is not None
    # A broken link fails where a full disk does, at the first write.
    (directory.path / blocked).symlink_to(tmp_path / "missing" / "file")
    kafka = Kafka(version=parse_version("2.8.2"), java=tmp_path / "java", jars=())

    with pytest.raises(SandboxError) as caught:
        prepare(directory, state, kafka, {})

    start_of_message = f"the sandbox's files in {directory.path} cannot be written: "
    assert str(caught.value).startswith(start_of_message)
    assert str(caught.value).endswith("; check the permissions and the free space")


@pytest.mark.usefixtures("broken_java")
def test_down_deletes_the_logs_of_a_failed_start(tmp_path: Path) -> None:
    with pytest.raises(SandboxError):
        up(_spec(tmp_path / "home"))

    assert down(home=tmp_path / "home") is False
    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.usefixtures("broken_java")
def test_a_port_in_use_leaves_no_directory(tmp_path: Path) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        with pytest.raises(SandboxError, match="is in use; give another --port"):
            up(_spec(tmp_path, port=server.getsockname()[1]))

    assert not sandbox_directory("sandbox", home=tmp_path).path.exists()
    assert not sandbox_directory("sandbox", home=tmp_path).lock_file.exists()


def test_an_impossible_specification_is_refused_before_anything_is_started(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="a sandbox has 1 to 9 brokers, not 0"):
        up(_spec(tmp_path, brokers=0))
    with pytest.raises(SandboxError, match="heap of at least 128 MB, not 5"):
        up(_spec(tmp_path, heap_mb=5))

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "reason"), [('[sandbox]\ntimeout = "5s"\n', "is not the sandbox's"), ("[[[", "cannot be read")]
)
def test_a_profile_that_cannot_be_written_is_reported_before_anything_is_downloaded_or_started(
    tmp_path: Path, profiles: Path, mocker: MockerFixture, text: str, reason: str
) -> None:
    find_kafka = mocker.patch("kafka_groups.sandbox.lifecycle.find_kafka")
    profiles.parent.mkdir(parents=True)
    profiles.write_text(text)

    with pytest.raises(SandboxError, match=reason):
        up(_spec(tmp_path / "home", profile=True))

    assert profiles.read_text() == text
    assert not find_kafka.called
    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.usefixtures("broken_java")
def test_a_failed_start_leaves_no_profile(tmp_path: Path, profiles: Path) -> None:
    with pytest.raises(SandboxError, match="broker-1 ended while it started"):
        up(_spec(tmp_path / "home", profile=True))

    assert profiles.read_text() == ""


@pytest.mark.usefixtures("broken_java")
def test_the_profile_of_a_start_that_was_killed_does_not_prevent_the_next_one(
    tmp_path: Path, profiles: Path, mocker: MockerFixture
) -> None:
    delete = mocker.patch.object(lifecycle, "_delete")
    with pytest.raises(SandboxError):
        up(_spec(tmp_path / "home", profile=True))
    left = profiles.read_text()
    mocker.stop(delete)

    with pytest.raises(SandboxError, match="broker-1 ended while it started"):
        up(_spec(tmp_path / "home", profile=True))

    assert "[sandbox]" in left
    assert profiles.read_text() == ""


def test_down_ends_a_broker_that_a_killed_start_has_not_written_to_its_state(tmp_path: Path) -> None:
    directory = _present_sandbox(tmp_path)
    program = [sys.executable, "-c", "import time; time.sleep(60)", "kafka.Kafka"]
    broker = start([*program, directory.settings("broker-1")], output=directory.output("broker-1"))

    down(home=tmp_path)

    assert not is_running(broker)
    assert not directory.path.exists()


@pytest.mark.usefixtures("broken_java")
def test_down_ends_a_broker_whose_restart_was_killed_before_it_was_written_to_the_state(
    tmp_path: Path, mocker: MockerFixture
) -> None:
    directory = _present_sandbox(tmp_path, processes={"broker-1": ProcessId(pid=1, created=-60.0)}, complete=True)
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
    directory = _present_sandbox(tmp_path, processes={"broker-1": ProcessId(pid=1, created=-60.0)}, complete=True)
    lock_file = directory.data("broker-1") / ".lock"
    # Kafka locks this file, as Java does: with a record lock, which other machines see too.
    hold = (
        "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.lockf(f, fcntl.LOCK_EX); "
        "print(flush=True); sys.stdin.read()"
    )
    with subprocess.Popen([sys.executable, "-c", hold, lock_file], stdin=PIPE, stdout=PIPE) as broker:
        assert broker.stdout is not None
        broker.stdout.readline()
        for command in (lambda: up(_spec(tmp_path)), lambda: down(home=tmp_path)):
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
    directory = _present_sandbox(tmp_path / "home", profile=True)
    write_profile(directory, "127.0.0.1:9092")
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


@pytest.mark.usefixtures("broken_java")
def test_an_interrupt_deletes_the_sandbox(tmp_path: Path, mocker: MockerFixture) -> None:
    mocker.patch("kafka_groups.sandbox.startup.await_brokers", side_effect=KeyboardInterrupt)

    with pytest.raises(KeyboardInterrupt):
        up(_spec(tmp_path / "home"))

    assert not (tmp_path / "home" / "sandbox").exists()
    shutil.rmtree(tmp_path / "home")
