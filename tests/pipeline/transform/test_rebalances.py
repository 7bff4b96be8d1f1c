"""How long rebalances took: what a bound bounds, what is not exact, and who is left when all have gone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.pipeline.steps.members import at_times, events_once, memberships, states
from kafka_groups.pipeline.tables import GROUP_DAILY, GROUP_EVENTS, REBALANCES
from tests.pipeline.steps.conftest import Stories
from tests.pipeline.fact_rows import Row, at, commit, event, new_storage, put_all

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
Told = dict[tuple[str, int], tuple[str, int | None]]
MINUTE = 60


def member(name: str, timeout_s: float | None = MINUTE, *, instance: str | None = None) -> Row:
    timeout = None if timeout_s is None else int(timeout_s * 1_000)
    return {"member_id": name, "rebalance_timeout_ms": timeout, "group_instance_id": instance}


def generation(seconds: float, number: int, *members: Row, joined: float | None = None) -> Row:
    """A classic group's record; all had `joined` half a second before, unless told otherwise. Nobody: it is empty."""
    meaning = "generation" if members else "group_emptied"
    since = at(seconds - 0.5 if joined is None else joined)
    return event(seconds, meaning, "GroupMetadata", source=0, epoch=number, members=list(members), state_time=since)


def came(seconds: float, name: str) -> Row:
    return event(seconds, "member_metadata", "ConsumerGroupMemberMetadata", source=0, member_id=name)


def left(seconds: float, name: str) -> Row:
    return event(seconds, "member_left", "ConsumerGroupMemberMetadata", source=0, member_id=name, tombstone=True)


def removed(seconds: float) -> Row:
    return event(seconds, "group_removed", "ConsumerGroupMetadata", source=0, tombstone=True)


def epoch(seconds: float, number: int) -> Row:
    return event(seconds, "group_epoch", "ConsumerGroupMetadata", source=0, epoch=number)


def stable(seconds: float, number: int, name: str, *, state: str = "STABLE") -> Row:
    kind = "ConsumerGroupCurrentMemberAssignment"
    return event(seconds, "member_assignment", kind, source=0, epoch=number, member_id=name, member_state=state)


A, B = member("a"), member("b")
MADE = generation(-10, 0)
STORIES: Mapping[str, Sequence[Row]] = {
    # b comes at 20, a works on until 35, and commits what it has done all the while.
    "held up": [MADE, generation(5, 1, A), generation(35.2, 2, A, B, joined=35)],
    "long after": [MADE, generation(5, 1, A), generation(7_200, 2, A, B)],
    "another's patience": [MADE, generation(5, 1, member("a", 300)), generation(7_200, 2, B)],
    "after a night": [MADE, generation(5, 1, A), generation(9, 2), generation(7_200, 3, B)],
    "given up once": [MADE, generation(5, 1, A), generation(7_200, 3, A, B)],
    "static": [MADE, generation(5, 1, member("a", instance="i")), generation(7_200, 2, A, B)],
    "old broker": [generation(5, 1, member("a", None)), generation(7_200, 2, A, B)],
    "first of all": [generation(5, 1, A)],
    "records before are lost": [generation(5, 7, A)],
    "clock set back": [MADE, generation(5, 1, A), generation(3, 2, A, B)],
    "emptied": [MADE, generation(5, 1, A), generation(7_200, 2, joined=7_200)],
    # A new member is told to be STABLE, with nothing, at the epoch before its own.
    "newcomer": [
        *(came(0, "m1"), epoch(0, 2), stable(0, 2, "m1")),
        *(came(10, "m2"), epoch(10, 3), stable(11, 3, "m2"), stable(11, 2, "m1", state="UNREVOKED_PARTITIONS")),
        *(came(40, "m3"), epoch(40, 4), stable(40, 3, "m3")),
        *(stable(60, 4, name) for name in ("m1", "m2", "m3")),
    ],
    "replaced": [
        *(came(0, "m1"), epoch(0, 2), stable(0, 2, "m1"), came(10, "m2"), epoch(10, 3), stable(11, 3, "m2")),
        *(came(15, "m2 again"), stable(15, 3, "m2 again")),
    ],
    "made anew": [
        *(came(0, "m1"), epoch(0, 1), stable(1, 1, "m1"), left(10, "m1"), epoch(10, 2), removed(20)),
        *(came(30, "m2"), epoch(30, 1), stable(34, 1, "m2")),
    ],
    "late": [
        *(came(0, "m1"), epoch(0, 2), stable(0, 2, "m1"), came(10, "m2"), epoch(10, 3), stable(11, 3, "m2")),
        *(epoch(20, 4), stable(22, 3, "m1"), stable(25, 4, "m1"), stable(25, 4, "m2")),
    ],
}


