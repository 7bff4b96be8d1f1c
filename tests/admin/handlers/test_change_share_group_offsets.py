"""Start offsets of share groups are altered and deleted by one request a group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.model import Results, TopicPartition
from kafka_groups.protocol import Struct
from tests.admin.handlers.test_alter_consumer_group_offsets import outcomes
from tests.fakes.kind_members import share_member
from tests.fakes.reactions import ReceivedRequest, changed, drops
from tests.fakes.scripted_cluster import Group, ScriptedCluster, topic_id

STARTS = {("t", 0): 5, ("t", 1): 6, ("u", 0): 7}
T0, T1, T9 = (TopicPartition("t", number) for number in (0, 1, 9))
OFF = "share groups are not enabled on this cluster (feature share.version)"


def _cluster() -> ScriptedCluster:
    groups = {
        "a": Group(type="Share", state="Empty", commits=STARTS),
        "b": Group(type="Share", coordinator=2, commits=STARTS, members=[share_member("m", {"t": (0,)})]),
        "old": Group(commits=STARTS),
    }
    return ScriptedCluster(groups=groups, topics={"t": {0: 1, 1: 2}, "u": {0: 1}})


def _alter(admin: GroupAdmin, *groups: str) -> Results[str, Any]:
    return admin.alter_share_group_offsets({group: {("t", 0): 9} for group in groups})


def _delete(admin: GroupAdmin, *groups: str) -> Results[str, Any]:
    return admin.delete_share_group_offsets({group: ["t"] for group in groups})


CHANGES: Final[dict[str, Callable[..., Results[str, Any]]]] = {
    "AlterShareGroupOffsets": _alter,
    "DeleteShareGroupOffsets": _delete,
}
every_change = pytest.mark.parametrize("api", CHANGES)


def test_altered_start_offsets_are_those_of_the_request() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        results = admin.alter_share_group_offsets({"a": {("t", 0): 9, ("t", 1): 0}})
        assert results.all() == {"a": {T0: None, T1: None}}
        assert cluster.groups["a"].commits == {("t", 0): 9, ("t", 1): 0, ("u", 0): 7}
        assert cluster.requests() == {"FindCoordinator": 1, "AlterShareGroupOffsets": 1}


def test_a_partition_that_does_not_exist_fails_alone() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        results = admin.alter_share_group_offsets({"a": {("t", 0): 9, ("t", 9): 9}})
    assert outcomes(results.succeeded["a"]) == {T0: None, T9: "UNKNOWN_TOPIC_OR_PARTITION"}


def test_deleted_start_offsets_are_those_of_whole_topics() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        assert admin.delete_share_group_offsets({"a": ["t", "t"]}).all() == {"a": {"t": None}}
        assert cluster.groups["a"].commits == {("u", 0): 7}
        (request,) = cluster.requests_of("DeleteShareGroupOffsets")
        assert request.body == {"group_id": "a", "topics": [{"topic_name": "t"}]}


def test_a_topic_without_start_offsets_fails_alone() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        outcome = admin.delete_share_group_offsets({"a": ["u", "v"]}).succeeded["a"]
    assert outcome["u"] is None
    failure = outcome["v"]
    assert failure is not None
    assert (failure.name, failure.group, failure.topic) == ("UNKNOWN_TOPIC_OR_PARTITION", "a", "v")
    assert failure.message == "the group has no start offsets on this topic, or the topic does not exist"


def test_a_group_without_items_needs_no_request() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        assert admin.alter_share_group_offsets({"a": {}}).all() == {"a": {}}
        assert admin.delete_share_group_offsets({"a": []}).all() == {"a": {}}
        assert cluster.requests() == {}


@every_change
def test_a_group_with_members_or_of_another_type_hides_no_other(api: str) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        results = CHANGES[api](admin, "a", "b", "old", "absent")
        assert cluster.requests()[api] == 4
    # Only an alteration creates an absent group.
    is_created = api == "AlterShareGroupOffsets"
    assert list(results.succeeded) == (["a", "absent"] if is_created else ["a"])
    assert {group: failure.name for group, failure in results.failed.items()} == {
        "b": "NON_EMPTY_GROUP",
        "old": "GROUP_ID_NOT_FOUND",
        **({} if is_created else {"absent": "GROUP_ID_NOT_FOUND"}),
    }
    assert results.failed["b"].message == "the share group has members now; stop them and try again"


@every_change
@pytest.mark.parametrize(("code", "lookups"), [(14, 1), (27, 1), (15, 2), (16, 2)])
def test_a_change_that_no_coordinator_took_is_sent_again(api: str, code: int, lookups: int) -> None:
    def refuse(_request: ReceivedRequest, _response: Struct) -> Struct:
        cluster.groups["a"].commits = STARTS
        return {"error_code": code, "responses": []}

    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script(api, refuse, brokers=[1])
        assert set(CHANGES[api](admin, "a").all()["a"].values()) == {None}
        assert cluster.requests() == {"FindCoordinator": lookups, api: 2}


def test_a_deletion_that_was_refused_and_found_nothing_afterwards_may_have_been_made() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("DeleteShareGroupOffsets", changed(error_code=15, responses=[]), brokers=[1])
        (failure,) = admin.delete_share_group_offsets({"a": ["t"]}).succeeded["a"].values()
    assert failure is not None
    assert failure.name == "OUTCOME_UNKNOWN"


@every_change
@pytest.mark.parametrize("code", [24, 30, 42, 56, 69, -1])
def test_any_other_code_of_the_group_is_final(api: str, code: int) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script(api, changed(error_code=code, responses=[]), brokers=[1])
        assert CHANGES[api](admin, "a").failed["a"].code == code
        assert cluster.requests()[api] == 1


@every_change
def test_a_change_whose_response_is_lost_is_not_sent_again(api: str) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script(api, drops, brokers=[1])
        assert CHANGES[api](admin, "a").failed["a"].name == "OUTCOME_UNKNOWN"
        assert cluster.requests()[api] == 1


@every_change
def test_an_item_that_the_response_lacks_has_an_unknown_outcome(api: str) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script(api, changed(responses=[]), brokers=[1])
        (failure,) = CHANGES[api](admin, "a").succeeded["a"].values()
    assert failure.name == "OUTCOME_UNKNOWN"


@every_change
def test_a_denied_topic_names_the_right_that_the_change_needs(api: str) -> None:
    partitions = [{"partition_index": 0, "error_code": 29}]
    row = {"topic_name": "t", "topic_id": topic_id("t"), "error_code": 29, "partitions": partitions}
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script(api, changed(responses=[row]), brokers=[1])
        (failure,) = CHANGES[api](admin, "a").succeeded["a"].values()
    assert (failure.name, failure.message) == (
        "TOPIC_AUTHORIZATION_FAILED",
        "not allowed: this needs READ on the topic",
    )


@every_change
def test_a_change_without_the_feature_names_it(api: str) -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.switched_off = frozenset({"Share"})
        failure = CHANGES[api](admin, "a").failed["a"]
    assert (failure.name, failure.message) == ("UNSUPPORTED_VERSION", OFF)


def test_a_partition_without_an_offset_is_altered_to_one_that_nobody_has_read() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        admin.alter_share_group_offsets({"a": {("t", 0): None}}).all()
        (request,) = cluster.requests_of("AlterShareGroupOffsets")
        assert [row["start_offset"] for topic in request.body["topics"] for row in topic["partitions"]] == [-1]
        offsets = admin.list_share_group_offsets({"a": [("t", 0)]}).all()["a"]
        assert dict(offsets.rows()) == {("t", 0): None}
