"""Stories of groups: what remains of their records, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tests.pipeline.build.kernels.event_rows import (
    DAY,
    Row,
    epoch,
    generation,
    joined,
    left,
    member,
    placed,
    removed,
    sample,
    stable,
)

BEFORE_MIDNIGHT = DAY / 2 - 10
MIDNIGHT = DAY / 2


def joins(seconds: float, number: int, name: str, *others: str) -> list[Row]:
    """Return records of a member that joins and reaches the epoch at once; the others follow half a minute later."""
    reached = [stable(seconds + 30 + late, number, other, since=number - 1) for late, other in enumerate(others)]
    return [joined(seconds, name), epoch(seconds, number), stable(seconds + 1, number, name), *reached]


OLD = [row for late, name in enumerate("abc") for row in joins(-10 * DAY + late, late + 1, name)]
NEW = [*joins(0, 4, "d", "a", "b", "c"), *joins(100, 5, "e", "a", "b", "c", "d")]
# What remains of groups that had members before.
MEMBERS: Mapping[str, Sequence[Row]] = {
    "joined": NEW,
    "no other member yet": joins(0, 4, "d"),
    "overtaken, and no other member": [*joins(0, 4, "d"), *joins(10, 5, "e")],
    "alone for long": [*joins(0, 4, "d"), epoch(3_600, 5), stable(3_600, 5, "d", since=4)],
    "left": [left(0, "d"), epoch(0, 4), *(stable(30, 4, name, since=3) for name in "abc")],
    "all left": [left(0, "a"), left(0, "b"), epoch(0, 4)],
    "away": [*joins(0, 4, "d"), stable(30, -2, "a") | {"event_type": "static_member_away"}],
    "other subscription": [joined(0, "a"), epoch(0, 4), stable(0, 4, "a", since=3), stable(30, 4, "b", since=3)],
    "known in part": [joined(-3_600, "b"), *joins(0, 4, "d", "a", "b")],
    "after midnight": joins(BEFORE_MIDNIGHT, 4, "d", "a", "b", "c"),
    "a day too late": [*joins(0, 4, "d"), stable(2 * DAY, 4, "a", since=3)],
    "deleted and created": [
        *(joined(0, "m"), epoch(0, 1), stable(1, 1, "m"), left(10, "m"), epoch(10, 2), removed(20)),
        *(joined(30, "m"), epoch(30, 1), stable(34, 1, "m")),
    ],
    "upgraded": [
        *(generation(0, 1, "m"), generation(10, 2)),
        *(removed(40, "GroupMetadata"), joined(40, "n"), epoch(40, 1), stable(41, 1, "n")),
    ],
    "sampled": [sample(-5, "Stable", "a", "b", "c"), *joins(0, 4, "d"), sample(20, "Reconciling", "a", "b", "c", "d")],
    "sampled without members": [*joins(0, 4, "d", "a"), sample(60, "Stable")],
    "of another protocol before": [
        joined(0, "s") | {"record_name": "ShareGroupMemberMetadata"},
        left(10, "s") | {"record_name": "ShareGroupMemberMetadata"},
        left(10, "t") | {"record_name": "ShareGroupMemberMetadata"},
        removed(20, "ShareGroupMetadata"),
        *joins(30, 1, "m"),
    ],
    "whose leave was lost": [left(0, "x"), removed(10, "StreamsGroupMetadata"), *joins(30, 1, "m")],
    "created after a removal": [removed(0), *joins(30, 3, "m")],
    "upgraded before": [removed(0, "GroupMetadata"), *joins(1, 3, "m")],
    "upgraded, and there": [removed(0, "GroupMetadata"), epoch(20, 1), stable(40, 1, "n")],
    "upgraded the day before": [removed(0, "GroupMetadata"), *joins(DAY, 3, "m")],
    "began the day before": [epoch(0, 1), *joins(DAY, 3, "m")],
    "soon removed": [*joins(0, 3, "m"), left(10, "m"), removed(20)],
    "joined the day before": [*joins(0, 4, "d"), *joins(DAY, 5, "e")],
    "there two days before": [stable(-DAY, 3, "a"), stable(0, 3, "a"), *joins(DAY, 4, "d")],
    "joined before its epoch": [joined(0, "d"), epoch(5, 4), stable(6, 4, "d")],
    "joined in another batch": [joined(-10, "x"), *joins(0, 4, "d", "a")],
    "of a clock that is behind": [joined(0, "d"), epoch(0, 1), stable(-1, 1, "d")],
    "tombstone alone": [*joins(0, 1, "a"), left(7_200, "x"), epoch(7_200, 3), stable(7_201, 3, "a", since=1)],
    "tombstone of the last member": [left(0, "a"), epoch(0, 4), left(7_200, "b"), epoch(7_200, 5)],
    "left twice": [*joins(0, 1, "m"), left(10, "m"), left(11, "m")],
    "there, left, and back": [stable(0, 4, "a"), left(10, "a"), stable(20, 4, "a"), stable(70, 4, "a")],
    "stable before the epoch": [stable(-10, 4, "a"), *joins(0, 4, "d", "a")],
    "left, and back": [*joins(0, 1, "m"), left(10, "m"), epoch(10, 2), *joins(20, 3, "m"), *joins(90, 4, "n", "m")],
}

A, B = member("a"), member("b")
CREATED = generation(-10, 0)
TWO_MEMBERS = (
    *(joined(0, "m1"), epoch(0, 1), stable(0, 1, "m1")),
    *(joined(10, "m2"), epoch(10, 2), stable(11, 2, "m2")),
)
REBALANCES: Mapping[str, Sequence[Row]] = {
    # b joins at 20, a works until 35, and commits what it has processed all the while.
    "held up": [CREATED, generation(5, 1, A), generation(35.2, 2, A, B, all_joined=35)],
    "long after": [CREATED, generation(5, 1, A), generation(7_200, 2, A, B)],
    "another member's timeout": [CREATED, generation(5, 1, member("a", 300)), generation(7_200, 2, B)],
    "after a night": [CREATED, generation(5, 1, A), generation(9, 2), generation(7_200, 3, B)],
    "given up once": [CREATED, generation(5, 1, A), generation(7_200, 3, A, B)],
    "static": [CREATED, generation(5, 1, member("a", instance="i")), generation(7_200, 2, A, B)],
    "old broker": [generation(5, 1, member("a", None)), generation(7_200, 2, A, B)],
    "first of all": [generation(5, 1, A)],
    "records before are lost": [generation(5, 7, A)],
    "clock set back": [CREATED, generation(5, 1, A), generation(3, 2, A, B)],
    "emptied": [CREATED, generation(5, 1, A), generation(7_200, 2, all_joined=7_200)],
    "written again": [CREATED, generation(5, 1, A), generation(9, 1, A)],
    "generation lost": [CREATED, generation(5, 1, A), generation(60, 3, B), generation(70, 4, A, B)],
    "created again, removal lost": [generation(5, 7, A), generation(60, 1, B)],
    "created again, first generation lost": [generation(5, 1, A), removed(9, "GroupMetadata"), generation(60, 2, B)],
    "after two nights": [generation(5, 1, member("a", None)), generation(5 + 2 * DAY, 2, A, B)],
    "over midnight": [generation(DAY / 2 - 20, 1, A), generation(DAY / 2 + 10, 2, A, B)],
    # A new member is first STABLE, with no partitions, at the epoch before its own.
    "newcomer": [
        *(joined(0, "m1"), epoch(0, 2), stable(0, 2, "m1")),
        *(joined(10, "m2"), epoch(10, 3), stable(11, 3, "m2"), stable(11, 2, "m1", state="UNREVOKED_PARTITIONS")),
        *(joined(40, "m3"), epoch(40, 4), stable(40, 3, "m3")),
        *(stable(60, 4, name) for name in ("m1", "m2", "m3")),
    ],
    "replaced": [
        *(joined(0, "m1"), epoch(0, 2), stable(0, 2, "m1"), joined(10, "m2"), epoch(10, 3), stable(11, 3, "m2")),
        *(joined(15, "m2 again"), stable(15, 3, "m2 again")),
    ],
    "replaced, and stable after midnight": [
        *(joined(0, "m1"), epoch(0, 2), stable(0, 2, "m1"), joined(10, "m2"), epoch(10, 3), stable(11, 3, "m2")),
        *(joined(15, "m2 again"), stable(DAY, 3, "m2 again")),
    ],
    "replaced after midnight": [
        *(joined(0, "m1"), epoch(0, 2), stable(0, 2, "m1"), joined(10, "m2"), epoch(10, 3), stable(11, 3, "m2")),
        *(joined(DAY / 2 + 15, "m2 again"), stable(DAY / 2 + 15, 3, "m2 again")),
    ],
    "epoch written again": [*TWO_MEMBERS, epoch(20, 2), stable(30, 2, "m1")],
    "removed": [*TWO_MEMBERS, removed(20), stable(30, 2, "m1")],
    "removed the next day": [*TWO_MEMBERS, removed(DAY), stable(DAY + 1, 2, "m1")],
    "deleted and created": [
        *(joined(0, "m1"), epoch(0, 1), stable(1, 1, "m1"), left(10, "m1"), epoch(10, 2), removed(20)),
        *(joined(30, "m2"), epoch(30, 1), stable(34, 1, "m2")),
    ],
    "late": [
        *(joined(0, "m1"), epoch(0, 2), stable(0, 2, "m1"), joined(10, "m2"), epoch(10, 3), stable(11, 3, "m2")),
        *(epoch(20, 4), stable(22, 3, "m1"), stable(25, 4, "m1"), stable(25, 4, "m2")),
    ],
    "reached the next day": [*TWO_MEMBERS, stable(DAY, 2, "m1")],
    "reached two days later": [*TWO_MEMBERS, stable(2 * DAY, 2, "m1")],
    "overtaken the next day": [*TWO_MEMBERS, joined(DAY, "m3"), epoch(DAY, 3)],
    "overtaken two days later": [*TWO_MEMBERS, joined(2 * DAY, "m3"), epoch(2 * DAY, 3)],
}
# The clock of one coordinator is ten seconds ahead, and the group moves to another one just before midnight.
AHEAD_AT_MIDNIGHT: Mapping[str, Sequence[Row]] = {
    "generations": [
        generation(MIDNIGHT - 300, 4, "a"),
        generation(MIDNIGHT + 5, 5, "a", "b"),
        generation(MIDNIGHT - 2, 6, "a", "b", "c"),
        generation(MIDNIGHT + 600, 7, "b", "c"),
    ],
    "epochs": [
        *(joined(0, "a"), epoch(0, 1), stable(0, 1, "a")),
        *(joined(MIDNIGHT - 300, "b"), epoch(MIDNIGHT - 300, 2)),
        *(stable(MIDNIGHT - 299, 2, "a", since=1), stable(MIDNIGHT - 299, 2, "b")),
        *(left(MIDNIGHT + 5, "b"), epoch(MIDNIGHT + 5, 3), stable(MIDNIGHT + 5, 3, "a", since=2)),
        *(joined(MIDNIGHT - 2, "c"), epoch(MIDNIGHT - 2, 4)),
        *(stable(MIDNIGHT - 1, 4, "a", since=3), stable(MIDNIGHT - 1, 4, "c")),
    ],
}
# One member stays while its group is upgraded, and downgraded again; each move is one batch.
THERE_AND_BACK = placed(
    [
        *(generation(0, 0), generation(1, 1, "stays")),
        *(removed(10, "GroupMetadata"), joined(10, "stays"), epoch(10, 1), joined(10, "newer"), epoch(10, 2)),
        *(left(20, "newer"), left(20, "stays"), removed(20), generation(20, 3, "stays")),
    ]
)
