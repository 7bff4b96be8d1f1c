"""The rights that changes of share and streams groups need, for a user who may describe much and change little."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from tests.fakes.command_line import Outcome, run
from tests.live.groups.clients import read_offsets
from tests.live.groups.conditions import wait_until
from tests.live.groups.kinds_with_offsets import KINDS, Kind, make_share, make_streams, start_offsets
from tests.live.groups.topics import make_topic
from tests.live.secured_broker import SecuredBroker

pytestmark = [pytest.mark.live, pytest.mark.timeout(120)]

EXECUTE: Final = ("--execute", "--yes")
USER: Final = "describer"
RECORDS: Final = 8


@pytest.fixture(params=sorted(KINDS))
def kind(request: pytest.FixtureRequest) -> Kind:
    """Return a kind of group."""
    return KINDS[request.param]


@pytest.fixture(scope="module")
def open_topic(secured: SecuredBroker) -> str:
    """Return a topic on which every user may do everything."""
    return make_topic(secured.bootstrap, records=RECORDS)


@pytest.fixture(scope="module")
def described_topic(secured: SecuredBroker) -> str:
    """Return a topic that the describer may describe, but not read."""
    name = make_topic(secured.bootstrap, records=RECORDS)
    _only_describe(secured, name, ResourceType.TOPIC)
    return name


@pytest.fixture(scope="module")
def hidden_topic(secured: SecuredBroker) -> str:
    """Return a topic that the describer may not even describe."""
    name = make_topic(secured.bootstrap, records=RECORDS)
    secured.allow("ANONYMOUS", AclOperation.ALL, name)
    return name


@pytest.fixture
def open_group(secured: SecuredBroker, kind: Kind, open_topic: str, described_topic: str) -> str:
    """Return a group that every user may change."""
    return kind.make(secured.bootstrap, {(open_topic, 0): 3, (described_topic, 0): 4})


@pytest.fixture
def described_group(secured: SecuredBroker, kind: Kind, open_topic: str) -> str:
    """Return a group that the describer may describe, but neither read nor delete."""
    name = kind.make(secured.bootstrap, {(open_topic, 0): 3})
    _only_describe(secured, name, ResourceType.GROUP)
    wait_until(lambda: _run(secured, "delete", name).exit_code == 0, lambda: f"{name} is not described")
    return name


def _only_describe(secured: SecuredBroker, name: str, kind: ResourceType) -> None:
    for user, operation in (("ANONYMOUS", AclOperation.ALL), (USER, AclOperation.DESCRIBE)):
        secured.allow(user, operation, name, kind=kind)


def _run(secured: SecuredBroker, *arguments: str, home: Path | None = None, user: str = USER) -> Outcome:
    journal = {} if home is None else {"HOME": str(home), "XDG_STATE_HOME": str(home / "state")}
    return run(*arguments, *secured.flags(user), bootstrap=None, **journal)


def _document(secured: SecuredBroker, home: Path, *arguments: str, user: str = USER) -> tuple[int, Any]:
    outcome = _run(secured, *arguments, *EXECUTE, "--format", "json", home=home, user=user)
    return outcome.exit_code, json.loads(outcome.stdout)


def _statuses(document: Any) -> dict[tuple[str, str], str]:
    """Return the status of each row, by group and topic."""
    return {(group["group"], row["topic"]): row["status"] for group in document["groups"] for row in group["offsets"]}


def _errors(document: Any) -> set[tuple[str | None, str | None, str]]:
    return {(error["group"], error["topic"], error["name"]) for error in document["errors"]}


def test_a_topic_without_read_keeps_its_offsets_and_hides_no_other(
    secured: SecuredBroker, kind: Kind, open_topic: str, described_topic: str, open_group: str, tmp_path: Path
) -> None:
    code, document = _document(secured, tmp_path, "reset", open_group, "--all-topics", "--to-latest")
    alone, only = _document(secured, tmp_path, "reset", open_group, "--topic", described_topic, "--to-latest")

    assert kind.read(secured.bootstrap, open_group) == {(open_topic, 0): RECORDS, (described_topic, 0): 4}
    assert _statuses(document) == {(open_group, open_topic): "done", (open_group, described_topic): "failed"}
    assert _errors(document) == {(open_group, described_topic, "TOPIC_AUTHORIZATION_FAILED")}
    assert "READ" in document["errors"][0]["message"]
    assert (document["status"], code) == ("partial", 3)
    assert (_statuses(only), alone) == ({(open_group, described_topic): "failed"}, 1)


def test_a_group_without_read_keeps_its_offsets_and_hides_no_other(
    secured: SecuredBroker, kind: Kind, open_topic: str, open_group: str, described_group: str, tmp_path: Path
) -> None:
    scope = ("--topic", open_topic, "--to-latest")
    code, document = _document(secured, tmp_path, "reset", open_group, described_group, *scope)
    alone, _ = _document(secured, tmp_path, "reset", described_group, *scope)

    assert kind.read(secured.bootstrap, described_group) == {(open_topic, 0): 3}
    assert kind.read(secured.bootstrap, open_group)[open_topic, 0] == RECORDS
    assert _statuses(document) == {(open_group, open_topic): "done", (described_group, open_topic): "failed"}
    assert {(group, name) for group, _, name in _errors(document)} == {(described_group, "GROUP_AUTHORIZATION_FAILED")}
    assert "READ" in document["errors"][0]["message"]
    assert (code, alone) == (3, 1)


def test_a_group_without_delete_stays_and_hides_no_other(
    secured: SecuredBroker, kind: Kind, open_topic: str, open_group: str, described_group: str, tmp_path: Path
) -> None:
    code, document = _document(secured, tmp_path, "delete", open_group, described_group)
    alone, _ = _document(secured, tmp_path, "delete", described_group)

    assert kind.read(secured.bootstrap, described_group) == {(open_topic, 0): 3}
    assert kind.read(secured.bootstrap, open_group) == {}
    statuses = {group["group"]: group["status"] for group in document["groups"]}
    assert statuses == {open_group: "done", described_group: "failed"}
    assert {(group, name) for group, _, name in _errors(document)} == {(described_group, "GROUP_AUTHORIZATION_FAILED")}
    assert "DELETE" in document["errors"][0]["message"]
    assert (code, alone) == (3, 1)


def test_offsets_are_deleted_with_delete_on_the_group_and_read_on_topics(
    secured: SecuredBroker,
    kind: Kind,
    open_topic: str,
    described_topic: str,
    open_group: str,
    described_group: str,
    tmp_path: Path,
) -> None:
    scope = ("--topic", open_topic, "--topic", described_topic)
    code, document = _document(secured, tmp_path, "delete-offsets", open_group, described_group, *scope)
    alone, _ = _document(secured, tmp_path, "delete-offsets", open_group, "--topic", described_topic)

    assert kind.read(secured.bootstrap, open_group) == {(described_topic, 0): 4}
    assert kind.read(secured.bootstrap, described_group) == {(open_topic, 0): 3}
    assert _statuses(document) == {
        (open_group, open_topic): "done",
        (open_group, described_topic): "failed",
        (described_group, open_topic): "failed",
    }
    assert {(group, name) for group, _, name in _errors(document)} == {
        (open_group, "TOPIC_AUTHORIZATION_FAILED"),
        (described_group, "GROUP_AUTHORIZATION_FAILED"),
    }
    texts = {error["name"]: error["message"] for error in document["errors"]}
    assert "READ" in texts["TOPIC_AUTHORIZATION_FAILED"]
    assert "DELETE" in texts["GROUP_AUTHORIZATION_FAILED"]
    assert (code, alone) == (3, 1)


def test_an_undo_restores_what_the_user_may_write_and_the_rest_later(
    secured: SecuredBroker,
    kind: Kind,
    open_topic: str,
    described_topic: str,
    open_group: str,
    described_group: str,
    tmp_path: Path,
) -> None:
    before = kind.read(secured.bootstrap, open_group)
    groups = (open_group, described_group)
    reset, _ = _document(secured, tmp_path, "reset", *groups, "--all-topics", "--to-latest", user="operator")
    (run_id,) = _run_ids(secured, tmp_path)
    code, document = _document(secured, tmp_path, "undo", run_id)

    assert kind.read(secured.bootstrap, open_group) == {(open_topic, 0): 3, (described_topic, 0): RECORDS}
    assert kind.read(secured.bootstrap, described_group) == {(open_topic, 0): RECORDS}
    assert _statuses(document) == {
        (open_group, open_topic): "done",
        (open_group, described_topic): "failed",
        (described_group, open_topic): "failed",
    }
    assert (reset, document["status"], code) == (0, "partial", 3)
    again, rest = _document(secured, tmp_path, "undo", run_id)
    assert (set(_statuses(rest).values()), again) == ({"failed"}, 1)
    last, whole = _document(secured, tmp_path, "undo", run_id, user="operator")
    assert (set(_statuses(whole).values()), last) == ({"done"}, 0)
    assert kind.read(secured.bootstrap, open_group) == before
    assert kind.read(secured.bootstrap, described_group) == {(open_topic, 0): 3}


def test_an_undo_of_a_deletion_restores_the_offsets_that_the_user_may_write(
    secured: SecuredBroker, kind: Kind, open_topic: str, described_topic: str, open_group: str, tmp_path: Path
) -> None:
    deleted, _ = _document(secured, tmp_path, "delete", open_group)
    code, document = _document(secured, tmp_path, "undo")

    assert kind.read(secured.bootstrap, open_group) == {(open_topic, 0): 3}
    assert _statuses(document) == {(open_group, open_topic): "done", (open_group, described_topic): "failed"}
    assert _errors(document) == {(open_group, described_topic, "TOPIC_AUTHORIZATION_FAILED")}
    assert (deleted, code) == (0, 3)


def _run_ids(secured: SecuredBroker, home: Path) -> list[str]:
    listing = json.loads(_run(secured, "undo", "--list", "--format", "json", home=home).stdout)
    return [listed["id"] for listed in listing["runs"]]


def test_a_share_offset_on_a_topic_without_describe_is_not_changed(
    secured: SecuredBroker, open_topic: str, hidden_topic: str, tmp_path: Path
) -> None:
    group = make_share(secured.bootstrap, {(open_topic, 0): 3, (hidden_topic, 0): 4})
    scope = ("--topic", open_topic, "--topic", hidden_topic)
    reset = _document(secured, tmp_path, "reset", group, "--all-topics", "--to-latest")
    assert start_offsets(secured.bootstrap, group) == {(open_topic, 0): RECORDS, (hidden_topic, 0): 4}
    named = _document(secured, tmp_path, "reset", group, *scope, "--to-earliest")
    deleted = _document(secured, tmp_path, "delete-offsets", group, *scope)

    assert start_offsets(secured.bootstrap, group) == {(hidden_topic, 0): 4}
    assert [_statuses(document) for _, document in (reset, named, deleted)] == [{(group, open_topic): "done"}] * 3
    denied: set[tuple[str | None, str | None, str]] = {(None, hidden_topic, "TOPIC_AUTHORIZATION_FAILED")}
    assert [_errors(document) for _, document in (reset, named, deleted)] == [set(), denied, denied]
    assert [code for code, _ in (reset, named, deleted)] == [0, 3, 3]


def test_an_undo_of_share_offsets_refuses_only_the_topic_without_describe(
    secured: SecuredBroker, open_topic: str, hidden_topic: str, tmp_path: Path
) -> None:
    group = make_share(secured.bootstrap, {(open_topic, 0): 3, (hidden_topic, 0): 4})
    _document(secured, tmp_path, "reset", group, "--all-topics", "--to-latest", user="operator")
    code, document = _document(secured, tmp_path, "undo")

    assert start_offsets(secured.bootstrap, group) == {(open_topic, 0): 3, (hidden_topic, 0): RECORDS}
    assert _statuses(document) == {(group, open_topic): "done", (group, hidden_topic): "refused"}
    assert _errors(document) == {(group, hidden_topic, "TOPIC_AUTHORIZATION_FAILED")}
    assert code == 3


@pytest.mark.parametrize("command", ["reset", "delete", "delete-offsets", "undo"])
def test_a_streams_group_with_a_topic_without_describe_is_not_changed(
    secured: SecuredBroker, open_topic: str, hidden_topic: str, command: str, tmp_path: Path
) -> None:
    before = {(open_topic, 0): 3, (hidden_topic, 0): 4}
    denied, other = make_streams(secured.bootstrap, before), make_streams(secured.bootstrap, {(open_topic, 0): 3})
    options = {"reset": ("--topic", open_topic, "--to-latest"), "delete-offsets": ("--topic", open_topic)}
    arguments = (command, denied, other, *options.get(command, ()))
    if command == "undo":
        _document(secured, tmp_path, "reset", denied, other, "--all-topics", "--to-latest", user="operator")
        before = dict.fromkeys(before, RECORDS)
        arguments = (command,)
    code, document = _document(secured, tmp_path, *arguments)
    alone, _ = _document(secured, tmp_path, "reset", denied, "--topic", open_topic, "--to-earliest")

    assert read_offsets(secured.bootstrap, denied) == before
    assert {group["group"] for group in document["groups"]} == {other}
    assert _errors(document) == {(denied, None, "TOPIC_AUTHORIZATION_FAILED")}
    assert (code, alone) == (3, 1)
