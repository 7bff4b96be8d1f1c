"""The keys of every JSON document. They are an interface: keys may be added, never removed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fakes.fake_admin import FakeCluster, member, run, unreachable

TOP = {"schema", "status", "groups", "errors"}
ERROR = {"group", "topic", "partition", "broker", "code", "name", "message"}
LISTING = {"group", "type", "state", "protocol_type"}
COMMIT = {"topic", "partition", "committed_offset", "leader_epoch", "metadata"}
OFFSET = COMMIT | {"log_start_offset", "log_end_offset", "lag", "member_id", "host", "client_id"}
ASSIGNMENT = {"topic", "partitions"}
MEMBER = {
    "member_id",
    "group_instance_id",
    "host",
    "client_id",
    "epoch",
    "assignment",
    "target_epoch",
    "target_assignment",
    "upgraded",
}
STATE = LISTING | {"coordinator", "assignor", "group_epoch", "target_assignment_epoch"}


@pytest.fixture(autouse=True)
def one_group(cluster: FakeCluster) -> None:
    """Add a group with a member and a commit."""
    cluster.add("g", state="Stable", members=[member("m", {"t": (0,)})], commits={("t", 0): 1})
    cluster.end("t", 3)


def document_of(*arguments: str) -> dict[str, Any]:
    """Return the JSON document that a command prints."""
    document: dict[str, Any] = json.loads(run(*arguments, "--format", "json").stdout)
    return document


def row_of(*arguments: str) -> dict[str, Any]:
    """Return the first line that a command prints as ndjson."""
    row: dict[str, Any] = json.loads(run(*arguments, "--format", "ndjson").stdout.splitlines()[0])
    return row


@pytest.mark.parametrize("command", ["list", "describe", "offsets"])
def test_complete_partial_and_failed_documents_have_the_same_keys(cluster: FakeCluster, command: str) -> None:
    assert set(document_of(command, "g")) == TOP
    partial = document_of(command, "g", "nope")
    assert (set(partial), set(partial["errors"][0])) == (TOP, ERROR)
    cluster.refuse(unreachable())
    failed = document_of(command, "g")
    assert (set(failed), set(failed["errors"][0])) == (TOP, ERROR)


def test_list_has_these_keys() -> None:
    assert set(document_of("list")["groups"][0]) == LISTING
    assert set(row_of("list")) == LISTING


@pytest.mark.parametrize("view", ["--offsets", "--members", "--state"])
def test_describe_has_these_keys_in_every_view(view: str) -> None:
    group = document_of("describe", "g", view)["groups"][0]
    assert set(group) == STATE | {"offsets", "members"}
    assert set(group["coordinator"]) == {"id", "host", "port"}
    assert set(group["offsets"][0]) == OFFSET
    assert set(group["members"][0]) == MEMBER
    assert set(group["members"][0]["assignment"][0]) == ASSIGNMENT


def test_a_line_of_describe_has_the_keys_of_its_view() -> None:
    assert set(row_of("describe", "g")) == OFFSET | {"group"}
    assert set(row_of("describe", "g", "--members")) == MEMBER | {"group"}
    assert set(row_of("describe", "g", "--state")) == STATE | {"members"}


def test_offsets_has_these_keys() -> None:
    group = document_of("offsets", "g")["groups"][0]
    assert (set(group), set(group["offsets"][0])) == ({"group", "offsets"}, COMMIT)
    assert set(row_of("offsets", "g")) == COMMIT | {"group"}
