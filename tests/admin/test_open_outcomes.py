"""Once the outcome of a change was open, no later error shows that the change was not made."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_groups.admin import GroupAdmin, MemberIdentity
from kafka_groups.model import CommittedOffset, TopicPartition
from kafka_groups.protocol import Struct
from tests.admin.handlers.test_alter_consumer_group_offsets import with_codes
from tests.fakes.scripted_broker import Reaction, ReceivedRequest
from tests.fakes.scripted_cluster import Group, ScriptedCluster

START = CommittedOffset(0, None, "")
FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)
# The coordinator is not available, or no longer this one: it may have written the change before.
OPEN = [15, 16]


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Group `a` with two commits and a member that a test may remove."""
    groups = {"a": Group(state="Empty", commits={("t", 0): 5, ("t", 1): 6})}
    with ScriptedCluster(brokers=1, groups=groups, topics={"t": {0: 1, 1: 1}}) as cluster:
        yield cluster


@pytest.fixture
def admin(cluster: ScriptedCluster) -> Iterator[GroupAdmin]:
    with cluster.admin() as admin:
        yield admin


def with_error(code: int) -> Reaction:
    """Return a reaction that replaces the error code of the response, or that of each group in it."""

    def react(_request: ReceivedRequest, response: Struct) -> Struct:
        if "results" in response:
            return {"results": [{**row, "error_code": code} for row in response["results"]]}
        return {**response, "error_code": code}

    return react


@pytest.mark.parametrize("code", OPEN)
def test_a_commit_that_then_fails_for_the_group_is_unknown(
    cluster: ScriptedCluster, admin: GroupAdmin, code: int
) -> None:
    cluster.script("OffsetCommit", with_codes(code, code), with_codes(25, 25))
    failure = admin.alter_consumer_group_offsets({"a": {FIRST: START, SECOND: START}}).failed["a"]
    assert failure.name == "OUTCOME_UNKNOWN"
    assert "the group has members now" in failure.message


@pytest.mark.parametrize("code", OPEN)
def test_only_the_partitions_whose_outcome_was_open_are_unknown(
    cluster: ScriptedCluster, admin: GroupAdmin, code: int
) -> None:
    cluster.script("OffsetCommit", with_codes(29, code), with_codes(3))
    outcomes = admin.alter_consumer_group_offsets({"a": {FIRST: START, SECOND: START}}).succeeded["a"]
    assert [why and why.name for why in outcomes.values()] == ["TOPIC_AUTHORIZATION_FAILED", "OUTCOME_UNKNOWN"]


@pytest.mark.parametrize("code", OPEN)
def test_a_commit_that_then_succeeds_is_done(cluster: ScriptedCluster, admin: GroupAdmin, code: int) -> None:
    cluster.script("OffsetCommit", with_codes(code, code))
    assert admin.alter_consumer_group_offsets({"a": {FIRST: START, SECOND: START}}).all()["a"] == {
        FIRST: None,
        SECOND: None,
    }


@pytest.mark.parametrize("code", OPEN)
def test_a_deletion_of_commits_that_then_fails_is_unknown(
    cluster: ScriptedCluster, admin: GroupAdmin, code: int
) -> None:
    cluster.script("OffsetDelete", with_error(code), with_error(69))
    assert admin.delete_consumer_group_offsets({"a": [FIRST]}).failed["a"].name == "OUTCOME_UNKNOWN"


@pytest.mark.parametrize("code", OPEN)
def test_a_deletion_of_a_group_that_is_then_absent_is_unknown(
    cluster: ScriptedCluster, admin: GroupAdmin, code: int
) -> None:
    cluster.script("DeleteGroups", with_error(code))
    assert admin.delete_consumer_groups(["a"]).failed["a"].name == "OUTCOME_UNKNOWN"
    assert cluster.groups == {}


def test_a_deletion_of_a_group_that_was_never_open_fails_with_its_own_error(
    cluster: ScriptedCluster, admin: GroupAdmin
) -> None:
    del cluster.groups["a"]
    assert admin.delete_consumer_groups(["a"]).failed["a"].name == "GROUP_ID_NOT_FOUND"


@pytest.mark.parametrize("code", OPEN)
def test_a_removal_of_a_member_that_then_fails_is_unknown(
    cluster: ScriptedCluster, admin: GroupAdmin, code: int
) -> None:
    cluster.groups["a"].members = [{"member_id": "m", "group_instance_id": None}]
    cluster.script("LeaveGroup", with_error(code), with_error(30))
    removed = admin.remove_members_from_consumer_group({"a": [MemberIdentity("m", None)]})
    assert removed.failed["a"].name == "OUTCOME_UNKNOWN"


@pytest.mark.parametrize("code", OPEN)
def test_a_change_that_is_still_open_at_the_deadline_is_unknown(
    cluster: ScriptedCluster, admin: GroupAdmin, code: int
) -> None:
    cluster.groups["a"].error = code
    assert admin.alter_consumer_group_offsets({"a": {FIRST: START}}, timeout=0.5).failed["a"].name == "OUTCOME_UNKNOWN"
