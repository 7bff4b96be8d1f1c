"""Hand-made histories in which compaction removed records of groups between two ingests."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from tests.pipeline.build.builds import build_here, built, read
from tests.pipeline.fact_rows import Row, commit, ends, event, new_storage, put_all

HOUR: Final = 3_600
DAY: Final = 86_400


def consumer(seconds: float, event_type: str, kind: str, source: int, **others: Any) -> Row:
    return event(seconds, event_type, f"ConsumerGroup{kind}", source=source, **others)


def stable(seconds: float, name: str, epoch: int, source: int) -> Row:
    fields = {"member_id": name, "epoch": epoch, "previous_epoch": epoch - 1, "member_state": "STABLE"}
    return consumer(seconds, "member_assignment", "CurrentMemberAssignment", source, **fields)


def rebalances_of(directory: Path, events: list[Row]) -> dict[int, Row]:
    """Return the rows of rebalances by generation or epoch."""
    offsets = {
        "offset_commits": [commit(1, 5, source=1_000), commit(3 * HOUR, 6, source=1_001)],
        "partition_offsets": [ends(seconds, 9) for seconds in (60, 3 * HOUR + 60)],
    }
    storage = built(directory, {"group_events": events, **offsets})
    return {row["generation"]: row for row in read(storage, "rebalances")}


def test_a_removed_member_that_was_never_seen_overtakes_no_epoch(tmp_path: Path) -> None:
    """m2 joined with epoch 2 and left with epoch 3, two hours later. Its join was replaced by the tombstone."""
    events = [
        consumer(0, "member_metadata", "MemberMetadata", 1, member_id="m1"),
        consumer(0, "group_epoch", "Metadata", 2, epoch=1),
        stable(2, "m1", 1, 3),
        consumer(
            2 * HOUR, "member_assignment_removed", "CurrentMemberAssignment", 9, member_id="m2", is_tombstone=True
        ),
        consumer(2 * HOUR, "member_left", "MemberMetadata", 10, member_id="m2", is_tombstone=True),
        consumer(2 * HOUR, "group_epoch", "Metadata", 11, epoch=3),
        stable(2 * HOUR + 1, "m1", 3, 12),
    ]

    first = rebalances_of(tmp_path, events)[1]

    assert (first["duration_quality"], first["duration_ms"]) == ("exact", 2_000)


def member_joins(seconds: float, name: str, epoch: int, *others: str, source: int) -> list[Row]:
    """Return records: a member joins with an epoch, and reaches it three seconds later, after the other members."""
    rows = [
        consumer(seconds, "member_metadata", "MemberMetadata", source, member_id=name),
        consumer(seconds, "group_epoch", "Metadata", source + 1, epoch=epoch),
        *(stable(seconds + 2, other, epoch, source + 2 + place) for place, other in enumerate(others)),
    ]
    return [*rows, stable(seconds + 3, name, epoch, source + 9) | {"previous_epoch": 0}]


def summary(row: Row) -> tuple[int | None, int | None, str, int | None]:
    return row["members_before"], row["members_after"], row["duration_quality"], row["duration_ms"]


FIRST_DAY: Final = [*member_joins(0, "m1", 1, source=1), *member_joins(2 * HOUR, "m2", 2, "m1", source=20)]
FIRST_REBALANCES: Final = {1: (0, 1, "exact", 3_000), 2: (1, 2, "exact", 3_000)}


def test_a_lost_join_does_not_change_rebalances_of_earlier_days(tmp_path: Path) -> None:
    """m3 subscribes again before the next ingest, and the cleaner removes its first record and those of epoch 3."""
    events = [
        *FIRST_DAY,
        stable(DAY, "m3", 3, 40) | {"previous_epoch": 0},
        consumer(DAY + 300, "member_metadata", "MemberMetadata", 50, member_id="m3"),
        consumer(DAY + 300, "group_epoch", "Metadata", 51, epoch=4),
        *(stable(DAY + 303, name, 4, 52 + place) for place, name in enumerate(("m1", "m2", "m3"))),
    ]

    rows = rebalances_of(tmp_path, events)

    assert {epoch: summary(row) for epoch, row in rows.items()} == FIRST_REBALANCES | {4: (3, 3, "exact", 3_000)}
    assert rows[4]["joined"] == []


def test_a_lost_join_changes_no_rebalance_that_an_earlier_build_wrote(tmp_path: Path) -> None:
    """A build after each ingest has the same rows as one build of all records."""
    storage = new_storage(tmp_path)
    put_all(storage, "first", {"group_events": FIRST_DAY})
    build_here(storage)
    early = read(storage, "rebalances")
    put_all(storage, "second", {"group_events": [stable(DAY, "m3", 3, 40) | {"previous_epoch": 2}]})
    build_here(storage)

    assert {row["generation"]: summary(row) for row in early} == FIRST_REBALANCES
    assert read(storage, "rebalances") == early


def test_a_lost_join_of_an_old_group_does_not_change_earlier_days(tmp_path: Path) -> None:
    """The group began before the first record. m3 had no epoch before its assignment, so it joined on that day."""
    events = [
        *member_joins(0, "m2", 8, "m1", source=1),
        stable(DAY, "m3", 9, 40) | {"previous_epoch": 0},
        consumer(DAY + 300, "member_metadata", "MemberMetadata", 50, member_id="m3"),
    ]

    assert summary(rebalances_of(tmp_path, events)[8]) == (1, 2, "exact", 3_000)


def test_a_member_lost_the_next_day_makes_no_empty_group_unknown(tmp_path: Path) -> None:
    """The only member left on the first day. The next day another one joined and left: only its tombstone remains."""
    events = [
        *member_joins(0, "m1", 1, source=1),
        consumer(HOUR, "member_left", "MemberMetadata", 20, member_id="m1", is_tombstone=True),
        consumer(HOUR, "group_epoch", "Metadata", 21, epoch=2),
        consumer(DAY, "member_left", "MemberMetadata", 40, member_id="m2", is_tombstone=True),
        consumer(DAY, "group_epoch", "Metadata", 41, epoch=4),
    ]

    assert summary(rebalances_of(tmp_path, events)[2]) == (1, 0, "exact", 0)


def generation(seconds: float, number: int, *names: str, source: int) -> Row:
    members = [{"member_id": name, "rebalance_timeout_ms": 60_000} for name in names]
    return event(seconds, "generation", "GroupMetadata", source=source, epoch=number, members=members)


def test_after_lost_generations_it_is_unknown_who_joined_and_left(tmp_path: Path) -> None:
    """Generations 2 to 4 were replaced by generation 5, so the members before it are not known."""
    rows = rebalances_of(tmp_path, [generation(0, 1, "a", "b", source=1), generation(HOUR, 5, "b", "c", source=9)])

    assert [rows[5][name] for name in ("members_before", "joined", "left")] == [None, None, None]
    assert rows[5]["members_after"] == 2


def test_without_lost_generations_it_is_known_who_joined_and_left(tmp_path: Path) -> None:
    rows = rebalances_of(tmp_path, [generation(0, 1, "a", "b", source=1), generation(HOUR, 2, "b", "c", source=9)])

    assert [rows[2][name] for name in ("members_before", "members_after", "joined", "left")] == [2, 2, ["c"], ["a"]]
