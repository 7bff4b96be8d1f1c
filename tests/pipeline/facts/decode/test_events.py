"""Records other than commits: their columns, and the type of their event."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import Any

import pytest

from kafka_groups.pipeline.facts.decode import record_types
from kafka_groups.pipeline.facts.decode.record_schemas import GROUP_METADATA
from kafka_groups.pipeline.facts.decode.record_types import COMMIT_TYPES, RECORD_TYPES
from kafka_groups.protocol import compile_writer
from tests.pipeline.facts.decode.golden_records import BY_NAME, GOLDEN, Row, row_of

# As the golden program writes it: 1,700,000,000,000 ms.
A_TIME = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


def _event(name: str) -> Row:
    golden = BY_NAME[name]
    event: Row = row_of(golden.key_bytes, golden.value_bytes)["event"]
    return event


def _filled(event: Row) -> Row:
    return {name: value for name, value in event.items() if value is not None and name != "details"}


def test_members_of_a_classic_group_have_topics_and_partitions() -> None:
    assert _filled(_event("GroupMetadata-v3-subscription-3")) == {
        "record_name": "GroupMetadata",
        "event_type": "generation",
        "epoch": 8,
        "protocol_type": "consumer",
        "protocol": "range",
        "leader": "m1",
        "state_time": A_TIME,
        "members": [
            {
                "member_id": "m1",
                "group_instance_id": None,
                "client_id": "c1",
                "client_host": "/127.0.0.1",
                "rebalance_timeout_ms": 300_000,
                "session_timeout_ms": 45_000,
                "topics": ["orders", "grüppe"],
                "assignment": [{"topic": "orders", "topic_id": None, "partitions": [0, 2]}],
            }
        ],
    }


@pytest.mark.parametrize("version", [0, 1, 2, 9])
def test_all_versions_of_the_consumer_protocol_are_read(version: int) -> None:
    assert _filled(_event(f"GroupMetadata-v3-subscription-{version}")) == _filled(
        _event("GroupMetadata-v3-subscription-3")
    )


def test_members_of_kafka_connect_have_their_bytes_in_details() -> None:
    event = _event("GroupMetadata-v3-connect")
    [member] = event["members"]
    assert (event["protocol_type"], member["member_id"]) == ("connect", "m1")
    assert (member["topics"], member["assignment"]) == (None, None)
    assert json.loads(event["details"])["members"][0]["assignment"]


def test_only_connect_groups_have_workers() -> None:
    assert [_event(f"GroupMetadata-v3-{variant}")["workers"] for variant in ("subscription-3", "empty")] == [None, None]


def _runs(*connectors: tuple[str, bool, list[int]]) -> list[Row]:
    return [{"connector": name, "has_connector": runs, "tasks": tasks} for name, runs, tasks in connectors]


@pytest.mark.parametrize(("protocol", "delay_ms"), [("default", 0), ("compatible", 300_000), ("sessioned", 300_000)])
def test_workers_of_kafka_connect_have_what_they_run(protocol: str, delay_ms: int) -> None:
    event = _event(f"GroupMetadata-v3-workers-{protocol}")
    assert event["workers"] == [
        {
            "member_id": "m1",
            "url": "http://a:8083/",
            "connectors": _runs(("file", True, [0, 2])),
            "scheduled_delay_ms": delay_ms,
        },
        {
            "member_id": "m2",
            "url": "http://b:8083/",
            "connectors": _runs(("file", False, [1])),
            "scheduled_delay_ms": delay_ms,
        },
    ]
    assert [member["client_id"] for member in event["members"]] == ["connect-1", "connect-2"]


def test_a_worker_whose_bytes_are_unreadable_has_only_its_id() -> None:
    member = {"member_id": "m1", "subscription": b"\x00", "assignment": b""}
    out = bytearray(b"\x00\x03")
    compile_writer(GROUP_METADATA, version=3, flexible=False)(out, {"protocol_type": "connect", "members": [member]})
    event = row_of(BY_NAME["GroupMetadata-vNone-tombstone"].key_bytes, bytes(out))["event"]
    assert event["workers"] == [{"member_id": "m1", "url": None, "connectors": None, "scheduled_delay_ms": None}]


def _roles(fields: dict[str, Any], suffix: str) -> Row:
    """Return the tasks that Kafka's converters print, as the columns have them."""
    return {
        role: [
            {"subtopology": tasks["subtopology_id"], "partitions": tasks["partitions"]}
            for tasks in fields[f"{role}_{suffix}"]
        ]
        for role in ("active", "standby", "warmup")
    }


@pytest.mark.parametrize("kind", ["CurrentMemberAssignment", "TargetAssignmentMember"])
def test_members_of_streams_groups_have_tasks(kind: str) -> None:
    golden = BY_NAME[f"StreamsGroup{kind}-v0-full"]
    event = _event(str(golden))
    assert golden.value is not None
    assert event["tasks"] == [{"member_id": golden.key["member_id"], **_roles(golden.value, "tasks")}]
    assert event["assignment"] is None


def test_members_of_streams_groups_have_tasks_that_they_must_revoke() -> None:
    golden = BY_NAME["StreamsGroupCurrentMemberAssignment-v0-full"]
    assert golden.value is not None
    revoked = {"member_id": golden.key["member_id"], **_roles(golden.value, "tasks_pending_revocation")}
    assert _event(str(golden))["tasks_pending_revocation"] == [revoked]
    assert _event("StreamsGroupTargetAssignmentMember-v0-full")["tasks_pending_revocation"] is None
    assert _event("ConsumerGroupCurrentMemberAssignment-v0-full")["tasks"] is None


