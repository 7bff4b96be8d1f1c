"""Layouts that only an early access had: those of share groups in 4.0 are read, those of KIP-848 groups in 3.7 are not.

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


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ConsumerGroupMemberMetadata", _MEMBER + "01" + "00"),
        (
            "ConsumerGroupMemberMetadata",
            _MEMBER + "02" + "046f776e" + "00000001" + "00" + "0001" + "04010203" + "00" * 2,
        ),
        ("ConsumerGroupCurrentMemberAssignment", "000000070000000600000007" + _HELD + "01" + "01" + _REST),
        ("ConsumerGroupCurrentMemberAssignment", "000000060000000500000007" + _HELD + _PENDING + _PENDING + _REST),
        ("ConsumerGroupTargetAssignmentMember", "00" + _HELD + "0000" + "01" + "00"),
        ("ConsumerGroupPartitionMetadata", "00000007" + "02" + _ID + "076f7264657273" + "00000002010000"),
    ],
)
def test_what_kip_848_groups_wrote_in_3_7_is_unknown_and_kept(name: str, value: str) -> None:
    data = bytes.fromhex("0000" + value)
    row = row_of(BY_NAME[f"{name}-vNone-tombstone"].key_bytes, data)
    assert (row["kind"], row["value_version"], row["raw"]["value"]) == ("unknown", 0, data)
    assert row["raw"]["problem"].startswith(f"the value of this {name} cannot be read: ")


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
