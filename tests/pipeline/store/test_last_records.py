"""Old dates of group_events keep only the last record of each key, whatever came twice, and in both formats."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, Final

import pyarrow.parquet as pq

from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.store.compaction import compact
from kafka_groups.pipeline.store.retention import uniform_retention
from kafka_groups.pipeline.tables import GROUP_EVENTS
from tests.pipeline.fact_rows import NOON, Row, event, put

DAY: Final = 86_400
RETENTION: Final = timedelta(days=8)
MEMBER, EPOCH, PATTERN = "ConsumerGroupMemberMetadata", "ConsumerGroupMetadata", "ConsumerGroupRegularExpression"


def of_day(age: int, source: int, event_type: str, kind: str, **others: Any) -> Row:
    return event(-age * DAY, event_type, kind, source=source, **others)


def pattern(age: int, source: int, text: str) -> Row:
    return of_day(age, source, "regex_resolved", PATTERN, details=json.dumps({"regular_expression": text}))


def offsets_in(storage: Storage) -> dict[str, list[int]]:
    """Return the offsets of the records that are left, by date."""
    found: dict[str, list[int]] = {}
    for file in storage.files(GROUP_EVENTS):
        with storage.directory.fs.open_input_file(file.path) as opened:
            found.setdefault(file.date, []).extend(pq.read_table(opened)["source_offset"].to_pylist())
    return {date: sorted(offsets) for date, offsets in found.items()}


def date_of(age: int) -> str:
    return (NOON.date() - timedelta(days=age)).isoformat()


def thinned(storage: Storage, rows: Sequence[Row]) -> dict[str, list[int]]:
    put(storage, GROUP_EVENTS, "facts", [*rows, of_day(1, 9_000, "group_epoch", EPOCH, group="new", epoch=1)])
    compact(storage, retention=uniform_retention(RETENTION), now=NOON)
    left = offsets_in(storage)
    assert left.pop(date_of(1)) == [9_000]
    return left


def test_the_last_record_of_each_member_and_group_is_kept(storage: Storage) -> None:
    rows = [
        of_day(20, 1, "group_epoch", EPOCH, epoch=1),
        of_day(20, 2, "member_metadata", MEMBER, member_id="stays"),
        of_day(20, 3, "member_metadata", MEMBER, member_id="goes"),
        of_day(19, 4, "group_epoch", EPOCH, epoch=2),
        of_day(19, 5, "member_left", MEMBER, member_id="goes", is_tombstone=True),
        of_day(18, 6, "group_epoch", EPOCH, group="other", epoch=7),
    ]
    assert thinned(storage, rows) == {date_of(20): [2], date_of(19): [4], date_of(18): [6]}


def test_a_record_of_a_retained_date_does_not_replace_an_older_one(storage: Storage) -> None:
    rows = [
        of_day(20, 1, "member_metadata", MEMBER, member_id="m"),
        of_day(2, 2, "member_metadata", MEMBER, member_id="m"),
    ]
    assert thinned(storage, rows) == {date_of(20): [1], date_of(2): [2]}


def test_each_pattern_of_a_group_is_a_key(storage: Storage) -> None:
    assert thinned(storage, [pattern(20, 1, "a.*"), pattern(20, 2, "b.*"), pattern(19, 3, "a.*")]) == {
        date_of(20): [2],
        date_of(19): [3],
    }


def test_a_record_that_was_read_twice_is_kept_once_and_no_sample_is(storage: Storage) -> None:
    twice = of_day(20, 1, "group_epoch", EPOCH, epoch=1)
    put(storage, GROUP_EVENTS, "again", [twice])
    seen = of_day(19, 0, "state_seen", "Snapshot", state="Stable") | {"origin": "sample", "source_offset": None}
    assert thinned(storage, [twice, seen]) == {date_of(20): [1]}


def test_a_later_record_of_a_recreated_topic_is_last_despite_its_offset(storage: Storage) -> None:
    rows = [of_day(20, 500, "group_epoch", EPOCH, epoch=9), of_day(15, 3, "group_epoch", EPOCH, epoch=1)]
    assert thinned(storage, rows) == {date_of(15): [3]}


def test_the_greater_offset_is_last_though_its_clock_is_behind(storage: Storage) -> None:
    """Also across midnight, which is twelve hours before the facts' noon."""
    midnight = -20.5 * DAY
    came = event(midnight + 5, "member_metadata", MEMBER, source=1, member_id="m")
    left = event(midnight - 3, "member_left", MEMBER, source=2, member_id="m", is_tombstone=True)
    assert thinned(storage, [came, left]) == {}


def test_a_record_without_a_time_is_older_than_one_with_a_time(storage: Storage) -> None:
    untimed = [of_day(20, source, "group_epoch", EPOCH, record_time=None, epoch=source) for source in (1, 2)]
    other = of_day(20, 3, "group_epoch", EPOCH, record_time=None, group="other", epoch=1)

    assert thinned(storage, [*untimed, other, of_day(19, 4, "group_epoch", EPOCH, epoch=4)]) == {
        "1970-01-01": [3],
        date_of(19): [4],
    }


def test_a_record_of_a_recreated_topic_with_the_same_offset_is_kept(storage: Storage) -> None:
    rows = [
        of_day(20, 10, "member_metadata", MEMBER, member_id="old"),
        of_day(19, 11, "member_left", MEMBER, member_id="old", is_tombstone=True),
        of_day(15, 10, "member_metadata", MEMBER, member_id="new"),
    ]
    assert thinned(storage, rows) == {date_of(15): [10]}


def test_a_kept_record_is_removed_when_a_later_one_becomes_old(storage: Storage) -> None:
    assert thinned(
        storage, [of_day(20, 1, "group_epoch", EPOCH, epoch=1), of_day(5, 2, "group_epoch", EPOCH, epoch=2)]
    ) == {date_of(20): [1], date_of(5): [2]}
    done = compact(storage, retention=uniform_retention(RETENTION), now=NOON + timedelta(days=4))
    assert done.removed_table_dates == (("group_events", date_of(20)),)
    assert offsets_in(storage) == {date_of(5): [2], date_of(1): [9_000]}


def test_a_second_retention_changes_no_file(storage: Storage) -> None:
    rows = [of_day(20, at, "member_metadata", MEMBER, member_id=f"m{at}") for at in range(5)]
    assert thinned(storage, rows) == {date_of(20): [0, 1, 2, 3, 4]}
    files = storage.files(GROUP_EVENTS)
    assert compact(storage, retention=uniform_retention(RETENTION), now=NOON).removed_table_dates == ()
    assert storage.files(GROUP_EVENTS) == files
