"""Undo of changes of the start offsets of share groups: what is restored, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.changes.deletion import DeletionRequest, plan_group_deletion
from kafka_groups.groups.notes import NoteKind
from kafka_groups.groups.selection import Selectors
from kafka_groups.protocol import Struct
from tests.changes.recorded_runs import change, take_back, undo
from tests.changes.share_groups import STARTS, delete_offsets, reasons, rows, share_cluster, start
from tests.fakes.reactions import ReceivedRequest
from tests.fakes.scripted_cluster import Group, ScriptedCluster


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    with share_cluster() as cluster:
        yield cluster


@pytest.fixture
def admin(cluster: ScriptedCluster) -> Iterator[GroupAdmin]:
    with cluster.admin() as admin:
        yield admin


@pytest.mark.parametrize("is_killed", [False, True])
def test_undo_restores_start_offsets_and_says_what_is_lost(
    cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path, *, is_killed: bool
) -> None:
    run_id = change(admin, tmp_path, start(0, 5, 20), start(2, None, 30), is_killed=is_killed)
    assert cluster.groups["s"].commits == {**STARTS, ("t", 0): 20, ("t", 2): 30}
    cluster.starts = {}
    planned = undo(admin, tmp_path, run_id)
    assert rows(planned) == [
        ("t-0", 20, 5, ""),
        ("t-2", 30, None, "removes the start offset: there was none before"),
    ]
    assert [note.kind for note in planned.notes] == [NoteKind.UNDO]
    assert "acknowledged records beyond the start offset are delivered again" in planned.notes[0].text
    assert take_back(admin, tmp_path, run_id) == ["done", "done"]
    assert cluster.groups["s"].commits == {**STARTS, ("t", 2): -1}
    assert cluster.requests()["DeleteShareGroupOffsets"] == 0


def test_undo_clamps_a_start_offset_that_is_below_the_log_now(admin: GroupAdmin, tmp_path: Path) -> None:
    run_id = change(admin, tmp_path, start(0, 5, 20))
    assert rows(undo(admin, tmp_path, run_id)) == [("t-0", 20, 10, "clamped from 5 to the log start offset")]
    assert take_back(admin, tmp_path, run_id) == ["done"]
    assert undo(admin, tmp_path, run_id).rows == {}


def test_undo_recreates_a_deleted_share_group_with_its_start_offsets(
    cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path
) -> None:
    planned = plan_group_deletion(admin, Selectors(named=("s",)), DeletionRequest())
    run_id = change(admin, tmp_path, *planned.changes())
    assert "s" not in cluster.groups
    cluster.starts = {}
    assert take_back(admin, tmp_path, run_id) == ["done"] * 3
    assert (cluster.groups["s"].type, cluster.groups["s"].commits) == ("Share", STARTS)


def test_undo_of_a_deletion_restores_all_start_offsets_of_the_topic(
    cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path
) -> None:
    cluster.starts = {}
    run_id = change(admin, tmp_path, *delete_offsets(admin, "t").changes())
    assert take_back(admin, tmp_path, run_id) == ["done", "done"]
    assert cluster.groups["s"].commits == STARTS


def test_undo_refuses_a_group_that_has_commits_now(cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path) -> None:
    run_id = change(admin, tmp_path, *delete_offsets(admin, "u").changes())
    cluster.groups["s"] = Group(state="Empty")
    planned = undo(admin, tmp_path, run_id)
    assert planned.changes() == []
    assert reasons(planned) == ["the change is one of a start offset, and the group has commits: its type is Classic"]


def test_undo_refuses_a_start_offset_whose_log_is_unknown(
    cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path
) -> None:
    run_id = change(admin, tmp_path, start(0, 5, 20))
    cluster.topics["t"] = {0: -1, 1: 2, 2: 1}
    planned = undo(admin, tmp_path, run_id)
    assert reasons(planned) == ["its log offsets are unknown, so the start offset may be outside of the log"]


def test_undo_says_why_the_log_of_a_start_offset_is_unknown(
    cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path
) -> None:
    run_id = change(admin, tmp_path, start(0, 5, 20))
    cluster.script("Metadata", _deny_topics)
    (failure,) = undo(admin, tmp_path, run_id).refusals()
    assert (failure.name, failure.group, failure.topic) == ("TOPIC_AUTHORIZATION_FAILED", "s", "t")


def _deny_topics(_request: ReceivedRequest, response: Struct) -> Struct:
    denied_topics = [{**topic, "error_code": 29, "partitions": []} for topic in response["topics"]]
    return {**response, "topics": denied_topics}
