"""What `undo` promises, on real brokers, under faults.

`make proof-changes` kills at every step, has more commits, and repeats ten times what depends on chance.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from kafka_groups.model import CommittedOffset
from tests.live.groups.clients import CommandResult, command_environment, open_admin, read_commits, run_command
from tests.live.groups.conditions import wait_until
from tests.live.groups.coordination import await_coordinators
from tests.live.groups.killed_commands import run_until_step
from tests.live.groups.members import many_simple, simple
from tests.live.groups.recorded_outcomes import recorded_runs, unexplained
from tests.live.groups.topics import client_properties, make_topic, unique_name
from tests.live.groups.transactions import open_transaction

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = pytest.mark.live

EXECUTE: Final = ("--execute", "--yes")
REPETITIONS: Final = int(os.environ.get("PROOF_REPETITIONS", "1"))
IS_PROOF: Final = REPETITIONS > 1
# Steps between two kills: a request or a write of the journal is a step.
STRIDE: Final = 1 if IS_PROOF else 7
LONG_NAME: Final = "x" * 80
# Tombstones of 3,600 commits do not fit into one request of this tool, and those of 12,000 into no batch of a broker.
MANY_COMMITS: Final = 12_000 if IS_PROOF else 3_600
TOPICS: Final = 12

repeated = pytest.mark.usefixtures("repetition")


@pytest.fixture(params=range(REPETITIONS))
def repetition(request: pytest.FixtureRequest) -> int:
    """Return the number of the repetition, from 0; `make proof-changes` has several."""
    number: int = request.param
    return number


def commit_all(cluster: Cluster, group: str, commits: dict[tuple[str, int], CommittedOffset]) -> None:
    """Commit offsets of a group from outside of the commands."""
    with open_admin(cluster.bootstrap, timeout_s=60) as admin:
        outcomes = admin.alter_consumer_group_offsets({group: commits}).all()[group]
    assert not [why for why in outcomes.values() if why]


def read_all(cluster: Cluster, groups: Sequence[str]) -> dict[tuple[str, tuple[str, int]], CommittedOffset]:
    """Return all commits of groups."""
    with open_admin(cluster.bootstrap, timeout_s=60) as admin:
        found = admin.list_consumer_group_offsets(dict.fromkeys(groups)).all()
    return {(group, key): commit for group in groups for key, commit in found[group].items() if commit is not None}


def delete_topics(cluster: Cluster, *topics: str) -> None:
    """Delete topics, and wait until the brokers know none of them."""
    admin = AdminClient(client_properties(cluster.bootstrap))
    for future in admin.delete_topics(list(topics)).values():
        future.result()
    wait_until(lambda: not set(topics) & set(admin.list_topics(timeout=20).topics), lambda: f"{topics} are not deleted")


def recreate(cluster: Cluster, topic: str, *, partitions: int = 1, records: int = 80) -> None:
    """Delete a topic, and create another one of the same name."""
    delete_topics(cluster, topic)

    def is_created() -> bool:
        # Old brokers list a topic no more while its deletion goes on.
        try:
            make_topic(cluster.bootstrap, partitions=partitions, records=records, name=topic)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise
            return False
        return True

    wait_until(is_created, lambda: f"{topic} is still being deleted")


def test_a_group_whose_commits_have_much_metadata_is_restored(cluster: Cluster, tmp_path: Path) -> None:
    topic, group = make_topic(cluster.bootstrap, partitions=400, records=1), unique_name("metadata")
    before = {(topic, at): CommittedOffset(0, None, f"{at:04}" + "m" * 3_996) for at in range(400)}
    commit_all(cluster, group, before)
    try:
        for command in (("delete", group), ("reset", group, "--all-topics", "--to-latest")):
            changed = run_command(cluster.bootstrap, *command, *EXECUTE, home=tmp_path)
            assert read_commits(cluster.bootstrap, group) != before
            undone = run_command(cluster.bootstrap, "undo", *EXECUTE, home=tmp_path)
            assert (changed.code, undone.code) == (0, 0), changed.err + undone.err
            assert read_commits(cluster.bootstrap, group) == before
    finally:
        delete_topics(cluster, topic)


@pytest.mark.slow
def test_a_group_of_very_many_commits_is_deleted_and_restored(cluster: Cluster, tmp_path: Path) -> None:
    partitions = MANY_COMMITS // TOPICS
    names = [f"{unique_name('many')}-{LONG_NAME}"[:100] for _ in range(TOPICS)]
    for name in names:
        make_topic(cluster.bootstrap, partitions=partitions, records=0, name=name)
    group = unique_name("many")
    before = {(name, at): CommittedOffset(0, None, "") for name in names for at in range(partitions)}
    try:
        wait_until(lambda: _is_committed(cluster, group, before), lambda: "the topics are not ready", timeout_s=240)
        deleted = run_command(cluster.bootstrap, "delete", group, *EXECUTE, "--timeout", "60s", home=tmp_path)
        assert (deleted.code, read_commits(cluster.bootstrap, group)) == (0, {}), deleted.err
        undone = run_command(cluster.bootstrap, "undo", *EXECUTE, "--timeout", "60s", home=tmp_path)
        assert (undone.code, read_commits(cluster.bootstrap, group) == before) == (0, True), undone.err[-500:]
    finally:
        delete_topics(cluster, *names)


def _is_committed(cluster: Cluster, group: str, commits: dict[tuple[str, int], CommittedOffset]) -> bool:
    """Commit, and return whether all partitions exist already."""
    with open_admin(cluster.bootstrap, timeout_s=60) as admin:
        results = admin.alter_consumer_group_offsets({group: commits})
    return not results.failed and not any(results.succeeded[group].values())


@pytest.mark.parametrize(
    "command",
    [("reset", "--all-topics", "--to-offset", "5"), ("delete",), ("delete-offsets", "--topic", "{topic}")],
    ids=lambda command: command[0],
)
def test_an_open_transaction_is_not_overwritten_and_its_commit_stays(
    cluster: Cluster, tmp_path: Path, command: tuple[str, ...]
) -> None:
    topic = make_topic(cluster.bootstrap, partitions=2, records=80)
    name, *options = (word.format(topic=topic) for word in command)
    with simple(cluster.bootstrap, commits=[(topic, 0, 30), (topic, 1, 31)]) as group:
        with open_transaction(cluster.bootstrap, group, topic, offset=60) as producer:
            results = [
                run_command(
                    cluster.bootstrap, name, group, *options, *EXECUTE, *force, "--format", "json", home=tmp_path
                )
                for force in ((), ("--force",))
            ]
            producer.commit_transaction(30)
            producer.begin_transaction()
        run_command(cluster.bootstrap, "undo", *EXECUTE, home=tmp_path)
        offsets = {key: commit.offset for key, commit in read_commits(cluster.bootstrap, group).items()}
    for result in results:
        assert "UNSTABLE_OFFSET_COMMIT" in {error["name"] for error in result.json["errors"]}
    assert offsets[topic, 0] == 60
    runs = [run for run in recorded_runs(tmp_path) if run.command != "undo"]
    assert all(change.partition != 0 for run in runs for change in run.changed())


@pytest.mark.parametrize("old", [False, True], ids=["with ids", "without ids"])
@pytest.mark.parametrize(
    "command", [("delete-offsets", "--topic"), ("reset", "--to-offset", "10", "--topic"), ("delete",)]
)
def test_a_topic_that_was_recreated_gets_no_offset_of_the_old_one(
    request: pytest.FixtureRequest, tmp_path: Path, command: tuple[str, ...], old: bool
) -> None:
    cluster: Cluster = request.getfixturevalue("kafka_2_5" if old else "cluster")
    topic, other = make_topic(cluster.bootstrap, records=100), make_topic(cluster.bootstrap, records=100)
    group = unique_name("recreated")
    commit_all(cluster, group, {(topic, 0): CommittedOffset(60, None, ""), (other, 0): CommittedOffset(70, None, "")})
    name, *options = command
    targets = [word for each in (topic, other) for word in (*options[-1:], each)] if options else []
    changed = run_command(cluster.bootstrap, name, group, *options[:-1], *targets, *EXECUTE, home=tmp_path)
    recreate(cluster, topic)
    undone = run_command(cluster.bootstrap, "undo", *EXECUTE, "--format", "json", home=tmp_path)
    offsets = {key: commit.offset for key, commit in read_commits(cluster.bootstrap, group).items()}
    again = run_command(cluster.bootstrap, "undo", *EXECUTE, home=tmp_path)
    assert changed.code == 0, changed.err
    assert offsets[other, 0] == 70
    if old:
        _check_without_ids(undone, offsets.get((topic, 0)))
        return
    assert [error["name"] for error in undone.json["errors"]] == ["TOPIC_RECREATED"]
    assert (undone.code, offsets.get((topic, 0))) == (3, None)
    assert (again.code, "is partly undone" in again.err) == (1, True)


def _check_without_ids(undone: CommandResult, offset: int | None) -> None:
    """Check that the commit is restored with a note, or refused because its deletion with the topic moved it."""
    if offset is None:
        assert [error["name"] for error in undone.json["errors"]] == ["REFUSED"]
    else:
        assert (offset, undone.code, "unknown (Kafka before 2.8" in undone.err) == (60, 0, True)


@pytest.mark.slow
@pytest.mark.parametrize("command", [("reset", "--all-topics", "--to-latest"), ("delete",), ("delete-offsets",)])
def test_a_command_that_is_killed_at_any_step_can_be_undone(
    cluster: Cluster, tmp_path: Path, command: tuple[str, ...]
) -> None:
    topic = make_topic(cluster.bootstrap, partitions=2, records=9)
    name, *options = (*command, "--topic", topic) if command[0] == "delete-offsets" else command
    with many_simple(cluster.bootstrap, 3, commits=[(topic, 0, 3), (topic, 1, 4)]) as groups:
        before = read_all(cluster, groups)
        step = 1
        while True:
            home = tmp_path / str(step)
            was_killed = run_until_step(step, cluster.bootstrap, home, name, *groups, *options, *EXECUTE)
            runs = recorded_runs(home)
            assert unexplained(before, read_all(cluster, groups), runs) == []
            if any(run.changed() for run in runs):
                undone = run_command(cluster.bootstrap, "undo", *EXECUTE, home=home)
                assert undone.code == 0, undone.err
            assert read_all(cluster, groups) == before
            if not was_killed:
                break
            step += STRIDE
    assert step > STRIDE


@repeated
def test_two_resets_of_the_same_groups_at_once_are_explained_by_their_records(cluster: Cluster, tmp_path: Path) -> None:
    topic = make_topic(cluster.bootstrap, partitions=4, records=90)
    commits = [(topic, partition, 50) for partition in range(4)]
    with many_simple(cluster.bootstrap, 40, commits=commits) as groups:
        before = read_all(cluster, groups)
        homes = [tmp_path / name for name in ("first", "second")]
        with ExitStack() as stack:
            running = [
                stack.enter_context(_start(cluster, home, "reset", *groups, "--all-topics", "--to-offset", offset))
                for home, offset in zip(homes, ("10", "20"), strict=True)
            ]
            codes = [process.wait(timeout=120) for process in running]
        assert set(codes) <= {0, 1, 3}
        assert unexplained(before, read_all(cluster, groups), recorded_runs(*homes)) == []


def _start(cluster: Cluster, home: Path, command: str, *arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "kafka_groups", command, "-b", cluster.bootstrap, *arguments, *EXECUTE],
        env=command_environment(home),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


@pytest.fixture(scope="module")
def many_groups(cluster: Cluster) -> Iterator[tuple[str, list[str]]]:
    """Yield a topic whose partitions have three replicas, and groups at all coordinators."""
    topic = make_topic(cluster.bootstrap, records=90, replicas=[[1, 2, 3], [2, 3, 1], [3, 1, 2]])
    commits = [(topic, partition, 50) for partition in range(3)]
    with many_simple(cluster.bootstrap, 300, commits=commits) as groups:
        await_coordinators(cluster.bootstrap, groups[:24], {1, 2, 3})
        yield topic, groups


@pytest.mark.timed
def test_a_coordinator_that_stops_during_a_reset_leaves_no_unexplained_offset(
    cluster: Cluster, tmp_path: Path, many_groups: tuple[str, list[str]], repetition: int
) -> None:
    _, groups = many_groups
    number = 1 + repetition % 3
    before = read_all(cluster, groups)
    offset = str(10 + repetition)
    try:
        running = _start(cluster, tmp_path, "reset", *groups, "--all-topics", "--to-offset", offset, "--timeout", "20s")
        # The commits begin a third of a second to a second after the start.
        time.sleep(0.3 + 0.07 * repetition)
        cluster.stop_broker(number)
        code = running.wait(timeout=120)
    finally:
        cluster.start_broker(number)
        await_coordinators(cluster.bootstrap, groups[:24], {1, 2, 3})
    assert code in {0, 1, 3}
    runs = recorded_runs(tmp_path)
    now = read_all(cluster, groups)
    assert unexplained(before, now, runs) == [], json.dumps([run.id for run in runs])
