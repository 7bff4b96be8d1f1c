"""The Kafka Streams application and the Connect worker of a seeded sandbox."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.errors import SandboxError
from kafka_groups.sandbox.application_groups import (
    Application,
    application_programs,
    await_applications,
    find_applications,
)
from kafka_groups.sandbox.applications import CONNECT_WORKER, WORD_COUNT
from kafka_groups.sandbox.artifacts import Artifacts
from kafka_groups.sandbox.kafka import Kafka
from kafka_groups.sandbox.processes import ProcessId
from kafka_groups.sandbox.state_file import read_state
from kafka_groups.sandbox.versions import parse_version

if TYPE_CHECKING:
    from pytest_mock import MockerFixture
from tests.sandbox.sandboxes import present_sandbox

FIND = "kafka_groups.sandbox.application_groups.find_program"
KAFKA = Kafka(version=parse_version("4.3.1"), java=Path("java"), jars=())


@pytest.mark.parametrize(
    ("version", "roles"), [("2.8.2", []), ("4.1.0", []), ("4.3.1", ["streams-application", "connect-worker"])]
)
def test_versions_without_streams_groups_have_no_applications(
    version: str, roles: list[str], mocker: MockerFixture
) -> None:
    mocker.patch(FIND, return_value=KAFKA)
    found = find_applications(parse_version(version), report=lambda _: None)
    assert [application.role for application in found] == roles


def test_an_application_that_cannot_be_downloaded_is_reported_and_skipped(mocker: MockerFixture) -> None:
    def find(program: Artifacts, **_: object) -> Kafka:
        if program.name == "Kafka Connect":
            raise SandboxError("no Maven repository could be reached")
        return KAFKA

    mocker.patch(FIND, side_effect=find)
    notes: list[str] = []
    (streams,) = find_applications(KAFKA.version, report=notes.append)
    assert streams.roles() == {"streams-application-1": 1, "streams-application-2": 2}
    assert notes == ["the sandbox starts without Kafka Connect: no Maven repository could be reached"]


def test_processes_are_found_by_the_settings_that_end_their_command_lines(tmp_path: Path) -> None:
    directory = present_sandbox(tmp_path)
    programs = application_programs(directory)
    assert {path.parent.name: main for path, main in programs.items()} == {
        "streams-application-1": WORD_COUNT,
        "streams-application-2": WORD_COUNT,
        "connect-worker-1": CONNECT_WORKER,
    }


def test_an_instance_that_ends_while_it_starts_is_reported_with_its_output(tmp_path: Path) -> None:
    ended = {role: ProcessId(pid=2**22 + 1, created=0.0) for role in ("streams-application-1", "streams-application-2")}
    directory = present_sandbox(tmp_path, processes=ended)
    directory.output("streams-application-1").write_text("Error: cannot reserve the heap\n")
    state = read_state(directory)
    assert state is not None
    streams = Application(role="streams-application", kafka=KAFKA, groups=("word-counter",))
    with pytest.raises(
        SandboxError, match=r"streams-application-1 ended while it started: Error: cannot .*; try --no-seed"
    ):
        await_applications(directory, state, [streams], timeout_s=5)
