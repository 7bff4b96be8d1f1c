"""Hand-made worlds in which compaction removed records of groups between two ingests."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from tests.pipeline.build.builds import built, read
from tests.pipeline.fact_rows import Row, commit, ends, event

HOUR: Final = 3_600


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
        consumer(2 * HOUR, "member_assignment_removed", "CurrentMemberAssignment", 9, member_id="m2", tombstone=True),
        consumer(2 * HOUR, "member_left", "MemberMetadata", 10, member_id="m2", tombstone=True),
        consumer(2 * HOUR, "group_epoch", "Metadata", 11, epoch=3),
        stable(2 * HOUR + 1, "m1", 3, 12),
    ]

    first = rebalances_of(tmp_path, events)[1]

    assert (first["duration_quality"], first["duration_ms"]) == ("exact", 2_000)


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
