"""The rights that changes need, as their help names them, for a user who may describe everything and change little."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from tests.fakes.command_line import Outcome, run
from tests.live.groups.clients import read_offsets
from tests.live.groups.conditions import wait_until
from tests.live.groups.members import simple
from tests.live.groups.topics import make_topic
from tests.live.secured_broker import SecuredBroker

pytestmark = pytest.mark.live

EXECUTE: Final = ("--execute", "--yes")
USER: Final = "describer"


@pytest.fixture(scope="module")
def open_topic(secured: SecuredBroker) -> str:
    """Return a topic on which every user may do everything."""
    return make_topic(secured.bootstrap, partitions=2, records=8)


@pytest.fixture(scope="module")
def described_topic(secured: SecuredBroker) -> str:
    """Return a topic that the describer may describe, but not read."""
    name = make_topic(secured.bootstrap, partitions=2, records=8)
    for user, operation in (("ANONYMOUS", AclOperation.ALL), (USER, AclOperation.DESCRIBE)):
        secured.allow(user, operation, name)
    return name


@pytest.fixture
def open_group(secured: SecuredBroker, open_topic: str, described_topic: str) -> Iterator[str]:
    """Yield a group that every user may change."""
    with simple(secured.bootstrap, commits=[(open_topic, 0, 3), (described_topic, 0, 4)]) as name:
        yield name


@pytest.fixture
def described_group(secured: SecuredBroker, open_topic: str) -> Iterator[str]:
    """Yield a group that the describer may describe, but neither read nor delete."""
    with simple(secured.bootstrap, commits=[(open_topic, 0, 3)]) as name:
        for user, operation in (("ANONYMOUS", AclOperation.ALL), (USER, AclOperation.DESCRIBE)):
            secured.allow(user, operation, name, kind=ResourceType.GROUP)
        wait_until(lambda: _run(secured, "delete", name).exit_code == 0, lambda: f"{name} is not described")
        yield name


def _run(secured: SecuredBroker, *arguments: str, home: Path | None = None) -> Outcome:
    journal = {} if home is None else {"HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
    return run(*arguments, *secured.flags(USER), bootstrap=None, **journal)


def _document(secured: SecuredBroker, home: Path, *arguments: str) -> tuple[int, Any]:
    outcome = _run(secured, *arguments, *EXECUTE, "--format", "json", home=home)
    return outcome.exit_code, json.loads(outcome.stdout)


def test_without_read_on_a_topic_only_its_partitions_fail(
    secured: SecuredBroker, open_topic: str, described_topic: str, open_group: str, tmp_path: Path
) -> None:
    code, document = _document(secured, tmp_path, "reset", open_group, "--all-topics", "--to-latest")

    assert read_offsets(secured.bootstrap, open_group) == {(open_topic, 0): 8, (described_topic, 0): 4}
    (error,) = document["errors"]
    assert (error["topic"], error["partition"], error["name"]) == (described_topic, 0, "TOPIC_AUTHORIZATION_FAILED")
    assert "READ" in error["message"]
    statuses = {row["topic"]: row["status"] for row in document["groups"][0]["offsets"]}
    assert statuses == {open_topic: "done", described_topic: "failed"}
    assert (document["status"], code) == ("partial", 3)


def test_without_read_on_a_group_only_its_offsets_are_not_reset(
    secured: SecuredBroker, open_topic: str, open_group: str, described_group: str, tmp_path: Path
) -> None:
    scope = ("--topic", open_topic, "--to-latest")
    code, document = _document(secured, tmp_path, "reset", open_group, described_group, *scope)
    alone, _ = _document(secured, tmp_path, "reset", described_group, *scope)

    assert read_offsets(secured.bootstrap, described_group) == {(open_topic, 0): 3}
    assert read_offsets(secured.bootstrap, open_group)[open_topic, 0] == 8
    (error,) = document["errors"]
    assert (error["group"], error["name"]) == (described_group, "GROUP_AUTHORIZATION_FAILED")
    assert "READ" in error["message"]
    assert (code, alone) == (3, 1)


def test_without_delete_on_a_group_it_stays(
    secured: SecuredBroker, open_topic: str, open_group: str, described_group: str, tmp_path: Path
) -> None:
    code, document = _document(secured, tmp_path, "delete", open_group, described_group)

    assert read_offsets(secured.bootstrap, described_group) == {(open_topic, 0): 3}
    assert read_offsets(secured.bootstrap, open_group) == {}
    (error,) = document["errors"]
    assert (error["group"], error["name"]) == (described_group, "GROUP_AUTHORIZATION_FAILED")
    assert "DELETE" in error["message"]
    assert code == 3


def test_commits_are_deleted_with_delete_on_the_group_and_read_on_the_topic(
    secured: SecuredBroker,
    open_topic: str,
    described_topic: str,
    open_group: str,
    described_group: str,
    tmp_path: Path,
) -> None:
    scope = ("--topic", open_topic, "--topic", described_topic)
    code, document = _document(secured, tmp_path, "delete-offsets", open_group, described_group, *scope)

    assert read_offsets(secured.bootstrap, open_group) == {(described_topic, 0): 4}
    assert read_offsets(secured.bootstrap, described_group) == {(open_topic, 0): 3}
    errors = {(error["group"], error["topic"], error["name"]): error["message"] for error in document["errors"]}
    assert {*errors} == {
        (open_group, described_topic, "TOPIC_AUTHORIZATION_FAILED"),
        (described_group, None, "GROUP_AUTHORIZATION_FAILED"),
    }
    assert {"READ" in text or "DELETE" in text for text in errors.values()} == {True}
    assert code == 3
