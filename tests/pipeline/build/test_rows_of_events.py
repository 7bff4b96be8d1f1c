"""Rows that events of groups make: those of the kernels, whose tests say what they are, whatever is built together."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import pytest

from kafka_groups.pipeline.build.kernels.rebalance_rows import Rebalance
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.store.compaction import compact
from kafka_groups.pipeline.store.retention import MIN_RETENTION, uniform_retention
from kafka_groups.pipeline.tables import GROUP_EVENTS
from tests.pipeline.build.builds import build_here, built, of, read, seconds_after_noon
from tests.pipeline.build.kernels.event_rows import DAY, TODAY, at_time, build, microseconds, on, placed
from tests.pipeline.build.kernels.example_groups import (
    AHEAD_AT_MIDNIGHT,
    BEFORE_MIDNIGHT,
    MEMBERS,
    NEW,
    OLD,
    REBALANCES,
    THERE_AND_BACK,
)
from tests.pipeline.fact_rows import Row, at, commit, ends, new_storage, put_all
from tests.pipeline.store.commits import count_rows

Tables = dict[str, list[Row]]
# By cluster.
STORIES: Final = {
    name: placed(rows)
    for name, rows in {**MEMBERS, **REBALANCES, **AHEAD_AT_MIDNIGHT, "there and back": THERE_AND_BACK}.items()
}
DAYS: Final = range(-3, 5)
OBSERVED: Final = (-1, 2, 12, 25, 40, 70, 120, BEFORE_MIDNIGHT + 5, BEFORE_MIDNIGHT + 60)


def facts_of(name: str) -> dict[str, list[Row]]:
    """Return facts: a group without progress for days, one without members, and a record of the next day."""
    commits = [
        commit(-3 * DAY, 5, source=1),
        commit(-3 * DAY, 5, source=2, group="without members"),
        commit(DAY + 10, 5, source=3, group="of the next day"),
    ]
    return {
        "group_events": of(name, events(STORIES[name])),
        "offset_commits": of(name, commits),
        "partition_offsets": of(name, [ends(seconds, 10) for seconds in OBSERVED]),
    }


def events(rows: Sequence[Row]) -> list[Row]:
    return [row | {"cluster_id": "c", "group": "g"} for row in placed(rows)]


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Storage:
    clusters = [facts_of(name) for name in STORIES]
    facts = {table: [row for cluster in clusters for row in cluster[table]] for table in clusters[0]}
    return built(tmp_path_factory.mktemp("events"), facts)


@pytest.fixture(scope="module")
def tables(storage: Storage) -> Tables:
    return {name: read(storage, name) for name in ("rebalances", "group_status", "group_daily")}


@pytest.mark.parametrize("name", STORIES)
def test_rebalances_are_those_of_the_kernels(tables: Tables, name: str) -> None:
    rows = [row for row in tables["rebalances"] if row["cluster_id"] == name]
    found = [tuple(in_micros(row[column]) for column in Rebalance._fields) for row in rows]

    assert sorted(found, key=itemgetter(2, 1, 0)) == [
        row for day in build(STORIES[name], DAYS) for row in day.rebalances
    ]


def in_micros(value: Any) -> Any:
    return microseconds(value) if isinstance(value, datetime) else tuple(value) if isinstance(value, list) else value


@pytest.mark.parametrize("name", STORIES)
def test_state_and_members_at_each_observation_are_those_of_the_kernels(tables: Tables, name: str) -> None:
    days = build(STORIES[name], DAYS)
    rows = [row for row in tables["group_status"] if (row["cluster_id"], row["group"]) == (name, "g")]

    assert {seconds_after_noon(row["evaluated_at"]): (row["state"], row["member_count"]) for row in rows} == {
        seconds: at_time(days, seconds) for seconds in OBSERVED
    }


def test_the_time_of_rebalances_on_a_date_is_added_up(tables: Tables) -> None:
    """Since the group was created, until its second generation."""
    (day,) = [row for row in daily(tables, "held up") if row["date"] == TODAY]

    assert (day["rebalances"], day["rebalance_ms"]) == (2, 45_200)


def test_a_date_with_an_unknown_number_has_no_maximum_but_had_members(tables: Tables) -> None:
    """All groups have stood still for more than a day: those without members are idle."""

    def days(name: str, group: str = "g") -> list[tuple[int | None, bool]]:
        rows = {row["date"]: row for row in daily(tables, name, group)}
        return [(rows[on(day)]["max_members"], not rows[on(day)]["is_idle"]) for day in (0, 1)]

    assert days("joined") == [(5, True), (5, True)]
    assert days("no other member yet") == [(None, True), (None, True)]
    assert days("all left") == [(2, True), (0, False)]
    assert days("joined", "without members") == [(None, False), (None, False)]


def daily(tables: Tables, name: str, group: str = "g") -> list[Row]:
    return [row for row in tables["group_daily"] if (row["cluster_id"], row["group"]) == (name, group)]


def test_old_records_that_retention_removed_do_not_change_later_dates(tmp_path: Path) -> None:
    """Three members joined ten days ago; a fourth and a fifth join when that date is removed."""
    rows = events([*OLD, *NEW])
    offsets = {
        "offset_commits": [commit(10, 5, source=100)],
        "partition_offsets": [ends(seconds, 10) for seconds in (60, 200)],
    }
    cut, whole = new_storage(tmp_path / "cut"), new_storage(tmp_path / "whole")
    put_all(whole, "all", {"group_events": rows, **offsets})
    put_all(cut, "old", {"group_events": rows[: len(OLD)]})
    put_all(cut, "new", {"group_events": rows[len(OLD) :], **offsets})
    compact(cut, retention=uniform_retention(MIN_RETENTION), now=at(300))
    assert count_rows(cut, GROUP_EVENTS) < count_rows(whole, GROUP_EVENTS)
    build_here(whole)
    build_here(cut)

    assert of_today(cut) == of_today(whole)
    assert [row["member_count"] for row in read(cut, "group_status")] == [4, 5]


@pytest.mark.parametrize("replayed", [False, True])
def test_records_after_midnight_give_the_same_rows_late_replayed_and_at_once(tmp_path: Path, replayed: bool) -> None:
    """They change the date before also if nothing else of it is read again."""
    rows = events(STORIES["after midnight"])
    first_day = [row for row in rows if row["record_time"].date() == TODAY]
    offsets = {"offset_commits": [commit(10, 5, source=100)], "partition_offsets": [ends(BEFORE_MIDNIGHT + 5, 10)]}
    at_once = built(tmp_path / "at once", {"group_events": rows, **offsets})
    in_turn = built(tmp_path / "in turn", {"group_events": first_day, **offsets})
    assert [who(row) for row in read(in_turn, "rebalances")] == [(None, None, None, None)]
    put_all(in_turn, "later", {"group_events": rows[::-1] if replayed else rows[len(first_day) :]})
    build_here(in_turn)

    assert [who(row) for row in read(in_turn, "rebalances")] == [(3, 4, ["d"], [])]
    assert of_today(in_turn) == of_today(at_once)


@pytest.mark.parametrize("story", AHEAD_AT_MIDNIGHT)
@pytest.mark.parametrize("first", [2, 12])
def test_records_of_a_clock_ahead_give_the_same_rows_in_turn_and_at_once(
    tmp_path: Path, story: str, first: int
) -> None:
    """The first build sees records of the next date before the last ones of this date."""
    rows = events(STORIES[story])
    offsets = {
        "offset_commits": [commit(10, 5, source=100)],
        "partition_offsets": [ends(seconds, 10) for seconds in OBSERVED],
    }
    at_once = built(tmp_path / "at once", {"group_events": rows, **offsets})
    in_turn = built(tmp_path / "in turn", {"group_events": rows[:first], **offsets})
    put_all(in_turn, "later", {"group_events": rows[first:]})
    build_here(in_turn)

    for name in ("rebalances", "group_status", "group_daily"):
        assert read(in_turn, name) == read(at_once, name)


def who(row: Row) -> tuple[Any, ...]:
    return row["members_before"], row["members_after"], row["joined"], row["left"]


def of_today(storage: Storage) -> dict[str, list[Row]]:
    names = ("rebalances", "group_status", "group_daily")
    return {name: [row for row in read(storage, name) if row["date"] == TODAY] for name in names}
