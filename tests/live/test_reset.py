"""Executed resets: what is committed, what is refused or fails beside it, and what is read again before it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.changes.change import Status
from tests.live.groups.changes import reset_to, run_on_terminal, statuses_of
from tests.live.groups.clients import read_commits, read_offsets, run_command
from tests.live.groups.members import commit_from_outside, empty, simple, stable
from tests.live.groups.raw_connection import commit_annotated
from tests.live.groups.topics import delete_topic, make_topic, unique_name

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = pytest.mark.live

EXECUTE = ("--execute", "--yes")


@pytest.fixture(scope="module")
def topic(cluster: Cluster) -> str:
    return make_topic(cluster.bootstrap, partitions=3, records=9)


def test_offsets_are_committed_with_no_epoch_and_no_metadata(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    name = unique_name("annotated")
    commit_annotated(
        cluster.bootstrap, name, topic, partition=0, offset=3, leader_epoch=0, metadata="by the nightly job"
    )
    result = run_command(
        cluster.bootstrap, "reset", name, "--topic", f"{topic}:0,1", "--to-offset", "5", *EXECUTE, home=tmp_path
    )

    commits = read_commits(cluster.bootstrap, name)
    assert {key: tuple(commit) for key, commit in commits.items()} == {
        (topic, 0): (5, None, ""),
        (topic, 1): (5, None, ""),
    }
    assert [row[-1] for row in result.rows] == ["STATUS", "done", "done"]
    assert result.code == 0


@pytest.mark.parametrize("is_kip_848", [False, True], ids=["classic", "KIP-848"])
def test_a_group_whose_members_left_is_reset(cluster: Cluster, topic: str, tmp_path: Path, is_kip_848: bool) -> None:
    commits = [(topic, 0, 3), (topic, 2, 4)]
    with empty(cluster.bootstrap, topic, commits=commits, consumer_protocol=is_kip_848) as name:
        result = run_command(cluster.bootstrap, "reset", name, "--all-topics", "--shift-by=-1", *EXECUTE, home=tmp_path)
        assert read_offsets(cluster.bootstrap, name) == {(topic, 0): 2, (topic, 2): 3}
    assert (result.code, "2 records to read again" in result.err) == (0, True)


def test_without_execute_nothing_is_committed_nor_recorded(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    with simple(cluster.bootstrap, commits=[(topic, 0, 3)]) as name:
        planned = run_command(cluster.bootstrap, "reset", name, "--all-topics", "--to-latest", home=tmp_path)
        asks = run_command(cluster.bootstrap, "reset", name, "--all-topics", "--to-latest", "--execute", home=tmp_path)
        assert read_offsets(cluster.bootstrap, name) == {(topic, 0): 3}
    assert planned.notes[-1] == "Nothing was changed; --execute makes these changes."
    assert (planned.code, asks.code, list(tmp_path.iterdir())) == (0, 2, [])
    assert "--execute needs --yes here" in asks.err


def test_an_absent_group_is_created_only_with_create_and_undo_deletes_its_commits(
    cluster: Cluster, topic: str, tmp_path: Path
) -> None:
    name = unique_name("created")
    arguments = ("reset", name, "--topic", topic, "--to-offset", "4", *EXECUTE)
    refused = run_command(cluster.bootstrap, *arguments, home=tmp_path)
    assert read_offsets(cluster.bootstrap, name) == {}
    created = run_command(cluster.bootstrap, *arguments, "--create", home=tmp_path)
    assert read_offsets(cluster.bootstrap, name) == {(topic, number): 4 for number in range(3)}
    undone = run_command(cluster.bootstrap, "undo", *EXECUTE, home=tmp_path)

    assert read_offsets(cluster.bootstrap, name) == {}
    assert (refused.code, created.code, undone.code) == (1, 0, 0)
    assert f"group '{name}'" in refused.err
    assert "--create" in refused.err
    assert "3 commits to delete" in undone.err


def test_one_group_fails_and_the_other_is_reset(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    with (
        simple(cluster.bootstrap, commits=[(topic, 0, 3)]) as first,
        stable(cluster.bootstrap, topic, commits=[(topic, 0, 3)]) as active,
    ):
        both = run_command(
            *(cluster.bootstrap, "reset", first, active, "--all-topics", "--to-latest", *EXECUTE, "--format", "json"),
            home=tmp_path,
        )
        alone = run_command(cluster.bootstrap, "reset", active, "--all-topics", "--to-latest", *EXECUTE, home=tmp_path)
        offsets = [read_offsets(cluster.bootstrap, name) for name in (first, active)]
    assert offsets == [{(topic, 0): 9}, {(topic, 0): 3}]
    assert [(error["group"], error["name"]) for error in both.json["errors"]] == [(active, "NON_EMPTY_GROUP")]
    assert (both.json["status"], both.code, alone.code) == ("partial", 3, 1)


def test_a_partition_that_the_broker_refuses_does_no_harm_to_the_others(
    cluster: Cluster, topic: str, tmp_path: Path
) -> None:
    deleted = make_topic(cluster.bootstrap, partitions=2, records=9)
    with simple(cluster.bootstrap, commits=[(topic, 0, 3)]) as name:
        execution = reset_to(
            cluster.bootstrap,
            tmp_path,
            name,
            {topic: [0, 1], deleted: [0, 1]},
            7,
            between=lambda: delete_topic(cluster.bootstrap, deleted),
        )
        assert read_offsets(cluster.bootstrap, name) == {(topic, 0): 7, (topic, 1): 7}
    done, failed = (Status.DONE, None), (Status.FAILED, "UNKNOWN_TOPIC_ID")
    assert sorted(statuses_of(execution)) == [done, done, failed, failed]


@pytest.mark.parametrize("is_kip_848", [False, True], ids=["classic", "KIP-848"])
def test_a_member_that_joins_between_plan_and_commit_keeps_its_commits(
    cluster: Cluster, topic: str, tmp_path: Path, is_kip_848: bool
) -> None:
    name = unique_name("joining")
    commit_from_outside(cluster.bootstrap, [name], [(topic, 0, 3), (topic, 1, 3)])
    with ExitStack() as stack:

        def join() -> None:
            stack.enter_context(stable(cluster.bootstrap, topic, name=name, consumer_protocol=is_kip_848))

        execution = reset_to(cluster.bootstrap, tmp_path, name, {topic: [0, 1]}, 7, between=join)
        offsets = read_offsets(cluster.bootstrap, name)
    assert offsets == {(topic, 0): 3, (topic, 1): 3}
    assert statuses_of(execution) == [(Status.FAILED, "UNKNOWN_MEMBER_ID")] * 2
    # One line for the group, not one for each partition.
    assert [(each.group, each.partition) for each in execution.failures] == [(name, None)]


def test_a_member_that_joins_during_the_question_is_seen_before_anything_is_committed(
    cluster: Cluster, topic: str, tmp_path: Path
) -> None:
    name = unique_name("joining")
    commit_from_outside(cluster.bootstrap, [name], [(topic, 0, 3)])
    with ExitStack() as stack:
        result = run_on_terminal(
            *(cluster.bootstrap, "reset", name, "--all-topics", "--to-latest", "--execute"),
            home=tmp_path,
            answer="y",
            before_answer=lambda: stack.enter_context(stable(cluster.bootstrap, topic, name=name)),
        )
        assert read_offsets(cluster.bootstrap, name) == {(topic, 0): 3}
    assert f"group '{name}': it is Stable with 1 member on 127.0.0.1" in result.err
    assert result.notes[-1].startswith("Nothing was changed; the attempt is recorded as ")
    assert result.code == 1
    assert [row[-1] for row in result.rows] == ["STATUS", "refused"]


@pytest.mark.parametrize(("answer", "offset", "code"), [("y", 9, 0), ("n", 3, 1), ("", 3, 1)])
def test_the_question_on_a_terminal_decides(
    cluster: Cluster, topic: str, tmp_path: Path, answer: str, offset: int, code: int
) -> None:
    with simple(cluster.bootstrap, commits=[(topic, 0, 3)]) as name:
        result = run_on_terminal(
            *(cluster.bootstrap, "reset", name, "--all-topics", "--to-latest", "--execute"),
            home=tmp_path,
            answer=answer,
        )
        assert read_offsets(cluster.bootstrap, name) == {(topic, 0): offset}
    assert "1 group, 1 partition, 0 records to read again, 6 records to skip." in result.err
    assert result.code == code
