"""A day of facts that were worked out by hand, in pieces that each show one case."""

from __future__ import annotations

from typing import Any

from tests.pipeline.fact_rows import Row, at, commit, ends, event

DAY = 86_400


def facts() -> dict[str, list[Row]]:
    """Return the rows of all these facts, by table name."""
    log = synthetic_log()
    return {
        "offset_commits": [*commits(), *log["offset_commits"]],
        "partition_offsets": [*log_ends(), *log["partition_offsets"]],
        "group_events": [*classic_generations(), *epochs(), *overtaken_epochs()],
    }


def synthetic_log() -> dict[str, list[Row]]:
    """Return partition 0 of `true`: record n is written at n seconds until 100, later ones every 2 seconds."""
    logs, commits = [], []
    for seconds in range(0, 301, 50):
        written = min(seconds, 100) + max(0, seconds - 100) // 2
        logs.append(ends(seconds, written, topic="true"))
    for index, (seconds, offset) in enumerate(((1, 0), (101, 30), (151, 75), (201, 110), (251, 150), (299, 200))):
        commits.append(commit(seconds, offset, source=500 + index, topic="true", group="clock"))
    logs.append(ends(20, 20, topic="true", origin="backfill", start=None, lookup_offset=30, lookup_timestamp=at(30)))
    return {"partition_offsets": logs, "offset_commits": commits}


def commits() -> list[Row]:
    """Return commits of groups that are rewound, deleted, idle or steady, that lost records, and of a classic group."""
    return [
        commit(0, 100, source=1),
        commit(60, 200, source=2),
        commit(90, 150, source=3),
        commit(130, None, source=4),
        commit(10, 5, group="lost", topic="cut"),
        commit(10, 50, source=6, group="below", topic="cut"),
        commit(-2 * DAY, 7, source=7, group="idle", topic="gone"),
        commit(170, 7, group="idle", topic="gone"),
        *(commit(60 * index, 100 * index, source=10 + index, group="steady", topic="s") for index in range(1, 5)),
        commit(1, 50, source=29, group="stable", topic="open"),
        commit(5, 1, source=30, group="old", topic="r"),
        commit(50, 2, source=31, group="old", topic="r"),
    ]


def log_ends() -> list[Row]:
    """Return log ends of topics with and without readers, and of one that was truncated."""
    return [
        ends(0, 300),
        ends(60, 300),
        ends(120, 310),
        ends(180, 320),
        ends(60, 100, start=20, topic="cut"),
        ends(0, 90, topic="cut"),
        ends(0, 0, topic="unread"),
        ends(180, 40, topic="unread"),
        # The last sample of all: of topics that it does not see nobody says that they are unread.
        ends(300, 40, topic="unread"),
        # The last ten records are of a transaction that is open.
        ends(60, 60, topic="open", last_stable_offset=50),
        *(ends(60 * index, 500 + 50 * index, topic="s") for index in range(1, 5)),
    ]


def classic_generations() -> list[Row]:
    """Return generations with one member, then with two; the last record is repeated."""
    return [
        event(
            3,
            "generation",
            "GroupMetadata",
            source=90,
            group="old",
            epoch=1,
            members=[member("a")],
            state_time=at(2.5),
        ),
        event(
            30,
            "generation",
            "GroupMetadata",
            source=91,
            group="old",
            epoch=2,
            members=[member("b"), member("a")],
            state_time=at(29),
        ),
        event(
            31,
            "generation",
            "GroupMetadata",
            source=92,
            group="old",
            epoch=2,
            members=[member("b"), member("a")],
            state_time=at(29),
        ),
    ]


def epochs() -> list[Row]:
    """Return KIP-848 records: a member joins, another joins, the first one leaves; records are repeated."""
    return [
        consumer(1, "member_metadata", "MemberMetadata", 1, member_id="m1"),
        consumer(1, "group_epoch", "Metadata", 2, epoch=1),
        consumer(2, "member_assignment", "CurrentMemberAssignment", 3, epoch=1, member_id="m1", member_state="STABLE"),
        consumer(9, "member_metadata", "MemberMetadata", 4, member_id="m1"),
        consumer(10, "member_metadata", "MemberMetadata", 5, member_id="m2"),
        consumer(10, "group_epoch", "Metadata", 6, epoch=2),
        consumer(
            11,
            "member_assignment",
            "CurrentMemberAssignment",
            7,
            epoch=2,
            member_id="m1",
            member_state="UNREVOKED_PARTITIONS",
        ),
        consumer(12, "member_assignment", "CurrentMemberAssignment", 8, epoch=2, member_id="m1", member_state="STABLE"),
        consumer(14, "member_assignment", "CurrentMemberAssignment", 9, epoch=2, member_id="m2", member_state="STABLE"),
        consumer(20, "member_left", "MemberMetadata", 10, member_id="m1", is_tombstone=True),
        consumer(20, "group_epoch", "Metadata", 11, epoch=3),
    ]


def overtaken_epochs() -> list[Row]:
    """Return KIP-848 records in which epoch 3 begins before all members have reached epoch 2."""
    return [
        overtaken(30, "member_metadata", "MemberMetadata", 20, member_id="m1"),
        overtaken(30, "group_epoch", "Metadata", 21, epoch=1),
        overtaken(
            31, "member_assignment", "CurrentMemberAssignment", 22, epoch=1, member_id="m1", member_state="STABLE"
        ),
        overtaken(40, "member_metadata", "MemberMetadata", 23, member_id="m2"),
        overtaken(40, "group_epoch", "Metadata", 24, epoch=2),
        # m1 reaches epoch 2, m2 never does: epoch 3 comes before.
        overtaken(
            41, "member_assignment", "CurrentMemberAssignment", 25, epoch=2, member_id="m1", member_state="STABLE"
        ),
        overtaken(42, "member_metadata", "MemberMetadata", 26, member_id="m3"),
        overtaken(42, "group_epoch", "Metadata", 27, epoch=3),
        *(
            overtaken(
                43 + n,
                "member_assignment",
                "CurrentMemberAssignment",
                28 + n,
                epoch=3,
                member_id=f"m{n}",
                member_state="STABLE",
            )
            for n in (1, 2, 3)
        ),
    ]


def member(name: str) -> Row:
    return {"member_id": name}


def consumer(seconds: float, event_type: str, kind: str, source: int, **others: Any) -> Row:
    return event(seconds, event_type, f"ConsumerGroup{kind}", source=source, **({"group": "new"} | others))


def overtaken(seconds: float, event_type: str, kind: str, source: int, **others: Any) -> Row:
    return consumer(seconds, event_type, kind, source, group="overtaken", **others)