def facts() -> dict[str, list[Row]]:
    rows = [row | {"group": name} for name, story in STORIES.items() for row in story]
    return {
        "group_events": [row | {"source_offset": place} for place, row in enumerate(rows)],
        "offset_commits": [
            commit(seconds, seconds, source=1_000 + seconds, group="held up") for seconds in range(6, 36)
        ],
    }


@pytest.fixture(scope="module")
def told(spark: SparkSession, stories: Stories) -> Told:
    """Quality and duration of each generation or epoch."""
    rows = stories.read(spark, REBALANCES).collect()
    return {(row["group"], row["generation"]): (row["duration_quality"], row["duration_ms"]) for row in rows}


def test_a_rebalance_through_which_a_member_commits_is_not_longer_than_its_bound(told: Told) -> None:
    """The broker takes commits of the old generation until all members have joined: it began 15.2 s before its end."""
    assert told["held up", 2] == ("bound", 30_200)


@pytest.mark.parametrize(
    ("group", "number", "longest_s"),
    [
        ("long after", 2, MINUTE + 1.5),
        ("another's patience", 2, 300 + 1.5),
        ("after a night", 3, MINUTE + 1.5),
        ("emptied", 2, MINUTE + 1),
        ("first of all", 1, MINUTE + 1.5),
    ],
)
def test_a_join_phase_lasts_no_longer_than_the_longest_rebalance_timeout(
    told: Told, group: str, number: int, longest_s: float
) -> None:
    """Half a second later the record was written; a second is for a timer that is late."""
    assert told[group, number] == ("bound", longest_s * 1_000)


@pytest.mark.parametrize(("group", "number"), [("given up once", 3), ("static", 2), ("old broker", 2)])
def test_where_it_may_have_lasted_longer_only_the_record_before_bounds_it(told: Told, group: str, number: int) -> None:
    assert told[group, number] == ("bound", (7_200 - 5) * 1_000)


@pytest.mark.parametrize(("group", "number"), [("records before are lost", 7), ("clock set back", 2)])
def test_a_rebalance_that_nothing_is_known_before_has_no_duration(told: Told, group: str, number: int) -> None:
    assert told[group, number] == ("bound", None)


def test_classic_rebalances_of_a_group_never_overlap(spark: SparkSession, stories: Stories) -> None:
    rows = stories.read(spark, REBALANCES).where("protocol = 'classic' and duration_ms is not null").collect()
    by_group: dict[str, list[Any]] = {}
    for row in sorted(rows, key=lambda row: row["started_at"]):
        by_group.setdefault(row["group"], []).append(row)

    for spans in by_group.values():
        assert all(one["ended_at"] <= other["started_at"] for one, other in pairwise(spans))
    (day,) = stories.read(spark, GROUP_DAILY).where("`group` = 'held up'").collect()
    assert day["rebalance_ms"] == 45_200  # from the group's making to its second generation


def test_whoever_comes_with_the_next_epoch_has_not_reached_the_one_before(told: Told) -> None:
    assert told["newcomer", 2] == ("exact", 0)
    assert told["newcomer", 3] == ("overtaken", 30_000)
    assert told["newcomer", 4] == ("exact", 20_000)


def test_a_member_in_the_place_of_another_is_not_counted_beside_it(told: Told) -> None:
    """A static member that starts again has another id; m1 never reached the epoch."""
    assert told["replaced", 3] == ("open", None)


def test_an_epoch_that_the_last_member_reaches_after_the_next_began_was_overtaken(told: Told) -> None:
    assert told["late", 3] == ("overtaken", 10_000)
    assert told["late", 4] == ("exact", 5_000)


def test_a_group_that_is_made_anew_begins_to_count_again(spark: SparkSession, stories: Stories) -> None:
    rows = stories.read(spark, REBALANCES).where("group = 'made anew'").orderBy("started_at").collect()

    assert [(row["generation"], row["duration_ms"], row["members_after"]) for row in rows] == [
        (1, 1_000, 1),
        (2, 0, 0),
        (1, 4_000, 1),
    ]


@pytest.mark.parametrize("state", ["Empty", "Dead"])
def test_a_group_that_is_sampled_without_members_has_none(spark: SparkSession, tmp_path: Path, state: str) -> None:
    storage = new_storage(tmp_path)
    kept = {"origin": "sample", "source_partition": None, "source_offset": None}
    full = event(0, "state_seen", "Snapshot", source=0, state="Stable", members=[A, B]) | kept
    gone = event(60, "state_seen", "Snapshot", source=0, state=state) | kept
    put_all(storage, "facts", {"group_events": [full, gone]})
    events = events_once(storage.read(spark, GROUP_EVENTS))
    times = spark.createDataFrame(
        [("c", "g", at(seconds)) for seconds in (30, 90)], "cluster_id string, group string, looked_at timestamp"
    )

    rows = at_times(times, states(events, memberships(events)), "looked_at").orderBy("looked_at").collect()

    assert [(row["state"], row["members"]) for row in rows] == [("Stable", 2), (state, 0)]
