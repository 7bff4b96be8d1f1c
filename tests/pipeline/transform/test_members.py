"""Rows of KIP-848 groups of which the records of joins are lost, and when it is not known who is in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

import pytest

from kafka_groups.pipeline.maintenance import LEAST_KEEP, compact, keep_all
from kafka_groups.pipeline.schemas import GROUP_EVENTS
from kafka_groups.pipeline.storage import Storage
from tests.pipeline.fact_rows import Row, at, commit, ends, new_storage, put_all
from tests.pipeline.transform.builds import build_here, built, of, read, read_statuses, seconds_after_noon
from tests.pipeline.transform.kernels.stories import (
    DAY,
    TODAY,
    epoch,
    generation,
    joined,
    left,
    on,
    placed,
    removed,
    sample,
    stable,
)

BEFORE_MIDNIGHT: Final = DAY / 2 - 10
Found = Callable[..., Row]
Who = tuple[int | None, int | None, list[str] | None, list[str] | None]


def joins(seconds: float, number: int, name: str, *others: str) -> list[Row]:
    """A member joins and reaches the epoch at once; the others do half a minute later, one after the other."""
    reached = [stable(seconds + 30 + late, number, other, since=number - 1) for late, other in enumerate(others)]
    return [joined(seconds, name), epoch(seconds, number), stable(seconds + 1, number, name), *reached]


OLD: Final = [row for late, name in enumerate("abc") for row in joins(-10 * DAY + late, late + 1, name)]
NEW: Final = [*joins(0, 4, "d", "a", "b", "c"), *joins(100, 5, "e", "a", "b", "c", "d")]
# What remains of groups that had members before, each in a cluster of its own.
RECORDS: Final[Mapping[str, Sequence[Row]]] = {
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
}
# State and number of members by seconds after noon.
KNOWN: Final[Mapping[str, Mapping[float, tuple[str | None, int | None]]]] = {
    "joined": {-1: (None, None), 1: (None, 4), 120: (None, 5)},
    "no other member yet": {10: (None, None)},
    "all left": {10: ("Empty", 0)},
    # A date follows from what was written until its end.
    "after midnight": {BEFORE_MIDNIGHT + 5: (None, None), BEFORE_MIDNIGHT + 60: (None, 4)},
    "deleted and created": {5: (None, 1), 15: ("Empty", 0), 25: ("Dead", 0), 40: (None, 1)},
    "upgraded": {5: ("Stable", 1), 20: ("Empty", 0), 50: (None, 1)},
    "sampled": {-1: ("Stable", 3), 10: (None, None), 25: ("Reconciling", 4)},
    "sampled without members": {10: (None, 2), 70: ("Stable", 2)},
}


def facts_of(name: str) -> dict[str, list[Row]]:
    """One cluster: the group has stood still for days, as has one without members; something is read on the next."""
    commits = [
        commit(-3 * DAY, 5, source=1),
        commit(-3 * DAY, 5, source=2, group="without members"),
        commit(DAY + 10, 5, source=3, group="of the next day"),
    ]
    return {
        "group_events": of(name, events(RECORDS[name])),
        "offset_commits": of(name, commits),
        "partition_offsets": of(name, [ends(seconds, 10) for seconds in KNOWN.get(name, ())]),
    }


def events(rows: Sequence[Row]) -> list[Row]:
    return [row | {"cluster_id": "c", "group": "g"} for row in placed(rows)]


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Storage:
    clusters = [facts_of(name) for name in RECORDS]
    facts = {table: [row for cluster in clusters for row in cluster[table]] for table in clusters[0]}
    return built(tmp_path_factory.mktemp("members"), facts)


@pytest.fixture(scope="module")
def found(storage: Storage) -> Found:
    """The rebalance of an epoch that began at a second of its minute."""
    rows = {
        (row["cluster_id"], row["generation"], row["started_at"].second): row for row in read(storage, "rebalances")
    }
    return lambda name, number, *, second=0: rows[name, number, second]


def who(row: Row) -> Who:
    return row["members_before"], row["members_after"], row["joined"], row["left"]


def took(row: Row) -> tuple[str, int | None]:
    return row["duration_quality"], row["duration_ms"]


def test_members_that_write_at_an_epoch_were_there_before_it(found: Found) -> None:
    assert who(found("joined", 4)) == (3, 4, ["d"], [])
    assert who(found("joined", 5, second=40)) == (4, 5, ["e"], [])
    assert who(found("away", 4)) == (1, 2, ["d"], [])


def test_a_rebalance_ends_when_members_have_reached_it_whose_join_is_not_among_the_records(found: Found) -> None:
    assert took(found("joined", 4)) == ("exact", 32_000)
    assert took(found("joined", 5, second=40)) == ("exact", 33_000)
    assert took(found("away", 4)) == ("open", None)


def test_a_member_that_leaves_was_there_though_it_never_wrote(found: Found) -> None:
    assert who(found("left", 4)) == (4, 3, [], ["d"])
    assert who(found("all left", 4)) == (2, 0, [], ["a", "b"])


def test_if_no_other_member_has_written_yet_neither_number_nor_duration_is_known(found: Found) -> None:
    row = found("no other member yet", 4)

    assert who(row) == (None, None, None, None)
    assert took(row) == ("unknown", None)


def test_if_it_is_not_known_which_members_must_reach_an_epoch_the_next_epoch_is_a_bound(found: Found) -> None:
    row = found("overtaken, and no other member", 4)

    assert who(row) == (None, None, None, None)
    assert took(row) == ("bound", 10_000)


def test_members_that_are_silent_while_the_group_writes_are_not_there(found: Found) -> None:
    """A minute is longer than a broker waits for them. How many there were when the epoch began is lost."""
    assert who(found("alone for long", 4)) == (None, 1, None, None)
    assert took(found("alone for long", 4)) == ("exact", 1_000)
    assert who(found("alone for long", 5)) == (1, 1, [], [])


def test_a_member_that_writes_its_subscription_again_has_not_joined(found: Found) -> None:
    assert who(found("other subscription", 4)) == (2, 2, [], [])
    assert who(found("known in part", 4)) == (2, 3, ["d"], [])


def test_records_after_midnight_count_for_the_day_before_but_not_for_days_before_that(found: Found) -> None:
    assert who(found("after midnight", 4, second=50)) == (3, 4, ["d"], [])
    assert took(found("after midnight", 4, second=50)) == ("exact", 32_000)
    assert who(found("a day too late", 4)) == (None, None, None, None)


def test_a_member_of_a_deleted_and_created_group_with_the_same_id_reaches_its_epoch_again(found: Found) -> None:
    assert took(found("deleted and created", 1)) == ("exact", 1_000)
    assert took(found("deleted and created", 1, second=30)) == ("exact", 4_000)


@pytest.mark.parametrize("name", KNOWN)
def test_state_and_members_are_those_last_known_and_null_once_they_no_longer_hold(storage: Storage, name: str) -> None:
    rows = {
        seconds_after_noon(row["evaluated_at"]): (row["state"], row["members"])
        for row in read_statuses(storage)
        if (row["cluster_id"], row["group"], row["topic"]) == (name, "g", None)
    }

    assert rows == KNOWN[name]


def test_a_date_on_which_the_number_was_unknown_has_no_maximum_but_had_members(storage: Storage) -> None:
    """All groups have stood still for more than a day: those without members are idle."""
    rows = {(row["cluster_id"], row["group"], row["date"]): row for row in read(storage, "group_daily")}

    def days(name: str, group: str = "g") -> list[tuple[int | None, bool]]:
        both = (rows[name, group, on(day)] for day in (0, 1))
        return [(row["members_max"], not row["is_idle"]) for row in both]

    assert days("joined") == [(5, True), (5, True)]
    assert days("no other member yet") == [(None, True), (None, True)]
    assert days("all left") == [(2, True), (0, False)]
    assert days("joined", "without members") == [(None, False), (None, False)]


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
    compact(cut, keep=keep_all(LEAST_KEEP), now=at(300))
    assert cut.rows(GROUP_EVENTS) < whole.rows(GROUP_EVENTS)
    build_here(whole)
    build_here(cut)

    assert of_today(cut) == of_today(whole)
    assert [row["members"] for row in read_statuses(cut) if row["topic"] is None] == [4, 5]


@pytest.mark.parametrize("replayed", [False, True])
def test_records_after_midnight_give_the_same_rows_late_replayed_and_at_once(tmp_path: Path, replayed: bool) -> None:
    """They change the date before also if nothing else of it is read again."""
    rows = events(RECORDS["after midnight"])
    first_day = [row for row in rows if row["record_time"].date() == TODAY]
    offsets = {"offset_commits": [commit(10, 5, source=100)], "partition_offsets": [ends(BEFORE_MIDNIGHT + 5, 10)]}
    at_once = built(tmp_path / "at once", {"group_events": rows, **offsets})
    in_turn = built(tmp_path / "in turn", {"group_events": first_day, **offsets})
    assert [who(row) for row in read(in_turn, "rebalances")] == [(None, None, None, None)]
    put_all(in_turn, "later", {"group_events": rows[::-1] if replayed else rows[len(first_day) :]})
    build_here(in_turn)

    assert [who(row) for row in read(in_turn, "rebalances")] == [(3, 4, ["d"], [])]
    assert of_today(in_turn) == of_today(at_once)


def of_today(storage: Storage) -> dict[str, list[Row]]:
    names = ("rebalances", "group_status", "group_daily")
    return {name: [row for row in read(storage, name) if row["date"] == TODAY] for name in names}
