"""Each change once on brokers of 2.5, 2.8 and 4.4: one group a request, or DeleteGroups version 3."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from kafka_groups.changes.deletion import DeletionRequest, plan_group_deletion
from kafka_groups.groups.selection import Selectors
from tests.live.groups.changes import execute
from tests.live.groups.clients import list_member_ids, open_admin, read_commits, read_offsets, run_command
from tests.live.groups.members import many_simple, simple, stable
from tests.live.groups.raw_connection import commit_annotated
from tests.live.groups.tables import group_options, sorted_words
from tests.live.groups.topics import make_topic, unique_name

if TYPE_CHECKING:
    from tests.live.conftest import Cluster, KafkaTool

pytestmark = pytest.mark.live

EXECUTE: Final = ("--execute", "--yes")


@pytest.fixture(scope="module", params=["kafka_4_4", "kafka_2_8", "kafka_2_5"])
def broker(request: pytest.FixtureRequest) -> Cluster:
    """Return a broker of each version in turn."""
    cluster: Cluster = request.getfixturevalue(request.param)
    return cluster


@pytest.fixture(scope="module")
def topic(broker: Cluster) -> str:
    return make_topic(broker.bootstrap, partitions=2, records=9)


def test_groups_are_reset_and_restored_with_epoch_and_metadata(broker: Cluster, topic: str, tmp_path: Path) -> None:
    annotated = unique_name("annotated")
    commit_annotated(broker.bootstrap, annotated, topic, partition=1, offset=4, leader_epoch=0, metadata="nightly")
    with many_simple(broker.bootstrap, 3, commits=[(topic, 0, 3)]) as simple_groups:
        groups = [*simple_groups, annotated]
        before = [read_commits(broker.bootstrap, name) for name in groups]
        changed = run_command(
            broker.bootstrap, "reset", *groups, "--topic", topic, "--to-offset", "7", *EXECUTE, home=tmp_path
        )
        after = [read_offsets(broker.bootstrap, name) for name in groups]
        undone = run_command(broker.bootstrap, "undo", *EXECUTE, home=tmp_path)
        restored = [read_commits(broker.bootstrap, name) for name in groups]
    assert (changed.code, after) == (0, [{(topic, 0): 7, (topic, 1): 7}] * 4), changed.err
    assert (undone.code, restored) == (0, before), undone.err


def test_a_plan_is_that_of_the_brokers_own_tool(broker: Cluster, topic: str, kafka_tool: KafkaTool) -> None:
    with many_simple(broker.bootstrap, 2, commits=[(topic, 0, 3), (topic, 1, 8)]) as groups:
        arguments = [*group_options(groups), "--all-topics", "--shift-by", "2"]
        theirs, _, _ = kafka_tool(broker, "--reset-offsets", *arguments, "--dry-run")
        ours = run_command(broker.bootstrap, "reset", *arguments, "--format", "kafka")
    # Older tools pad otherwise.
    assert sorted_words(ours.out) == sorted_words(theirs)
    assert ours.code == 0


def test_groups_are_deleted_and_restored(broker: Cluster, topic: str, tmp_path: Path) -> None:
    with many_simple(broker.bootstrap, 3, commits=[(topic, 0, 3), (topic, 1, 0)]) as groups:
        absent = unique_name("absent")
        deleted = run_command(broker.bootstrap, "delete", *groups, absent, *EXECUTE, home=tmp_path)
        with open_admin(broker.bootstrap) as admin:
            listed = {*admin.list_groups().all()}
        undone = run_command(broker.bootstrap, "undo", *EXECUTE, home=tmp_path)
        restored = [read_offsets(broker.bootstrap, name) for name in groups]
    assert (deleted.code, {*groups} & listed) == (3, set())
    assert f"group '{absent}'" in deleted.err
    assert (undone.code, restored) == (0, [{(topic, 0): 3, (topic, 1): 0}] * 3)


def test_commits_of_a_live_group_are_deleted(broker: Cluster, topic: str, tmp_path: Path) -> None:
    other = make_topic(broker.bootstrap, records=9)
    with stable(broker.bootstrap, other, commits=[(topic, 0, 3), (other, 0, 2)]) as name:
        result = run_command(
            *(broker.bootstrap, "delete-offsets", name, "--topic", topic, "--topic", other, *EXECUTE), home=tmp_path
        )
        assert read_offsets(broker.bootstrap, name) == {(other, 0): 2}
    assert ("GROUP_SUBSCRIBED_TO_TOPIC" in result.err, result.code) == (True, 3)


def test_a_static_member_is_removed(broker: Cluster, topic: str, tmp_path: Path) -> None:
    with stable(broker.bootstrap, topic, members=2, is_static=True) as name:
        before = list_member_ids(broker.bootstrap, name)
        arguments = ("remove-members", "--group", name, "--instance", f"{name}-i1")
        result = run_command(broker.bootstrap, *arguments, *EXECUTE, home=tmp_path)
        after = list_member_ids(broker.bootstrap, name)
    assert ([row[1:] for row in result.rows[1:]], result.code) == (
        [[before[f"{name}-c1"], f"{name}-i1", "done"]],
        0,
    )
    assert before[f"{name}-c1"] not in after.values()


def test_the_response_of_kafka_4_4_has_a_message_field_and_its_refusals_are_shown(
    kafka_4_4: Cluster, tmp_path: Path
) -> None:
    topic = make_topic(kafka_4_4.bootstrap, records=9)
    with simple(kafka_4_4.bootstrap, commits=[(topic, 0, 3)]) as name:
        joined = stable(kafka_4_4.bootstrap, topic, name=name)
        with open_admin(kafka_4_4.bootstrap) as admin:
            planned = plan_group_deletion(admin, Selectors(named=(name,)), DeletionRequest())
            try:
                execution = execute(admin, planned, tmp_path, command="delete", between=joined.__enter__)
            finally:
                joined.__exit__(None, None, None)
            assert admin.requests_sent["DeleteGroups", 3] == 1
    (failure,) = execution.failures
    # A message comes with GROUP_DELETION_FAILED only; others have Kafka's sentence for the code.
    assert (failure.name, failure.message) == ("NON_EMPTY_GROUP", "the group is not empty: it has members")
