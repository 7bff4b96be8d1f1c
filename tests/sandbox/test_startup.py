"""Failed starts of a sandbox leave only an error and the logs."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox import down, status, up
from kafka_groups.sandbox.brokers import last_error, prepare
from kafka_groups.sandbox.directory import sandbox_directory
from kafka_groups.sandbox.kafka import Kafka
from kafka_groups.sandbox.state_file import read_state
from kafka_groups.sandbox.versions import parse_version

if TYPE_CHECKING:
    from pytest_mock import MockerFixture
from tests.sandbox.sandboxes import present_sandbox, specification


@pytest.mark.usefixtures("broken_java")
def test_the_error_quotes_the_output_of_a_broker_that_exits_and_keeps_its_log(tmp_path: Path) -> None:
    log = tmp_path / "home" / "sandbox" / "logs" / "broker-1.out"

    with pytest.raises(SandboxError) as caught:
        up(specification(tmp_path / "home"))

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
    directory = present_sandbox(tmp_path, data=False)
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
        up(specification(tmp_path / "home"))

    assert down(home=tmp_path / "home") is False
    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.usefixtures("broken_java")
def test_a_port_in_use_leaves_no_directory(tmp_path: Path) -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        with pytest.raises(SandboxError, match="is in use; give another --port"):
            up(specification(tmp_path, port=server.getsockname()[1]))

    assert not sandbox_directory("sandbox", home=tmp_path).path.exists()
    assert not sandbox_directory("sandbox", home=tmp_path).lock_file.exists()


def test_an_impossible_specification_is_refused_before_anything_is_started(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="a sandbox has 1 to 9 brokers, not 0"):
        up(specification(tmp_path, brokers=0))
    with pytest.raises(SandboxError, match="heap of at least 128 MB, not 5"):
        up(specification(tmp_path, heap_mb=5))

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
        up(specification(tmp_path / "home", profile=True))

    assert profiles.read_text() == text
    assert not find_kafka.called
    assert list((tmp_path / "home").iterdir()) == []


@pytest.mark.usefixtures("broken_java")
def test_a_failed_start_leaves_no_profile(tmp_path: Path, profiles: Path) -> None:
    with pytest.raises(SandboxError, match="broker-1 ended while it started"):
        up(specification(tmp_path / "home", profile=True))

    assert profiles.read_text() == ""


@pytest.mark.usefixtures("broken_java")
def test_an_interrupt_deletes_the_sandbox(tmp_path: Path, mocker: MockerFixture) -> None:
    mocker.patch("kafka_groups.sandbox.startup.await_brokers", side_effect=KeyboardInterrupt)

    with pytest.raises(KeyboardInterrupt):
        up(specification(tmp_path / "home"))

    assert not (tmp_path / "home" / "sandbox").exists()
    shutil.rmtree(tmp_path / "home")
