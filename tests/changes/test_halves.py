"""What a coordinator could not write as one batch is sent again in halves, and only if all is as before."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.changes.change import Action, Change
from kafka_groups.protocol import Struct
from tests.changes.executions import commit, deletion, execute, names, offsets, statuses
from tests.fakes.reactions import Reaction, ReceivedRequest, drops, plain
from tests.fakes.scripted_cluster import Commit, Group, ScriptedCluster

COUNT = 10
DELETE = Action.DELETE_GROUP


class SmallBatches:
    """A coordinator whose batches have at most `limit` records; a larger one is an unexpected error.

    With `writes` it writes the first record all the same.
    """

    def __init__(self, cluster: ScriptedCluster, limit: int, *, code: int = -1, writes: bool = False) -> None:
        self._cluster, self._limit, self._code, self._writes = cluster, limit, code, writes
        self._before = {name: dict(group.commits) for name, group in cluster.groups.items()}

    def limit(self, *apis: str) -> None:
        """Limit the next hundred requests of these APIs."""
        for api in apis:
            self._cluster.script(api, *[self._react] * 100)

    def _react(self, request: ReceivedRequest, response: Struct) -> Struct:
        """Undo what the scripted cluster did, if the request is too large."""
        is_group_deletion = request.api == "DeleteGroups"
        groups = request.body["groups_names"] if is_group_deletion else [request.body["group_id"]]
        topics = request.body.get("topics", ())
        rows = [(topic["name"] or "t", row["partition_index"]) for topic in topics for row in topic["partitions"]]
        size = sum(len(self._before[group]) for group in groups) if is_group_deletion else len(rows)
        if size <= self._limit:
            for group in groups:
                known = self._cluster.groups.get(group)
                self._before[group] = dict(known.commits) if known is not None else {}
            return response
        for group in groups:
            kept = dict(self._before[group])
            if self._writes and rows:
                kept[rows[0]] = self._cluster.groups[group].commits.get(rows[0], Commit(99))
            self._cluster.groups[group] = Group(state="Empty", commits=kept)
        if is_group_deletion:
            return {"results": [{"group_id": group, "error_code": self._code} for group in groups]}
        failed = [
            {**topic, "partitions": [{**row, "error_code": self._code} for row in topic["partitions"]]}
            for topic in response["topics"]
        ]
        return {**response, "topics": failed}


@pytest.fixture(autouse=True)
def any_batch_may_be_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_groups.changes.halves._SMALLEST_BYTES", 0)


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Group `a` with ten commits."""
    commits = {("t", partition): Commit(5) for partition in range(COUNT)}
    topics = {"t": dict.fromkeys(range(COUNT), 1)}
    with ScriptedCluster(brokers=1, groups={"a": Group(state="Empty", commits=commits)}, topics=topics) as cluster:
        yield cluster


@pytest.fixture
def admin(cluster: ScriptedCluster) -> Iterator[GroupAdmin]:
    with cluster.admin() as admin:
        yield admin


def resets(group: str = "a") -> list[Change]:
    return [commit(group, 5, 1, partition=partition) for partition in range(COUNT)]


def sizes(cluster: ScriptedCluster, api: str) -> list[int]:
    """Return the number of partitions in each request of an API."""
    return [sum(len(topic["partitions"]) for topic in each.body["topics"]) for each in cluster.requests_of(api)]


@pytest.mark.parametrize("code", [-1, 28])
def test_commits_that_are_too_large_together_are_made_in_halves(
    cluster: ScriptedCluster, admin: GroupAdmin, code: int
) -> None:
    SmallBatches(cluster, 3, code=code).limit("OffsetCommit")
    assert set(statuses(execute(admin, *resets()))) == {"done"}
    assert set(offsets(cluster, "a").values()) == {1}
    assert sizes(cluster, "OffsetCommit") == [10, 5, 5, 2, 3, 2, 3]