def _group_of(subscription: bytes, assignment: bytes) -> bytes:
    member = {"member_id": "m1", "subscription": subscription, "assignment": assignment}
    out = bytearray(b"\x00\x03")
    write = compile_writer(GROUP_METADATA, version=3, flexible=False)
    write(out, {"protocol_type": "consumer", "members": [member]})
    return bytes(out)


@pytest.mark.parametrize("broken", [b"", b"\x00", b"\x00\x01\x7f\xff\xff\xff", b"\xff\xff\x00\x00\x00\x00"])
def test_a_member_with_unreadable_bytes_is_still_a_member(broken: bytes) -> None:
    event = row_of(BY_NAME["GroupMetadata-vNone-tombstone"].key_bytes, _group_of(broken, broken))["event"]
    assert event["event_type"] == "generation"
    assert [(member["member_id"], member["topics"], member["assignment"]) for member in event["members"]] == [
        ("m1", None, None)
    ]


def test_a_group_without_members_is_empty() -> None:
    event = _event("GroupMetadata-v3-empty")
    assert (event["event_type"], event["epoch"], event["members"], event["leader"]) == ("group_emptied", 8, [], None)


def test_a_kip_848_member_has_its_client_host_and_topics() -> None:
    assert _filled(_event("ConsumerGroupMemberMetadata-v0-full")) == {
        "record_name": "ConsumerGroupMemberMetadata",
        "event_type": "member_metadata",
        "member_id": "s2",
        "group_instance_id": "s1",
        "client_id": "s3",
        "client_host": "s4",
        "topics": ["é✓😀5", "s6"],
    }


def test_a_member_without_the_classic_protocol_has_a_null_for_it() -> None:
    details = json.loads(_event("ConsumerGroupMemberMetadata-v0-nulls")["details"])
    assert details["classic_member_metadata"] is None


def test_an_assignment_has_its_epochs_state_and_topic_ids() -> None:
    event = _event("ConsumerGroupCurrentMemberAssignment-v0-full")
    value: Any = BY_NAME["ConsumerGroupCurrentMemberAssignment-v0-full"].value
    assert (event["epoch"], event["previous_epoch"]) == (value["member_epoch"], value["previous_member_epoch"])
    assert event["member_state"] == "UNKNOWN"
    assert event["assignment"] == [{"topic": None, **topic} for topic in value["assigned_partitions"]]
    assert event["pending_revocation"] == [{"topic": None, **topic} for topic in value["partitions_pending_revocation"]]


@pytest.mark.parametrize(
    ("name", "states"),
    [
        ("ConsumerGroup", ["STABLE", "UNREVOKED_PARTITIONS", "UNRELEASED_PARTITIONS", "UNKNOWN"]),
        ("StreamsGroup", ["UNKNOWN", "STABLE", "UNREVOKED_TASKS", "UNRELEASED_TASKS"]),
    ],
)
def test_states_have_the_names_of_their_kind_of_group(name: str, states: list[str]) -> None:
    golden = BY_NAME[f"{name}CurrentMemberAssignment-v0-away"]
    assert golden.value_bytes is not None
    # Version, two epochs, state.
    values = [golden.value_bytes[:10] + bytes([state]) + golden.value_bytes[11:] for state in range(4)]
    assert [row_of(golden.key_bytes, value)["event"]["member_state"] for value in values] == states


@pytest.mark.parametrize("kind", ["ConsumerGroup", "StreamsGroup"])
def test_a_static_member_that_left_has_the_event_static_member_away(kind: str) -> None:
    event = _event(f"{kind}CurrentMemberAssignment-v0-away")
    assert (event["event_type"], event["epoch"]) == ("static_member_away", -2)


def test_a_target_assignment_has_the_time_that_the_broker_wrote() -> None:
    name = "ConsumerGroupTargetAssignmentMetadata-v0-"
    assert _event(name + "tags")["state_time"] == A_TIME.replace(microsecond=2000)
    assert _event(name + "full")["state_time"] is None


def test_a_tombstone_of_an_expression_has_it_in_its_details() -> None:
    for variant in ["v0-full", "vNone-tombstone"]:
        details = json.loads(_event(f"ConsumerGroupRegularExpression-{variant}")["details"])
        assert details["regular_expression"] == "s2"


def test_bytes_in_details_are_base64() -> None:
    details = json.loads(_event("GroupMetadata-v0-full")["details"])
    assert re.fullmatch(r"[A-Za-z0-9+/]{3}[A-Za-z0-9+/=]", details["members"][0]["subscription"])


def test_a_tombstone_has_only_a_type_and_a_member() -> None:
    for golden in [golden for golden in GOLDEN if golden.variant == "tombstone" and golden.type not in COMMIT_TYPES]:
        event = row_of(golden.key_bytes, None)["event"]
        assert set(_filled(event)) <= {"record_name", "event_type", "member_id"}
        assert event["event_type"].endswith(("removed", "left"))


def test_the_docstring_explains_each_event_type_once() -> None:
    row = re.compile(r"^\| (\w+) \| ([\d, ]+) \| .* \| (\w+)(?: \(.*\))? \|$", re.MULTILINE)
    explained = row.findall(record_types.__doc__ or "")
    described = {(written, removed, int(kind)) for written, kinds, removed in explained for kind in kinds.split(", ")}
    special = {("group_emptied", "group_removed", 2)}
    special |= {("static_member_away", "member_assignment_removed", kind) for kind in (8, 22)}
    assert (
        described
        == {(kind.written, kind.removed, kind.id) for kind in RECORD_TYPES if kind.id not in COMMIT_TYPES} | special
    )
    assert len({written for written, _, _ in explained}) == len(explained)
