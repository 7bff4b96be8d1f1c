"""What 4.0 wrote of share groups, in layouts that no release after it has; the bytes are from its own classes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.pipeline.decode.golden_records import BY_NAME, row_of

ORDERS = {"topic_name": "orders", "partitions": [0, 3]}
GONE = {"topic_name": "gone"}
_ORDERS = "020000000000000001" + "0000000000000002" + "076f7264657273" + "030000000000000003" + "00"
_GONE = "020000000000000003" + "0000000000000004" + "05676f6e65" + "00"


def event_of(name: str, value: str) -> dict[str, Any]:
    row = row_of(BY_NAME[f"{name}-vNone-tombstone"].key_bytes, bytes.fromhex("0000" + value))
    assert (row["kind"], row["value_version"]) == ("group_event", 0)
    event: dict[str, Any] = row["event"]
    return event


def without_ids(topics: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: value for name, value in topic.items() if name != "topic_id"} for topic in topics]


def test_the_epoch_of_a_share_group_is_decoded_without_a_hash() -> None:
    event = event_of("ShareGroupMetadata", "0000000700")
    assert (event["epoch"], json.loads(event["details"])) == (7, {"epoch": 7})


@pytest.mark.parametrize(
    ("value", "initialized", "deleting"),
    [
        (_ORDERS + _GONE + "00", [ORDERS], [GONE]),
        (_ORDERS + "0100", [ORDERS], []),
        ("01" + _GONE + "00", [], [GONE]),
        ("010100", [], []),
    ],
)
def test_the_topics_of_a_share_group_are_those_that_are_initialised(
    value: str, initialized: list[dict[str, Any]], deleting: list[dict[str, Any]]
) -> None:
    event = event_of("ShareGroupStatePartitionMetadata", value)
    assert event["topics"] == [topic["topic_name"] for topic in initialized]
    details = json.loads(event["details"])
    assert without_ids(details["initialized_topics"]) == initialized
    assert without_ids(details["deleting_topics"]) == deleting
    assert "initializing_topics" not in details


def test_what_is_of_neither_layout_is_reported_by_that_of_today() -> None:
    key = BY_NAME["ShareGroupMetadata-vNone-tombstone"].key_bytes
    row = row_of(key, bytes.fromhex("0000" + "000007"))
    assert row["kind"] == "unknown"
    assert row["raw"]["problem"].startswith("the value of this ShareGroupMetadata cannot be read: ")
