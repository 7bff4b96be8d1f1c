"""The keys of every JSON document. They are an interface: keys may be added, never removed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, member, unreachable

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

TOP = {"schema", "status", "groups", "notes", "errors"}
NOTE = {"kind", "cluster", "group", "text"}
ERROR = {"cluster", "group", "topic", "partition", "broker", "code", "name", "message"}
# The first keys of a group, and of a line.
GROUP = {"cluster", "cluster_id", "group"}
LISTING = GROUP | {"type", "state", "protocol_type"}
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
RETENTION = {"messages_lost", "retention_margin", "retention_margin_percent"}
TIME = {"time_lag_ms", "time_lag_quality"}
TOTAL = {"lag", "readable_lag", "partitions_behind", "uncommitted_partitions", "note", "isolation"} | RETENTION | TIME
PACE = {"consume_rate", "produce_rate", "trend", "catch_up_ms", "lags", "verdict", "rule", "verdict_since", "at"}
LAG = GROUP | {"state", "members"} | TOTAL
OWNER = {"member_id", "host", "client_id"}
LOG = {"committed_offset", "log_start_offset", "log_end_offset"}
LAG_PARTS = {
    "group": set(),
    "topic": TOTAL | {"topic"},
    "member": TOTAL | OWNER,
    "partition": RETENTION | TIME | OWNER | LOG | {"topic", "partition", "lag", "readable_lag", "note", "isolation"},
}
DIAGNOSIS = GROUP | {
    *("type", "state", "members", "lag", "uncommitted_partitions", "polls", "first_poll", "last_poll"),
    *("findings", "checked", "untested", "unexplained", "unseen"),
}
FINDING = {
    *("rank", "cause", "kind", "certainty", "lag", "since", "summary", "refuted_by", "next_step", "next_command"),
    *("partitions", "evidence"),
}
FACT = {"text", "at", "topic", "partition", "offset", "member_id", "client_id", "host", "epoch", "broker"}
ORPHAN = {"topic", "partition", "committed_offset", "reason"}
RESET = {"topic", "partition", "committed_offset", "new_offset", "delta", "note", "status"}
DELETED_COMMIT = {"topic", "partition", "committed_offset", "note", "status"}
REMOVED_MEMBER = {"member_id", "group_instance_id", "note", "status"}
RUN = {
    "id",
    "created_at",
    "command",
    "cluster_id",
    "bootstrap_servers",
    "user",
    "host",
    "groups",
    "changes",
    "undoes",
    "rows",
    "status",
}
EXECUTE = ("--execute", "--yes")
STATE = LISTING | {"coordinator", "assignor", "group_epoch", "target_assignment_epoch"}


@pytest.fixture(autouse=True)
def no_pauses(mocker: MockerFixture) -> None:
    """Let polls of `why` follow each other at once."""
    mocker.patch("kafka_groups.commands.why_run.pause")


@pytest.fixture(autouse=True)
def one_group(cluster: FakeCluster) -> None:
    """Add a group with a member and a commit, and one with a commit only."""
    cluster.add("g", state="Stable", members=[member("m", {"t": (0,)})], commits={("t", 0): 1})
    cluster.add("idle", commits={("t", 0): 1})
    cluster.end("t", 3, starts=(0,))


def document_of(*arguments: str) -> dict[str, Any]:
    """Return the JSON document that a command prints."""
    document: dict[str, Any] = json.loads(run(*arguments, "--format", "json").stdout)
    return document


def row_of(*arguments: str) -> dict[str, Any]:
    """Return the first line that a command prints as ndjson."""
    row: dict[str, Any] = json.loads(run(*arguments, "--format", "ndjson").stdout.splitlines()[0])
    return row


@pytest.mark.parametrize("command", ["list", "describe", "offsets", "lag", "why", "orphans"])
def test_every_note_has_these_keys(command: str) -> None:
    assert [set(note) for note in document_of(command, "--match", "nope")["notes"]] == [NOTE]


@pytest.mark.parametrize("command", ["list", "describe", "offsets", "lag", "why", "orphans"])
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
    assert set(group) == STATE | {"offsets", "members", "topology"}
    assert set(group["coordinator"]) == {"id", "host", "port"}
    assert set(group["offsets"][0]) == OFFSET
    assert set(group["members"][0]) == MEMBER
    assert set(group["members"][0]["assignment"][0]) == ASSIGNMENT


def test_a_line_of_describe_has_the_keys_of_its_view() -> None:
    assert set(row_of("describe", "g")) == OFFSET | GROUP
    assert set(row_of("describe", "g", "--members")) == MEMBER | GROUP
    assert set(row_of("describe", "g", "--state")) == STATE | {"members"}


def test_list_of_a_topic_has_these_keys() -> None:
    keys = LISTING | {"members", "committed_partitions"}
    assert set(document_of("list", "--topic", "t")["groups"][0]) == keys
    assert set(row_of("list", "--topic", "t")) == keys


@pytest.mark.parametrize("by", LAG_PARTS)
def test_lag_has_these_keys(by: str) -> None:
    group = document_of("lag", "g", "--by", by)["groups"][0]
    assert set(group) == LAG | PACE | {"by", "rows"}
    # The isolation of the parts is that of the group.
    assert [set(row) for row in group["rows"]] == [LAG_PARTS[by] - {"isolation"}] * (by != "group")
    assert set(row_of("lag", "g", "--by", by)) == (LAG_PARTS[by] | GROUP if by != "group" else LAG)


def test_lag_with_a_history_and_wait_have_these_keys(cluster: FakeCluster, tmp_path: Path) -> None:
    cluster.admin.cluster_id.side_effect = lambda **_: "cluster-1"
    history = ("--polls", str(tmp_path / "history"))
    assert set(document_of("lag", "g", *history)["groups"][0]) == LAG | PACE | {"by", "rows"}
    assert set(row_of("lag", "g", *history)) == LAG | PACE
    assert set(row_of("lag", "g", "--watch", "1s", "--samples", "1")) == LAG | PACE
    until = ("--until", "lag>=0")
    assert set(document_of("wait", "g", *until)["groups"][0]) == LAG | PACE | {"by", "rows"}
    assert set(row_of("wait", "g", *until)) == LAG


def test_why_has_these_keys() -> None:
    group = document_of("why", "idle")["groups"][0]
    (finding,) = group["findings"]
    assert set(group) == DIAGNOSIS
    assert (set(finding), set(finding["since"]), set(finding["evidence"][0])) == (FINDING, {"earliest", "latest"}, FACT)
    assert set(row_of("why", "idle")) == FINDING | GROUP | {"at"}


def test_orphans_has_these_keys(cluster: FakeCluster) -> None:
    cluster.add("h", commits={("gone", 0): 1})
    group = document_of("orphans", "h")["groups"][0]
    assert (set(group), set(group["offsets"][0])) == (GROUP | {"offsets"}, ORPHAN)
    assert set(row_of("orphans", "h")) == ORPHAN | GROUP


def test_offsets_has_these_keys() -> None:
    group = document_of("offsets", "g")["groups"][0]
    assert (set(group), set(group["offsets"][0])) == (GROUP | {"offsets"}, COMMIT)
    assert set(row_of("offsets", "g")) == COMMIT | GROUP


CHANGES = {
    "reset": ("reset", "idle", "--topic", "t", "--to-latest"),
    "delete": ("delete", "idle"),
    "delete-offsets": ("delete-offsets", "idle", "--topic", "t"),
    "remove-members": ("remove-members", "--group", "g", "--all"),
}


@pytest.mark.parametrize("command", CHANGES)
def test_documents_of_changes_have_the_same_keys_as_all_others(cluster: FakeCluster, command: str) -> None:
    assert set(document_of(*CHANGES[command])) == TOP
    cluster.refuse(unreachable())
    failed = document_of(*CHANGES[command])
    assert (set(failed), set(failed["errors"][0])) == (TOP, ERROR)


@pytest.mark.parametrize("execute", [(), EXECUTE])
@pytest.mark.parametrize(
    ("command", "group", "key", "row"),
    [
        ("reset", GROUP, "offsets", RESET),
        ("delete", GROUP | {"note", "status"}, "offsets", {"topic", "partition", "committed_offset"}),
        ("delete-offsets", GROUP, "offsets", DELETED_COMMIT),
        ("remove-members", GROUP, "members", REMOVED_MEMBER),
    ],
)
def test_changes_have_these_keys(
    cluster: FakeCluster, command: str, group: set[str], key: str, row: set[str], execute: tuple[str, ...]
) -> None:
    found = document_of(*CHANGES[command], *execute)["groups"][0]
    assert (set(found), set(found[key][0])) == (group | {key}, row)
    cluster.add("idle", commits={("t", 0): 1})
    cluster.add("g", state="Stable", members=[member("m", {"t": (0,)})])
    line = group if command == "delete" else row | GROUP
    assert set(row_of(*CHANGES[command])) == line


def test_undo_and_its_list_have_these_keys() -> None:
    document_of(*CHANGES["reset"], *EXECUTE)
    group = document_of("undo")["groups"][0]
    assert (set(group), set(group["offsets"][0])) == (GROUP | {"offsets"}, RESET)
    listed = document_of("undo", "--list")
    assert (set(listed), set(listed["runs"][0])) == ({"schema", "runs", "notes"}, RUN)
    assert set(row_of("undo", "--list")) == RUN
    assert set(listed["runs"][0]["rows"]) == {"planned", "done", "refused", "failed", "unknown"}
