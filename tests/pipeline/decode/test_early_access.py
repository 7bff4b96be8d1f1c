"""Layouts that only an early access had: KIP-848 groups in 3.7, share groups in 4.0.

The bytes are from the classes of kafka-group-coordinator 3.7.2 and 4.0: MessageUtil.toVersionPrefixedBytes(0, value).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.pipeline.decode.golden_records import BY_NAME, row_of

_ID = "00000000000000010000000000000002"
_HELD = "02" + _ID + "03" + "0000000000000003" + "00"  # partitions 0 and 3
_PENDING = "02" + _ID + "02" + "00000005" + "00"
_MEMBER = "0269000263032f6802076f7264657273000000afc808756e69666f726d"
_REST = "00000001" + "00"  # no error, version 0 of no metadata
_ORDERS = "02" + _ID + "076f7264657273" + "030000000000000003" + "00"
_GONE = "02" + "00000000000000030000000000000004" + "05676f6e65" + "00"


def event_of(name: str, value: str) -> dict[str, Any]:
    row = row_of(BY_NAME[f"{name}-vNone-tombstone"].key_bytes, bytes.fromhex("0000" + value))
    assert (row["kind"], row["value_version"]) == ("group_event", 0)
    event: dict[str, Any] = row["event"]
    return {**event, "details": json.loads(event["details"])}


@pytest.mark.parametrize("assignors", ["01", "02" + "046f776e" + "00000001" + "00" + "0001" + "04010203" + "00"])
def test_a_member_is_decoded_whatever_assignors_it_brings(assignors: str) -> None:
    event = event_of("ConsumerGroupMemberMetadata", _MEMBER + assignors + "00")
    assert (event["event_type"], event["topics"], event["client_id"]) == ("member_metadata", ["orders"], "c")
    names = [assignor["name"] for assignor in event["details"]["assignors"]]
    assert names == ([] if assignors == "01" else ["own"])


@pytest.mark.parametrize(
    ("epochs", "pending", "state", "given_up"),
    [
        ("000000070000000600000007", "01" + "01", "STABLE", []),
        ("000000070000000600000007", "01" + _PENDING, "UNRELEASED_PARTITIONS", []),
        ("000000060000000500000007", _PENDING + _PENDING, "UNREVOKED_PARTITIONS", [5]),
    ],
)
def test_the_state_of_a_member_follows_from_what_is_pending(
    epochs: str, pending: str, state: str, given_up: list[int]
) -> None:
    event = event_of("ConsumerGroupCurrentMemberAssignment", epochs + _HELD + pending + _REST)
    assert (event["epoch"], event["previous_epoch"]) == (int(epochs[:8], 16), int(epochs[8:16], 16))
    assert event["member_state"] == state
    assert [part["partitions"] for part in event["assignment"]] == [[0, 3]]
    assert [number for part in event["pending_revocation"] for number in part["partitions"]] == given_up


def test_a_target_assignment_is_decoded_without_its_metadata() -> None:
    event = event_of("ConsumerGroupTargetAssignmentMember", "00" + _HELD + "0000" + "01" + "00")
    assert [part["partitions"] for part in event["assignment"]] == [[0, 3]]


def test_topics_that_were_written_with_an_epoch_are_decoded() -> None:
    event = event_of("ConsumerGroupPartitionMetadata", "00000007" + "02" + _ID + "076f7264657273" + "00000002010000")
    assert event["topics"] == ["orders"]


def test_the_epoch_of_a_share_group_is_decoded_without_a_hash() -> None:
    event = event_of("ShareGroupMetadata", "0000000700")
    assert (event["epoch"], event["details"]) == (7, {"epoch": 7})


@pytest.mark.parametrize("orders", ["01", _ORDERS])
@pytest.mark.parametrize("gone", ["01", _GONE])
def test_the_topics_of_a_share_group_are_those_that_are_initialised(orders: str, gone: str) -> None:
    event = event_of("ShareGroupStatePartitionMetadata", orders + gone + "00")
    assert event["topics"] == (["orders"] if orders == _ORDERS else [])
    assert [topic["partitions"] for topic in event["details"]["initialized_topics"]] == [[0, 3]] * (orders == _ORDERS)
    assert [topic["topic_name"] for topic in event["details"]["deleting_topics"]] == ["gone"] * (gone == _GONE)
    assert "initializing_topics" not in event["details"]


def test_what_is_of_neither_layout_is_reported_by_that_of_today() -> None:
    row = row_of(BY_NAME["ShareGroupMetadata-vNone-tombstone"].key_bytes, bytes.fromhex("0000" + "000007"))
    assert row["kind"] == "unknown"
    assert row["raw"]["problem"].startswith("the value of this ShareGroupMetadata cannot be read: int32: 4 bytes")
