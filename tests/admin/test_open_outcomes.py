"""Once the outcome of a change was open, no later error shows that the change was not made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pytest

from kafka_groups.admin import GroupAdmin, MemberIdentity
from kafka_groups.admin.handlers import record_sizes
from kafka_groups.model import CommittedOffset, Failure, TopicPartition
from kafka_groups.protocol import Struct
from tests.admin.handlers.test_alter_consumer_group_offsets import with_codes
from tests.fakes.reactions import Reaction, ReceivedRequest, drops, plain
from tests.fakes.scripted_cluster import Group, ScriptedCluster

START = CommittedOffset(0, None, "")
FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)
COMMITS = [TopicPartition("t", partition) for partition in range(3)]
# The coordinator is not available, or no longer this one: it may have written the change before.
OPEN = [15, 16]


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Group `a` with two commits and a member that a test may remove."""
    groups = {"a": Group(state="Empty", commits={("t", 0): 5, ("t", 1): 6})}
    with ScriptedCluster(brokers=1, groups=groups, topics={"t": {0: 1, 1: 1, 2: 1}}) as cluster:
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


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Send each commit of a group in a request of its own."""
    monkeypatch.setattr(record_sizes, "MAX_BATCH_BYTES", 1)


def refusing(cluster: ScriptedCluster, api: str, *codes: int) -> None:
    """Refuse the next requests of an API with these codes; 0 is no refusal."""
    real, left = getattr(cluster, f"_respond_{api}"), iter(codes)

    def respond(request: ReceivedRequest) -> Struct:
        code = next(left, 0)
        if not code:
            unchanged: Struct = real(request)
            return unchanged
        rows = [
            {**topic, "partitions": [{**row, "error_code": code} for row in topic["partitions"]]}
            for topic in request.body["topics"]
        ]
        return {"topics": rows, "error_code": code if api == "OffsetDelete" else 0}

    setattr(cluster, f"_respond_{api}", respond)


def names(outcomes: Mapping[TopicPartition, Failure | None]) -> list[str | None]:
    return [why and why.name for why in outcomes.values()]


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("code", OPEN)
def test_a_portion_that_was_open_and_is_done_leaves_the_others_certain(
    cluster: ScriptedCluster, admin: GroupAdmin, code: int
) -> None:
    refusing(cluster, "OffsetCommit", code, 0, 25)
    outcomes = admin.alter_consumer_group_offsets({"a": dict.fromkeys(COMMITS, START)}).succeeded["a"]
    assert names(outcomes) == [None, "UNKNOWN_MEMBER_ID", "UNKNOWN_MEMBER_ID"]
    assert len(cluster.requests_of("OffsetCommit")) == 3


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("code", OPEN)
def test_a_portion_that_stays_open_leaves_those_after_it_certain(
    cluster: ScriptedCluster, admin: GroupAdmin, code: int
) -> None:
    refusing(cluster, "OffsetCommit", code, 25)
    outcomes = admin.alter_consumer_group_offsets({"a": dict.fromkeys(COMMITS, START)}).succeeded["a"]
    assert names(outcomes) == ["OUTCOME_UNKNOWN", "UNKNOWN_MEMBER_ID", "UNKNOWN_MEMBER_ID"]


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("code", OPEN)
def test_a_deletion_that_was_open_and_is_done_leaves_the_others_certain(
    cluster: ScriptedCluster, admin: GroupAdmin, code: int
) -> None:
    refusing(cluster, "OffsetDelete", code, 0, 30)
    outcomes = admin.delete_consumer_group_offsets({"a": COMMITS}).succeeded["a"]
    assert names(outcomes) == [None, "GROUP_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED"]


@pytest.mark.usefixtures("small_batches")
def test_a_lost_response_leaves_what_was_not_sent_certain(cluster: ScriptedCluster, admin: GroupAdmin) -> None:
    cluster.script("OffsetDelete", plain, drops)
    outcomes = admin.delete_consumer_group_offsets({"a": COMMITS}).succeeded["a"]
    assert names(outcomes) == [None, "OUTCOME_UNKNOWN", "CONNECTION_FAILED"]
    unsent = outcomes[COMMITS[2]]
    assert unsent is not None
    assert unsent.message.startswith("it was not sent, because an earlier request of the group failed: ")
    assert (unsent.topic, unsent.partition) == ("t", 2)


@pytest.mark.parametrize("code", OPEN)
def test_members_that_no_request_had_are_certain_on_brokers_without_batches(code: int) -> None:
    members = [{"member_id": name, "group_instance_id": None} for name in ("m", "n")]
    groups = {"a": Group(state="Stable", members=members)}
    with (
        ScriptedCluster(brokers=1, groups=groups, topics={}, versions={"LeaveGroup": (0, 2)}) as cluster,
        cluster.admin() as admin,
    ):
        cluster.script("LeaveGroup", with_error(code), with_error(30))
        wanted = [MemberIdentity("m", None), MemberIdentity("n", None)]
        outcomes = admin.remove_members_from_consumer_group({"a": wanted}).succeeded["a"]
        assert [why and why.name for why in outcomes.values()] == ["OUTCOME_UNKNOWN", "GROUP_AUTHORIZATION_FAILED"]
