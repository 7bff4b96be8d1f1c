"""Layouts that only an early access had, of KIP-848 groups in 3.7 and of share groups in 4.0, are unknown records.

The bytes are from the classes of kafka-group-coordinator 3.7.2 and 4.0: MessageUtil.toVersionPrefixedBytes(0, value).
"""

from __future__ import annotations

import pytest

from tests.pipeline.facts.decode.golden_records import BY_NAME, row_of

_ID = "00000000000000010000000000000002"
_HELD = "02" + _ID + "03" + "0000000000000003" + "00"  # partitions 0 and 3
_PENDING = "02" + _ID + "02" + "00000005" + "00"
_MEMBER = "0269000263032f6802076f7264657273000000afc808756e69666f726d"
_REST = "00000001" + "00"  # no error, version 0 of no metadata
_ORDERS = "02" + _ID + "076f7264657273" + "030000000000000003" + "00"


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
        ("ShareGroupMetadata", "0000000700"),
        ("ShareGroupStatePartitionMetadata", _ORDERS + "01" + "00"),
    ],
)
def test_layouts_of_an_early_access_are_unknown_and_kept(name: str, value: str) -> None:
    data = bytes.fromhex("0000" + value)
    row = row_of(BY_NAME[f"{name}-vNone-tombstone"].key_bytes, data)
    assert (row["kind"], row["value_version"], row["raw"]["value"]) == ("unknown", 0, data)
    assert row["raw"]["problem"].startswith(f"the value of this {name} cannot be read: ")
