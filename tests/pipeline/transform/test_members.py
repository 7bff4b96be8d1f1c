"""Who is in a KIP-848 group where the records of their coming are gone, and when that is not known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.pipeline.building import build
from kafka_groups.pipeline.compacting import LEAST_KEEP, compact
from kafka_groups.pipeline.steps.members import at_times, events_once, memberships, on_days, states
from kafka_groups.pipeline.steps.rebalances import rebalances
from kafka_groups.pipeline.tables import GROUP_DAILY, GROUP_EVENTS, GROUP_STATUS, REBALANCES
from tests.pipeline.fact_rows import NOON, Row, at, commit, ends, event, new_storage, put_all

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kafka_groups.pipeline.storage import Storage

pytestmark = pytest.mark.spark
DAY = 86_400
EVENING = DAY / 2 - 10
TODAY = NOON.date()


def came(seconds: float, name: str) -> Row:
    return event(seconds, "member_metadata", "ConsumerGroupMemberMetadata", source=0, member_id=name)


def left(seconds: float, name: str) -> Row:
    return event(seconds, "member_left", "ConsumerGroupMemberMetadata", source=0, member_id=name, tombstone=True)


def removed(seconds: float, kind: str = "ConsumerGroupMetadata") -> Row:
    return event(seconds, "group_removed", kind, source=0, tombstone=True)


def epoch(seconds: float, number: int) -> Row:
    return event(seconds, "group_epoch", "ConsumerGroupMetadata", source=0, epoch=number)


def stable(seconds: float, number: int, name: str, *, since: int = 0) -> Row:
    """The member has reached the epoch; before, it was at the epoch `since`."""
    told = {"epoch": number, "previous_epoch": since, "member_id": name, "member_state": "STABLE"}
    return event(seconds, "member_assignment", "ConsumerGroupCurrentMemberAssignment", source=0, **told)


def classic(seconds: float, number: int, *names: str) -> Row:
    meaning = "generation" if names else "group_emptied"
    members = [{"member_id": name} for name in names]
    return event(seconds, meaning, "GroupMetadata", source=0, epoch=number, members=members)


def seen(seconds: float, state: str, *names: str) -> Row:
    members = [{"member_id": name} for name in names] or None
    row = event(seconds, "state_seen", "Snapshot", source=0, state=state, members=members)
    return row | {"origin": "sample", "source_partition": None, "source_offset": None}


def joins(seconds: float, number: int, name: str, *others: str) -> list[Row]:
    """A member comes and reaches the epoch at once; the others do half a minute later, one after the other."""
    reached = [stable(seconds + 30 + late, number, other, since=number - 1) for late, other in enumerate(others)]
    return [came(seconds, name), epoch(seconds, number), stable(seconds + 1, number, name), *reached]


OLD = [row for late, name in enumerate("abc") for row in joins(-10 * DAY + late, late + 1, name)]
NEW = [*joins(0, 4, "d", "a", "b", "c"), *joins(100, 5, "e", "a", "b", "c", "d")]
# What is left of groups that had members before.
STORIES: Mapping[str, Sequence[Row]] = {
    "joined": NEW,
    "nobody told yet": joins(0, 4, "d"),
    "overtaken, and nobody told": [*joins(0, 4, "d"), *joins(10, 5, "e")],
    "alone for long": [*joins(0, 4, "d"), epoch(3_600, 5), stable(3_600, 5, "d", since=4)],
    "left": [left(0, "d"), epoch(0, 4), *(stable(30, 4, name, since=3) for name in "abc")],
    "all left": [left(0, "a"), left(0, "b"), epoch(0, 4)],
    "away": [*joins(0, 4, "d"), stable(30, -2, "a") | {"meaning": "static_member_away"}],
    "subscribed anew": [came(0, "a"), epoch(0, 4), stable(0, 4, "a", since=3), stable(30, 4, "b", since=3)],
    "known in part": [came(-3_600, "b"), *joins(0, 4, "d", "a", "b")],
    "after midnight": joins(EVENING, 4, "d", "a", "b", "c"),
    "a day too late": [*joins(0, 4, "d"), stable(2 * DAY, 4, "a", since=3)],
    "made anew": [
        *(came(0, "m"), epoch(0, 1), stable(1, 1, "m"), left(10, "m"), epoch(10, 2), removed(20)),
        *(came(30, "m"), epoch(30, 1), stable(34, 1, "m")),
    ],
    "upgraded": [
        *(classic(0, 1, "m"), classic(10, 2)),
        *(removed(40, "GroupMetadata"), came(40, "n"), epoch(40, 1), stable(41, 1, "n")),
    ],
    "sampled": [seen(-5, "Stable", "a", "b", "c"), *joins(0, 4, "d"), seen(20, "Reconciling", "a", "b", "c", "d")],
    "sampled without members": [*joins(0, 4, "d", "a"), seen(60, "Stable")],
}


def placed(rows: Sequence[Row]) -> list[Row]:
    return [row | {"source_offset": place} if row["origin"] == "topic" else row for place, row in enumerate(rows)]


@pytest.fixture(scope="module")
def events(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    storage = new_storage(tmp_path_factory.mktemp("members"))
    rows = [row | {"group": name} for name, story in STORIES.items() for row in story]
    put_all(storage, "facts", {"group_events": placed(rows)})
    return storage.read(spark, GROUP_EVENTS).localCheckpoint()


@pytest.fixture(scope="module")
def found(events: DataFrame) -> dict[tuple[str, int, int], Any]:
    """Rebalances by group, epoch and second."""
    rows = rebalances(events, [TODAY + timedelta(days=day) for day in (-1, 0, 1, 2)]).collect()
    return {(row["group"], row["generation"], row["started_at"].second): row for row in rows}


def told(row: Any) -> tuple[int | None, int | None, list[str] | None, list[str] | None]:
    return row["members_before"], row["members_after"], row["joined"], row["left"]


def took(row: Any) -> tuple[str, int | None]:
    return row["duration_quality"], row["duration_ms"]


def test_members_that_write_at_an_epoch_were_there_before_it(found: dict[Any, Any]) -> None:
    assert told(found["joined", 4, 0]) == (3, 4, ["d"], [])
    assert told(found["joined", 5, 40]) == (4, 5, ["e"], [])
    assert told(found["away", 4, 0]) == (1, 2, ["d"], [])


def test_a_rebalance_ends_when_those_have_reached_it_whose_coming_is_not_in_view(found: dict[Any, Any]) -> None:
    assert took(found["joined", 4, 0]) == ("exact", 32_000)
    assert took(found["joined", 5, 40]) == ("exact", 33_000)
    assert took(found["away", 4, 0]) == ("open", None)


def test_whoever_goes_was_there_though_it_never_wrote(found: dict[Any, Any]) -> None:
    assert told(found["left", 4, 0]) == (4, 3, [], ["d"])
    assert told(found["all left", 4, 0]) == (2, 0, [], ["a", "b"])


def test_where_nobody_else_has_written_yet_no_number_and_no_duration_is_told(found: dict[Any, Any]) -> None:
    row = found["nobody told yet", 4, 0]

    assert told(row) == (None, None, None, None)
    assert took(row) == ("unknown", None)


def test_where_nobody_knows_who_had_to_reach_it_the_next_epoch_is_a_bound(found: dict[Any, Any]) -> None:
    assert told(found["overtaken, and nobody told", 4, 0]) == (None, None, None, None)
    assert took(found["overtaken, and nobody told", 4, 0]) == ("bound", 10_000)


def test_members_that_are_silent_while_the_group_writes_on_are_not_there(found: dict[Any, Any]) -> None:
    """A minute is longer than a broker waits for them. How many there were when the epoch began is lost."""
    assert told(found["alone for long", 4, 0]) == (None, 1, None, None)
    assert took(found["alone for long", 4, 0]) == ("exact", 1_000)
    assert told(found["alone for long", 5, 0]) == (1, 1, [], [])


def test_a_member_that_tells_of_itself_again_has_not_joined(found: dict[Any, Any]) -> None:
    assert told(found["subscribed anew", 4, 0]) == (2, 2, [], [])
    assert told(found["known in part", 4, 0]) == (2, 3, ["d"], [])


def test_what_is_written_after_midnight_tells_of_the_evening_before_but_not_of_days_ago(found: dict[Any, Any]) -> None:
    assert told(found["after midnight", 4, 50]) == (3, 4, ["d"], [])
    assert took(found["after midnight", 4, 50]) == ("exact", 32_000)
    assert told(found["a day too late", 4, 0]) == (None, None, None, None)


def test_a_member_of_a_group_that_is_made_anew_with_the_same_id_reaches_its_epoch_again(found: dict[Any, Any]) -> None:
    assert took(found["made anew", 1, 0]) == ("exact", 1_000)
    assert took(found["made anew", 1, 30]) == ("exact", 4_000)


@pytest.mark.parametrize(
    ("group", "wanted"),
    [
        ("joined", {-1: (None, None), 1: (None, 4), 120: (None, 5)}),
        ("nobody told yet", {10: (None, None)}),
        ("all left", {10: ("Empty", 0)}),
        # A day is told by what was written until its end, whenever it is made.
        ("after midnight", {EVENING + 5: (None, None), EVENING + 60: (None, 4)}),
        ("made anew", {5: (None, 1), 15: ("Empty", 0), 25: ("Dead", 0), 40: (None, 1)}),
        ("upgraded", {5: ("Stable", 1), 20: ("Empty", 0), 50: (None, 1)}),
        ("sampled", {-1: ("Stable", 3), 10: (None, None), 25: ("Reconciling", 4)}),
        ("sampled without members", {10: (None, 2), 70: ("Stable", 2)}),
    ],
)
def test_state_and_members_are_those_that_were_told_last_and_unknown_is_told_too(
    spark: SparkSession, events: DataFrame, group: str, wanted: dict[float, tuple[str | None, int | None]]
) -> None:
    once = events_once(events.where(f"`group` = '{group}'"))
    schema = "cluster_id string, group string, looked_at timestamp"
    times = spark.createDataFrame([("c", group, at(seconds)) for seconds in wanted], schema)

    rows = at_times(times, states(once, memberships(once)), "looked_at").orderBy("looked_at").collect()

    assert [(row["state"], row["members"]) for row in rows] == list(wanted.values())


def test_a_day_on_which_the_number_was_unknown_has_no_most_but_had_members(events: DataFrame) -> None:
    once = events_once(events)
    days = [TODAY, TODAY + timedelta(days=1)]

    rows = on_days(states(once, memberships(once)), days).collect()

    most = {(row["group"], row["day"].day - NOON.day): (row["members_max"], row["has_members"]) for row in rows}
    assert [most["joined", day] for day in (0, 1)] == [(5, True), (5, True)]
    assert [most["nobody told yet", day] for day in (0, 1)] == [(None, True), (None, True)]
    assert [most["all left", day] for day in (0, 1)] == [(2, True), (0, False)]


def test_what_retention_takes_does_not_change_what_is_built_later(spark: SparkSession, tmp_path: Path) -> None:
    """Three members came ten days ago; a fourth and a fifth come when that date is removed."""
    rows = placed([*OLD, *NEW])
    offsets = {
        "offset_commits": [commit(10, 5, source=100)],
        "partition_offsets": [ends(seconds, 10) for seconds in (60, 200)],
    }
    cut, whole = new_storage(tmp_path / "cut"), new_storage(tmp_path / "whole")
    put_all(whole, "all", {"group_events": rows, **offsets})
    put_all(cut, "old", {"group_events": rows[: len(OLD)]})
    put_all(cut, "new", {"group_events": rows[len(OLD) :], **offsets})
    compact(cut, keep=LEAST_KEEP, now=at(300))
    assert cut.rows(GROUP_EVENTS) < whole.rows(GROUP_EVENTS)
    build(spark, whole)
    build(spark, cut)

    assert of_today(spark, cut) == of_today(spark, whole)
    assert [row["members"] for row in cut.read(spark, GROUP_STATUS).where("topic is null").collect()] == [4, 5]


def test_members_that_write_after_midnight_are_told_alike_late_replayed_and_at_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    midnight, rows = at(DAY / 2), placed(STORIES["after midnight"])
    evening = [row for row in rows if row["record_time"] < midnight]
    offsets = {"offset_commits": [commit(10, 5, source=100)], "partition_offsets": [ends(EVENING + 5, 10)]}
    at_once, in_turn = new_storage(tmp_path / "at once"), new_storage(tmp_path / "in turn")
    put_all(at_once, "all", {"group_events": rows, **offsets})
    put_all(in_turn, "evening", {"group_events": evening, **offsets})
    build(spark, in_turn)
    assert [told(row) for row in in_turn.read(spark, REBALANCES).collect()] == [(None, None, None, None)]
    put_all(in_turn, "night", {"group_events": rows[::-1]})
    build(spark, in_turn)
    build(spark, at_once)

    assert [told(row) for row in in_turn.read(spark, REBALANCES).collect()] == [(3, 4, ["d"], [])]
    assert of_today(spark, in_turn) == of_today(spark, at_once)


def of_today(spark: SparkSession, storage: Storage) -> dict[str, list[str]]:
    from pyspark.sql import functions as F

    made = {table.name: storage.read(spark, table).drop("batch") for table in (REBALANCES, GROUP_STATUS, GROUP_DAILY)}
    return {name: sorted(map(str, rows.where(F.col("date") == TODAY).collect())) for name, rows in made.items()}
