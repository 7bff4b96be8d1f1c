"""Records that Kafka's classes wrote, compared with the output of Kafka's JSON converters."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import pytest

from kafka_groups.pipeline.facts.decode.record_types import COMMIT_TYPES, RECORD_TYPES
from tests.pipeline.facts.decode.golden_records import BY_NAME, GOLDEN, Golden, row_of, rows_of


def _chunk(records: Iterable[Golden]) -> list[tuple[bytes | None, bytes | None]]:
    return [(golden.key_bytes, golden.value_bytes) for golden in records]


ROWS = list(zip(GOLDEN, rows_of(_chunk(GOLDEN)), strict=True))

# Values of absent fields, which Kafka's converters omit.
ABSENT_VALUES: list[Any] = [None, 0, -1, []]


def _without_absent(ours: Any, theirs: Any) -> Any:
    """Return our values without fields that Kafka's converters omit, if these have the value of an absent field."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return [_without_absent(our, their) for our, their in zip(ours, theirs, strict=True)]
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return {
            name: _without_absent(value, theirs.get(name))
            for name, value in ours.items()
            if name in theirs or value not in ABSENT_VALUES
        }
    return ours


def _at(milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC)


def test_golden_records_have_every_type_version_and_tombstone() -> None:
    wanted = {
        (record_type.id, version)
        for record_type in RECORD_TYPES
        for version in [None, *range(1 if record_type.id == 0 else record_type.newest_version + 1)]
    }
    assert {(golden.type, golden.version) for golden in GOLDEN} == wanted


def test_types_have_kafkas_names() -> None:
    assert {(golden.type, golden.name) for golden in GOLDEN} == {(kind.id, kind.name) for kind in RECORD_TYPES}


def test_keys_equal_those_of_kafkas_converters() -> None:
    for golden, row in ROWS:
        member_id = (row["event"] or {}).get("member_id")
        assert (row["record_type"], row["value_version"]) == (golden.type, golden.version)
        assert row["is_tombstone"] is (golden.value is None)
        assert row["group"] == golden.key.get("group", golden.key.get("group_id"))
        names = {"topic": row["topic"], "partition": row["partition"], "member_id": member_id}
        assert names == {name: golden.key.get(name) for name in names}


def test_commits_equal_those_of_kafkas_converters() -> None:
    commits = [(row, golden.value) for golden, row in ROWS if golden.type in COMMIT_TYPES and golden.value is not None]
    assert commits
    for row, value in commits:
        assert row["kind"] == "offset_commit"
        assert row["committed_offset"] == value["offset"]
        assert row["leader_epoch"] == (None if value.get("leader_epoch") == -1 else value.get("leader_epoch"))
        assert row["metadata"] == value["metadata"]
        assert row["commit_time"] == _at(value["commit_timestamp"])
        assert row["expire_time"] == _at(value.get("expire_timestamp"))
        assert row["topic_id"] == value.get("topic_id")
        assert (row["event"], row["raw"], row["gap"]) == (None, None, None)


def test_details_of_events_equal_those_of_kafkas_converters() -> None:
    for golden, row in ROWS:
        if golden.type in COMMIT_TYPES:
            continue
        assert row["kind"] == "group_event"
        assert row["event"]["record_name"] == golden.name
        details = json.loads(row["event"]["details"] or "null")
        expression = {"regular_expression": golden.key["regular_expression"]} if golden.type == 16 else {}
        expected = golden.value if golden.value is None and not expression else {**expression, **(golden.value or {})}
        assert _without_absent(details, expected) == expected


_KEY = ("group", "topic", "partition", "record_type", "is_tombstone")


@pytest.mark.parametrize("version", range(5))
def test_a_value_that_is_too_short_or_too_long_is_unknown(version: int) -> None:
    for golden, whole in ROWS:
        if golden.value_bytes is None or golden.version != version:
            continue
        cuts = [golden.value_bytes[:size] for size in range(min(len(golden.value_bytes), 300))]
        others = [*cuts, golden.value_bytes + b"\x00"]
        rows = rows_of([(golden.key_bytes, value) for value in others])
        for row, value in zip(rows, others, strict=True):
            assert row["kind"] == "unknown"
            assert (row["raw"]["key"], row["raw"]["value"]) == (golden.key_bytes, value)
            assert golden.name in row["raw"]["problem"]
            assert [row[name] for name in _KEY] == [whole[name] for name in _KEY]
            assert row["committed_offset"] is None


def test_a_key_that_is_too_short_is_unknown() -> None:
    keys = [BY_NAME[f"{kind.name}-vNone-tombstone"].key_bytes for kind in RECORD_TYPES]
    cuts = [key[:size] for key in keys for size in range(len(key))]
    for row, cut in zip(rows_of([(cut, b"\x00\x00") for cut in cuts]), cuts, strict=True):
        assert (row["kind"], row["group"], row["raw"]["key"]) == ("unknown", None, cut)


def test_records_of_a_chunk_are_decoded_as_if_they_were_alone() -> None:
    moved = {"source_offset", "record_time"}
    for golden, row in ROWS:
        alone = row_of(golden.key_bytes, golden.value_bytes)
        assert {name: row[name] for name in row.keys() - moved} == {name: alone[name] for name in row.keys() - moved}
    assert [row["source_offset"] for _, row in ROWS] == list(range(100, 100 + len(GOLDEN)))