def test_commits_of_several_groups_are_halved_together(cluster: ScriptedCluster, admin: GroupAdmin) -> None:
    cluster.groups["b"] = Group(state="Empty", commits=dict(cluster.groups["a"].commits))
    SmallBatches(cluster, 5).limit("OffsetCommit")
    assert set(statuses(execute(admin, *resets("a"), *resets("b")))) == {"done"}
    assert sizes(cluster, "OffsetCommit") == [10, 10, 5, 5, 5, 5]
    # The plan is checked once, and both groups are read back together, once.
    assert len(cluster.requests_of("OffsetFetch")) == 2


def test_a_single_commit_that_fails_in_this_way_has_failed(cluster: ScriptedCluster, admin: GroupAdmin) -> None:
    SmallBatches(cluster, 0).limit("OffsetCommit")
    execution = execute(admin, *resets())
    assert set(statuses(execution)) == {"failed"}
    assert names(execution) == [("a", None, "UNKNOWN_SERVER_ERROR")]
    assert set(offsets(cluster, "a").values()) == {5}


def test_a_batch_of_a_few_records_is_not_sent_again(
    cluster: ScriptedCluster, admin: GroupAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    SmallBatches(cluster, 3).limit("OffsetCommit")
    assert set(statuses(execute(admin, *resets()))) == {"failed"}
    assert sizes(cluster, "OffsetCommit") == [10]


def test_nothing_is_sent_again_unless_all_is_as_before(cluster: ScriptedCluster, admin: GroupAdmin) -> None:
    SmallBatches(cluster, 3, writes=True).limit("OffsetCommit")
    execution = execute(admin, *resets())
    assert statuses(execution) == ["done", *["failed"] * (COUNT - 1)]
    assert sizes(cluster, "OffsetCommit") == [10]


def test_another_error_is_not_sent_again(cluster: ScriptedCluster, admin: GroupAdmin) -> None:
    SmallBatches(cluster, 3, code=12).limit("OffsetCommit")
    assert set(statuses(execute(admin, *resets()))) == {"failed"}
    assert sizes(cluster, "OffsetCommit") == [10]


def test_deletions_of_commits_are_made_in_halves(cluster: ScriptedCluster, admin: GroupAdmin) -> None:
    SmallBatches(cluster, 5).limit("OffsetDelete")
    changes = [deletion("a", 5, partition=partition) for partition in range(COUNT)]
    assert set(statuses(execute(admin, *changes))) == {"done"}
    assert (offsets(cluster, "a"), sizes(cluster, "OffsetDelete")) == ({}, [10, 5, 5])


def test_groups_that_are_too_large_together_are_deleted_in_halves(cluster: ScriptedCluster, admin: GroupAdmin) -> None:
    cluster.groups["b"] = Group(state="Empty", commits={("t", 0): Commit(5)})
    SmallBatches(cluster, COUNT).limit("DeleteGroups")
    changes = [deletion("a", 5, partition=partition, action=DELETE) for partition in range(COUNT)]
    assert set(statuses(execute(admin, *changes, deletion("b", 5, action=DELETE)))) == {"done"}
    assert cluster.groups == {}
    assert [each.body["groups_names"] for each in cluster.requests_of("DeleteGroups")] == [["a", "b"], ["a"], ["b"]]


def test_a_group_that_is_too_large_alone_loses_its_commits_first(cluster: ScriptedCluster, admin: GroupAdmin) -> None:
    SmallBatches(cluster, 4).limit("DeleteGroups", "OffsetDelete")
    changes = [deletion("a", 5, partition=partition, action=DELETE) for partition in range(COUNT)]
    assert set(statuses(execute(admin, *changes))) == {"done"}
    assert cluster.groups == {}
    assert sizes(cluster, "OffsetDelete") == [9, 4, 5, 2, 3]


def test_a_group_of_more_than_a_batch_loses_commits_before_it_is_deleted(
    cluster: ScriptedCluster, admin: GroupAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafka_groups.admin.handlers.record_sizes.MAX_BATCH_BYTES", 4 * 42)
    changes = [deletion("a", 5, partition=partition, action=DELETE) for partition in range(COUNT)]
    assert set(statuses(execute(admin, *changes))) == {"done"}
    assert (cluster.groups, sizes(cluster, "OffsetDelete")) == ({}, [4, 2])


def test_brokers_that_cannot_delete_commits_get_a_large_group_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafka_groups.admin.handlers.record_sizes.MAX_BATCH_BYTES", 4 * 42)
    commits = {("t", partition): Commit(5) for partition in range(COUNT)}
    groups = {name: Group(state="Empty", commits=dict(commits)) for name in "ab"}
    topics = {"t": dict.fromkeys(range(COUNT), 1)}
    versions = {"OffsetDelete": (-1, -1)}
    with (
        ScriptedCluster(brokers=1, groups=groups, topics=topics, versions=versions) as cluster,
        cluster.admin() as admin,
    ):
        changes = [deletion(name, 5, partition=each, action=DELETE) for name in "ab" for each in range(COUNT)]
        assert set(statuses(execute(admin, *changes))) == {"done"}
        assert (cluster.groups, cluster.requests_of("OffsetDelete")) == ({}, [])
        assert [each.body["groups_names"] for each in cluster.requests_of("DeleteGroups")] == [["a"], ["b"]]


@pytest.mark.parametrize("names_of_groups", ["a", "ab"])
def test_an_old_broker_that_cannot_delete_a_large_group_is_named_as_the_reason(names_of_groups: str) -> None:
    commits = {("t", partition): Commit(5) for partition in range(COUNT)}
    groups = {name: Group(state="Empty", commits=dict(commits)) for name in names_of_groups}
    topics = {"t": dict.fromkeys(range(COUNT), 1)}
    versions = {"OffsetDelete": (-1, -1)}
    with (
        ScriptedCluster(brokers=1, groups=groups, topics=topics, versions=versions) as cluster,
        cluster.admin() as admin,
    ):
        SmallBatches(cluster, 3).limit("DeleteGroups")
        changes = [deletion(name, 5, partition=at, action=DELETE) for name in names_of_groups for at in range(COUNT)]
        execution = execute(admin, *changes)
        assert set(statuses(execution)) == {"failed"}
        assert names(execution) == [(name, None, "UNKNOWN_SERVER_ERROR") for name in names_of_groups]
        assert [len(group.commits) for group in cluster.groups.values()] == [COUNT] * len(names_of_groups)


def test_a_group_that_stays_after_its_commits_were_deleted_is_no_success(
    cluster: ScriptedCluster, admin: GroupAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_request: ReceivedRequest, _response: Struct) -> Struct:
        cluster.groups["a"] = Group(state="Empty", commits={("t", each): Commit(5) for each in range(4)})
        return {"results": [{"group_id": "a", "error_code": 30}]}

    refusing: Reaction = refuse
    monkeypatch.setattr("kafka_groups.admin.handlers.record_sizes.MAX_BATCH_BYTES", 4 * 42)
    cluster.script("DeleteGroups", refusing)
    changes = [deletion("a", 5, partition=partition, action=DELETE) for partition in range(COUNT)]
    execution = execute(admin, *changes)
    assert statuses(execution) == [*["failed"] * 4, *["done"] * 6]
    assert names(execution)[0] == ("a", None, "GROUP_AUTHORIZATION_FAILED")


def test_a_group_stays_if_it_is_unknown_whether_its_commits_were_deleted(
    cluster: ScriptedCluster, admin: GroupAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafka_groups.admin.handlers.record_sizes.MAX_BATCH_BYTES", 4 * 42)
    cluster.script("OffsetDelete", plain, drops)
    execution = execute(admin, *[deletion("a", 5, partition=each, action=DELETE) for each in range(COUNT)])
    assert statuses(execution) == [*["failed"] * 4, *["done"] * 4, *["unknown"] * 2]
    assert cluster.requests_of("DeleteGroups") == []
    lost = [each.failure for each in execution.all_outcomes() if each.failure is not None][-1]
    assert "the group still exists, without this commit" in lost.message
