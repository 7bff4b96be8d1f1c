"""Undo of every kind of change on real brokers: offsets, leader epochs, metadata, and no commit where none was."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kafka_groups.changes.change import PlannedGroups, Status
from kafka_groups.changes.deletion import DeletionRequest, plan_group_deletion
from kafka_groups.changes.journal_location import LocalJournal
from kafka_groups.changes.offset_deletion import plan_offset_deletion
from kafka_groups.changes.reset import ResetRequest, plan_reset
from kafka_groups.changes.runs import list_runs, read_run
from kafka_groups.changes.specifications.log_offsets import ToEarliest, ToLatest, ToOffset
from kafka_groups.changes.specifications.own_commits import ShiftBy
from kafka_groups.changes.specifications.specification import Specification
from kafka_groups.changes.undo import plan_undo
from kafka_groups.groups.selection import Selectors
from kafka_groups.model import CommittedOffset
from tests.live.groups.changes import execute, journal_of
from tests.live.groups.clients import open_admin, read_commits, read_offsets, run_command
from tests.live.groups.members import commit_from_outside, simple, stable
from tests.live.groups.topics import make_topic, unique_name

if TYPE_CHECKING:
    from kafka_groups.admin import GroupAdmin
    from tests.live.conftest import Cluster

pytestmark = pytest.mark.live

EXECUTE: Final = ("--execute", "--yes")
PARTITIONS: Final = 3
RECORDS: Final = 9


@pytest.fixture(scope="module")
def topic(cluster: Cluster) -> str:
    return make_topic(cluster.bootstrap, partitions=PARTITIONS, records=RECORDS)


def test_a_reset_is_undone_and_the_undo_as_well(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    with simple(cluster.bootstrap, commits=[(topic, 0, 3), (topic, 1, 4)]) as name:
        changed = run_command(
            cluster.bootstrap, "reset", name, "--topic", topic, "--to-latest", *EXECUTE, home=tmp_path
        )
        planned = run_command(cluster.bootstrap, "undo", home=tmp_path)
        assert read_offsets(cluster.bootstrap, name) == dict.fromkeys([(topic, at) for at in range(PARTITIONS)], 9)
        undone = run_command(cluster.bootstrap, "undo", *EXECUTE, home=tmp_path)
        assert read_offsets(cluster.bootstrap, name) == {(topic, 0): 3, (topic, 1): 4}
        listed = run_command(cluster.bootstrap, "undo", "--list", "--format", "json", home=tmp_path)
        nothing = run_command(cluster.bootstrap, "undo", *EXECUTE, home=tmp_path)
        undo, reset = listed.json["runs"]
        again = run_command(cluster.bootstrap, "undo", undo["id"], *EXECUTE, home=tmp_path)
        assert read_offsets(cluster.bootstrap, name) == dict.fromkeys([(topic, at) for at in range(PARTITIONS)], 9)
    assert [row[2:] for row in planned.rows[1:]] == [row[2:-1] for row in undone.rows[1:]]
    assert (reset["command"], reset["status"], undo["command"]) == ("reset", "undone", "undo")
    assert f"`kafka-groups undo {reset['id']}` takes it back." in changed.err
    assert [result.code for result in (changed, planned, undone, nothing, again)] == [0, 0, 0, 1, 0]


def test_a_partition_that_has_moved_since_is_refused_and_the_others_are_restored(
    cluster: Cluster, topic: str, tmp_path: Path
) -> None:
    with simple(cluster.bootstrap, commits=[(topic, 0, 3), (topic, 1, 4)]) as name:
        run_command(cluster.bootstrap, "reset", name, "--all-topics", "--to-latest", *EXECUTE, home=tmp_path)
        commit_from_outside(cluster.bootstrap, [name], [(topic, 1, 5)])
        result = run_command(cluster.bootstrap, "undo", *EXECUTE, home=tmp_path)
        assert read_offsets(cluster.bootstrap, name) == {(topic, 0): 3, (topic, 1): 5}
    assert "it has moved since: the run left 9, and it is 5 now" in result.err
    assert sorted(row[-1] for row in result.rows[1:]) == ["done", "refused"]
    assert result.code == 3


def test_a_group_with_members_is_refused_until_they_leave(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    with simple(cluster.bootstrap, commits=[(topic, 0, 3)]) as name:
        run_command(cluster.bootstrap, "delete", name, *EXECUTE, home=tmp_path)
        with stable(cluster.bootstrap, topic, name=name):
            refused = run_command(cluster.bootstrap, "undo", *EXECUTE, home=tmp_path)
        undone = run_command(cluster.bootstrap, "undo", *EXECUTE, home=tmp_path)
        assert read_offsets(cluster.bootstrap, name) == {(topic, 0): 3}
    assert f"Error: group '{name}': it is Stable with 1 member on 127.0.0.1" in refused.err
    assert (refused.code, undone.code) == (1, 0)


def test_the_newest_run_of_another_cluster_is_passed_over(
    cluster: Cluster, kafka_2_8: Cluster, topic: str, tmp_path: Path
) -> None:
    old_topic = make_topic(kafka_2_8.bootstrap, records=RECORDS)
    arguments = ("--all-topics", "--to-latest", *EXECUTE)
    with (
        simple(cluster.bootstrap, commits=[(topic, 0, 3)]) as ours,
        simple(kafka_2_8.bootstrap, commits=[(old_topic, 0, 3)]) as theirs,
    ):
        run_command(cluster.bootstrap, "reset", ours, *arguments, home=tmp_path)
        run_command(kafka_2_8.bootstrap, "reset", theirs, *arguments, home=tmp_path)
        newest = list_runs(LocalJournal(journal_of(tmp_path))).runs[0].run.id
        wrong = run_command(cluster.bootstrap, "undo", newest, *EXECUTE, home=tmp_path)
        right = run_command(cluster.bootstrap, "undo", *EXECUTE, home=tmp_path)
        assert read_offsets(cluster.bootstrap, ours) == {(topic, 0): 3}
        assert read_offsets(kafka_2_8.bootstrap, theirs) == {(old_topic, 0): 9}
    assert f"{newest} changed cluster " in wrong.err
    assert (wrong.code, right.code) == (1, 0)


# What a group has committed, by partition: any offset, epoch and metadata, also outside the log.
COMMITS: Final = st.dictionaries(
    st.integers(0, PARTITIONS - 1),
    st.builds(
        CommittedOffset,
        offset=st.integers(0, RECORDS + 5) | st.just(2**62),
        leader_epoch=st.none() | st.integers(0, 2**31 - 1),
        metadata=st.text(max_size=20) | st.just("job=7; grün 🦊"),
    ),
    min_size=1,
)
SPECIFICATIONS: Final = st.one_of(
    st.just(ToEarliest()),
    st.just(ToLatest()),
    st.builds(ToOffset, st.integers(0, RECORDS + 5)),
    st.builds(ShiftBy, st.integers(-RECORDS, RECORDS)),
)


@pytest.mark.parametrize("command", ["reset", "delete", "delete-offsets"])
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(commits=COMMITS, specification=SPECIFICATIONS, has_scope=st.booleans())
def test_undo_restores_offset_epoch_and_metadata_and_no_commit_where_none_was(
    cluster: Cluster,
    topic: str,
    command: str,
    commits: Mapping[int, CommittedOffset],
    specification: Specification,
    has_scope: bool,
) -> None:
    group = unique_name("property")
    with open_admin(cluster.bootstrap) as admin, TemporaryDirectory() as home:
        offsets = {(topic, partition): commit for partition, commit in commits.items()}
        altered = admin.alter_consumer_group_offsets({group: offsets}).all()[group]
        assert not [failure for failure in altered.values() if failure]
        before = read_commits(cluster.bootstrap, group)
        assert before == offsets

        planned = _plan(admin, command, group, topic, specification, has_scope=has_scope)
        execution = execute(admin, planned, Path(home), command=command)
        assert execution.count(Status.FAILED) == execution.count(Status.UNKNOWN) == 0
        run = read_run(LocalJournal(journal_of(Path(home))), execution.run_id)
        undone = execute(admin, plan_undo(admin, run), Path(home), command="undo")
        assert not undone.failures

        assert read_commits(cluster.bootstrap, group) == before


def _plan(
    admin: GroupAdmin, command: str, group: str, topic: str, specification: Specification, *, has_scope: bool
) -> PlannedGroups:
    selectors = Selectors(named=(group,))
    if command == "delete":
        return plan_group_deletion(admin, selectors, DeletionRequest())
    if command == "delete-offsets":
        return plan_offset_deletion(admin, selectors, DeletionRequest(topics={topic: (0, 1) if has_scope else ()}))
    return plan_reset(admin, selectors, ResetRequest(specification, topics={topic: ()} if has_scope else None))
