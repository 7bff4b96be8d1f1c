"""Brokers that return null where Kafka's schemas have none: the value is empty, and the other groups are read."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_groups.admin.network.resolver import resolve
from kafka_groups.errors import NameNotResolvedError
from kafka_groups.protocol import Struct, compile_writer
from kafka_groups.protocol.messages import ALL
from kafka_groups.settings import Endpoint
from tests.fakes.reactions import Reaction, ReceivedRequest
from tests.fakes.scripted_cluster import Group, ScriptedCluster
from tests.protocol.coding import nullable

MEMBER = {
    "member_id": "m",
    "client_id": "c",
    "client_host": "/10.0.0.1",
    "member_metadata": b"",
    "member_assignment": bytes.fromhex("0000 00000001 0001 74 00000001 00000000 ffffffff"),
}
CONSUMER = {
    "member_id": "m",
    "member_epoch": 4,
    "client_id": "c",
    "client_host": "/10.0.0.1",
    "subscribed_topic_names": ["t"],
    "assignment": {"topic_partitions": [{"topic_name": "t", "partitions": [0]}]},
    "target_assignment": {"topic_partitions": []},
}


def _with_nulls(**fields: str | None) -> Reaction:
    """Return a reaction that sends the response as bytes, in which some fields of the group `odd` are null."""

    def react(request: ReceivedRequest, response: Struct) -> bytes:
        rows = [_changed(row, fields) if row["group_id"] == "odd" else row for row in response["groups"]]
        return _encoded(request, {**response, "groups": rows})

    return react


def _changed(row: Struct, fields: dict[str, Any]) -> Struct:
    members = row.get("members") or []
    of_members = {name: value for name, value in fields.items() if name not in ("group_state", "members", "topics")}
    changed = {name: value for name, value in fields.items() if name not in of_members}
    return {**row, "members": [{**member, **of_members} for member in members], **changed}


def _encoded(request: ReceivedRequest, response: Struct) -> bytes:
    api = next(api for api in ALL if api.name == request.api)
    flexible = api.is_flexible(request.version)
    out = bytearray(b"\x00" if flexible else b"")
    compile_writer(nullable(api.response), version=request.version, flexible=flexible)(out, response)
    return bytes(out)


@pytest.mark.parametrize("version", [0, 4, 5, 6])
@pytest.mark.parametrize("field", ["member_assignment", "member_metadata", "client_host", "client_id", "member_id"])
def test_a_null_in_a_member_hides_no_group(version: int, field: str) -> None:
    groups = {name: Group(members=[MEMBER]) for name in ("a", "odd", "z")}
    versions = {"DescribeGroups": (0, version), "ConsumerGroupDescribe": (0, -1)}
    with ScriptedCluster(brokers=1, groups=groups, versions=versions) as cluster, cluster.admin() as admin:
        cluster.script("DescribeGroups", _with_nulls(**{field: None}))
        described = admin.describe_consumer_groups(groups).all()
    assert [described[name].members[0].member_id for name in "az"] == ["m", "m"]
    assignments = [described[name].members[0].assignment or () for name in "az"]
    assert [assignment[0].partitions for assignment in assignments] == [(0,), (0,)]
    odd = described["odd"].members[0]
    empty = {"member_assignment": odd.assignment == (), "client_host": odd.host == "", "client_id": odd.client_id == ""}
    assert empty.get(field, True)


@pytest.mark.parametrize("field", ["client_host", "subscribed_topic_names", "members", "group_state"])
def test_a_null_in_a_consumer_group_hides_no_group(field: str) -> None:
    groups = {name: Group(type="Consumer", members=[CONSUMER]) for name in ("a", "odd", "z")}
    with ScriptedCluster(brokers=1, groups=groups) as cluster, cluster.admin() as admin:
        cluster.script("ConsumerGroupDescribe", _with_nulls(**{field: None}))
        described = admin.describe_consumer_groups(groups).all()
    assert [described[name].members[0].host for name in "az"] == ["/10.0.0.1", "/10.0.0.1"]
    assert described["odd"].member_count == (0 if field == "members" else 1)
    assert described["odd"].state == (None if field == "group_state" else "Stable")


def test_a_group_whose_topics_are_null_has_no_commits() -> None:
    groups = {name: Group(commits={("t", 0): 5}) for name in ("a", "odd", "z")}
    with ScriptedCluster(brokers=1, groups=groups) as cluster, cluster.admin() as admin:
        cluster.script("OffsetFetch", _with_nulls(topics=None))
        offsets = admin.list_consumer_group_offsets(dict.fromkeys(groups)).all()
    assert {name: offsets[name].has_commits() for name in groups} == {"a": True, "odd": False, "z": True}


def test_a_coordinator_without_a_host_keeps_the_address_that_the_metadata_had() -> None:
    def without_hosts(request: ReceivedRequest, response: Struct) -> bytes:
        rows = [{**row, "host": None} for row in response["coordinators"]]
        return _encoded(request, {**response, "coordinators": rows})

    groups = {"a": Group(coordinator=2, commits={("t", 0): 5})}
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        cluster.script("FindCoordinator", *[without_hosts] * 10)
        assert list(admin.list_consumer_group_offsets({"a": None}).all()) == ["a"]


def test_an_address_without_a_host_is_never_this_machine() -> None:
    with pytest.raises(NameNotResolvedError, match="its address has no host name"):
        resolve(Endpoint(host="", port=9092))
