"""What Kafka's own classes wrote, decoded: by its own JSON converters and by us."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest

from kafka_groups.pipeline.decode.record_types import ALL, COMMITS
from tests.pipeline.decode.golden_records import BY_NAME, GOLDEN, Golden, Row, row_of, rows_of

COMMIT_RECORDS = [golden for golden in GOLDEN if golden.type in COMMITS and golden.value is not None]
EVENT_RECORDS = [golden for golden in GOLDEN if golden.type not in COMMITS]
VALUES = [golden for golden in GOLDEN if golden.value_bytes is not None]

# What a field holds that the bytes do not mention; Kafka's converters leave such fields out.
UNSAID: list[Any] = [None, 0, -1, []]


def _said(ours: Any, theirs: Any) -> Any:
    """Our values without those that theirs does not mention, if they are what an absent field holds."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return [_said(our, their) for our, their in zip(ours, theirs, strict=True)]
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return {
            name: _said(value, theirs.get(name))
            for name, value in ours.items()
            if name in theirs or value not in UNSAID
        }
    return ours


def _at(milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC)


def _names(golden: Golden) -> tuple[Any, ...]:
    return golden.type, golden.version


def _row(golden: Golden) -> Row:
    return row_of(golden.key_bytes, golden.value_bytes)


def test_every_type_and_version_is_among_them_with_a_tombstone() -> None:
    wanted = {
        (record_type.id, version)
        for record_type in ALL
        for version in [None, *range(1 if record_type.id == 0 else record_type.newest_version + 1)]
    }
    assert {_names(golden) for golden in GOLDEN} == wanted


def test_the_types_have_the_names_that_kafka_gives_them() -> None:
    assert {(golden.type, golden.name) for golden in GOLDEN} == {(kind.id, kind.name) for kind in ALL}


@pytest.mark.parametrize("golden", GOLDEN, ids=str)
def test_a_key_is_what_kafka_says_it_is(golden: Golden) -> None:
    row = _row(golden)
    assert row["record_type"] == golden.type
    assert row["value_version"] == golden.version
    assert row["tombstone"] is (golden.value is None)
    assert row["group"] == golden.key.get("group", golden.key.get("group_id"))
    assert row["topic"] == golden.key.get("topic")
    assert row["partition"] == golden.key.get("partition")
    assert (row["event"] or {}).get("member_id") == golden.key.get("member_id")


@pytest.mark.parametrize("golden", COMMIT_RECORDS, ids=str)
def test_a_commit_is_what_kafka_says_it_is(golden: Golden) -> None:
    row, value = _row(golden), golden.value
    assert value is not None
    assert row["kind"] == "offset_commit"
    assert row["committed_offset"] == value["offset"]
    assert row["leader_epoch"] == (None if value.get("leader_epoch") == -1 else value.get("leader_epoch"))
    assert row["metadata"] == value["metadata"]
    assert row["commit_time"] == _at(value["commit_timestamp"])
    assert row["expire_time"] == _at(value.get("expire_timestamp"))
    assert row["topic_id"] == value.get("topic_id")
    assert (row["event"], row["raw"], row["gap"]) == (None, None, None)


@pytest.mark.parametrize("golden", EVENT_RECORDS, ids=str)
def test_the_details_of_an_event_are_what_kafka_says_is_in_its_value(golden: Golden) -> None:
    row = _row(golden)
    assert row["kind"] == "group_event"
    assert row["event"]["type"] == golden.name
    details = json.loads(row["event"]["details"] or "null")
    expression = {"regular_expression": golden.key["regular_expression"]} if golden.type == 16 else {}
    expected = golden.value if golden.value is None and not expression else {**expression, **(golden.value or {})}
    assert _said(details, expected) == expected


@pytest.mark.parametrize("golden", VALUES, ids=str)
def test_a_value_cut_anywhere_is_kept_as_unknown(golden: Golden) -> None:
    assert golden.value_bytes is not None
    cuts = [golden.value_bytes[:size] for size in range(min(len(golden.value_bytes), 300))]
    rows = rows_of([(golden.key_bytes, cut) for cut in cuts])
    whole_in_3_7 = [cut for row, cut in zip(rows, cuts, strict=True) if _is_of_3_7(row)]
    assert len(whole_in_3_7) == (str(golden) == "ConsumerGroupMemberMetadata-v0-nulls")
    _are_kept_as_unknown(golden, [(golden.key_bytes, cut) for cut in cuts if cut not in whole_in_3_7])


@pytest.mark.parametrize("golden", VALUES, ids=str)
def test_a_value_with_bytes_left_over_is_kept_as_unknown(golden: Golden) -> None:
    assert golden.value_bytes is not None
    _are_kept_as_unknown(golden, [(golden.key_bytes, golden.value_bytes + b"\x00")])


def _is_of_3_7(row: Row) -> bool:
    """Return whether a row is of a cut value that is whole as Kafka 3.7 wrote it.

    Where the tags begin today, 3.7 wrote a member's assignors; no assignors are 01 00, as a tag is that is cut.
    """
    return bool(row["kind"] == "group_event" and json.loads(row["event"]["details"]).get("assignors") == [])


def _are_kept_as_unknown(golden: Golden, pairs: Sequence[tuple[bytes | None, bytes | None]]) -> None:
    whole = _row(golden)
    for row, (key, value) in zip(rows_of(pairs), pairs, strict=True):
        assert row["kind"] == "unknown"
        assert row["raw"]["key"] == key
        assert row["raw"]["value"] == value
        assert golden.name in row["raw"]["problem"]
        assert [row[name] for name in _KEY] == [whole[name] for name in _KEY]
        assert row["committed_offset"] is None


_KEY = ("group", "topic", "partition", "record_type", "tombstone")


@pytest.mark.parametrize("golden", [BY_NAME[f"{kind.name}-vNone-tombstone"] for kind in ALL], ids=str)
def test_a_key_cut_anywhere_is_kept_as_unknown(golden: Golden) -> None:
    for size in range(len(golden.key_bytes)):
        row = row_of(golden.key_bytes[:size], b"\x00\x00")
        assert row["kind"] == "unknown"
        assert row["raw"]["key"] == golden.key_bytes[:size]
        assert row["group"] is None


def _chunk(records: Iterable[Golden]) -> list[tuple[bytes | None, bytes | None]]:
    return [(golden.key_bytes, golden.value_bytes) for golden in records]


def test_records_of_all_kinds_in_one_chunk_are_decoded_as_each_on_its_own() -> None:
    together = rows_of(_chunk(GOLDEN))
    alone = [_row(golden) for golden in GOLDEN]
    moved = {"source_offset", "record_time"}
    assert [{name: row[name] for name in row.keys() - moved} for row in together] == [
        {name: row[name] for name in row.keys() - moved} for row in alone
    ]
    assert [row["source_offset"] for row in together] == list(range(100, 100 + len(GOLDEN)))
