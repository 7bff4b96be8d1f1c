"""What 3.7 wrote of KIP-848 groups, then an early access, in layouts that no release after it has.

The bytes are from the classes of kafka-group-coordinator 3.7.2: MessageUtil.toVersionPrefixedBytes((short) 0, value).
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.pipeline.decode.golden_records import BY_NAME, row_of

_ID = "0000000000000001" + "0000000000000002"
_HELD = "02" + _ID + "03" + "0000000000000003" + "00"  # partitions 0 and 3
_PENDING = "02" + _ID + "02" + "00000005" + "00"
_MEMBER = "0269000263032f6802076f7264657273000000afc808756e69666f726d"
_REST = "00000001" + "00"  # no error, version 0 of no metadata


def event_of(name: str, value: str) -> dict[str, Any]:
    row = row_of(BY_NAME[f"{name}-vNone-tombstone"].key_bytes, bytes.fromhex("0000" + value))
    assert (row["kind"], row["value_version"]) == ("group_event", 0)
    event: dict[str, Any] = row["event"]
    return event


@pytest.mark.parametrize("assignors", ["01", "02" + "046f776e" + "00000001" + "00" + "0001" + "04010203" + "00"])
def test_a_member_is_decoded_whatever_assignors_it_brings(assignors: str) -> None:
    event = event_of("ConsumerGroupMemberMetadata", _MEMBER + assignors + "00")
    assert (event["event_type"], event["topics"], event["client_id"]) == ("member_metadata", ["orders"], "c")
    names = [assignor["name"] for assignor in json.loads(event["details"])["assignors"]]
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
