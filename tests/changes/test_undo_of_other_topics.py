"""The undo of changes whose topics or transactions are not those of the run any more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.changes.change import PlannedGroups
from kafka_groups.changes.journal_location import LocalJournal
from kafka_groups.changes.runs import read_run
from kafka_groups.changes.undo import plan_undo
from kafka_groups.groups.notes import NoteKind
from tests.changes.executions import TOPICS, MemoryJournal, commit, execute_groups, names, offsets, statuses
from tests.changes.recorded_runs import change, undo
from tests.changes.test_undo import BEFORE, MOVED, back
from tests.fakes.scripted_cluster import Commit, Group, ScriptedCluster


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Group `a` with a commit that has an epoch and metadata."""
    groups = {"a": Group(state="Empty", commits={("t", 0): BEFORE})}
    with ScriptedCluster(brokers=2, groups=groups, topics=TOPICS) as cluster:
        yield cluster


@pytest.fixture
def admin(cluster: ScriptedCluster) -> Iterator[GroupAdmin]:
    with cluster.admin() as admin:
        yield admin


@pytest.mark.parametrize("force", [False, True])
def test_a_commit_of_a_topic_that_was_recreated_is_not_restored(
    cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path, force: bool
) -> None:
    run_id = change(admin, tmp_path, MOVED, commit("a", None, 4, topic="u"))
    cluster.recreations["t"] = 1
    planned = plan_undo(admin, read_run(LocalJournal(tmp_path), run_id), force=force)
    assert [why.name for why in planned.refusals()] == ["TOPIC_RECREATED"]
    assert back(planned) == [("delete_offsets", 4, None, "deletes the commit: there was none before")]


def test_a_topic_that_is_recreated_after_the_plan_is_refused_by_the_broker(
    cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path
) -> None:
    run_id = change(admin, tmp_path, MOVED)
    planned = undo(admin, tmp_path, run_id)

    def recreate(plan: PlannedGroups) -> MemoryJournal:
        cluster.recreations["t"] = 1
        return MemoryJournal().begin(plan)

    execution = execute_groups(admin, planned, recreate)
    assert (statuses(execution), names(execution)) == (["failed"], [("a", 0, "UNKNOWN_TOPIC_ID")])
    assert offsets(cluster, "a") == {("t", 0): 1}


def test_a_topic_whose_id_is_unknown_is_a_note(admin: GroupAdmin, tmp_path: Path) -> None:
    run_id = change(admin, tmp_path, MOVED._replace(topic_id=None))
    planned = undo(admin, tmp_path, run_id)
    assert back(planned) == [("commit", 1, 5, "topic id unknown")]
    assert planned.notes[-1].kind is NoteKind.TOPIC_IDS_UNKNOWN
    assert planned.notes[-1].text.startswith("The id of 1 topic is unknown (Kafka before 2.8")


def test_a_row_whose_topic_is_deleted_is_refused_in_the_plan_and_the_others_are_restored(
    cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path
) -> None:
    cluster.groups["a"].commits = {("t", 0): BEFORE, ("u", 0): 7}
    run_id = change(admin, tmp_path, MOVED, commit("a", 7, 1, topic="u"))
    del cluster.topics["u"]
    planned = undo(admin, tmp_path, run_id)
    assert [(why.topic, why.name) for why in planned.refusals()] == [("u", "UNKNOWN_TOPIC_OR_PARTITION")]
    assert back(planned) == [("commit", 1, 5, "")]


def test_a_row_whose_partition_has_no_leader_is_restored_with_a_note(
    cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path
) -> None:
    run_id = change(admin, tmp_path, MOVED)
    cluster.topics["t"] = {0: -1}
    ((_, _, restored, note),) = back(undo(admin, tmp_path, run_id))
    assert (restored, note) == (5, "log end offset unknown: the partition has no leader")


@pytest.mark.parametrize("force", [False, True])
def test_a_commit_of_an_open_transaction_is_refused_by_name(
    cluster: ScriptedCluster, admin: GroupAdmin, tmp_path: Path, force: bool
) -> None:
    run_id = change(admin, tmp_path, MOVED)
    cluster.groups["a"].commits = {("t", 0): Commit(1, error=88)}
    planned = plan_undo(admin, read_run(LocalJournal(tmp_path), run_id), force=force)
    assert [why.name for why in planned.refusals()] == ["UNSTABLE_OFFSET_COMMIT"]
    assert len(cluster.requests_of("OffsetFetch")) == 2
