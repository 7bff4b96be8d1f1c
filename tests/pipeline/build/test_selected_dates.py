"""Builds of some dates, builds of all, and what both leave to later ones."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.pipeline.build.build_plan import DateRange, estimate_facts
from kafka_groups.pipeline.build.fact_state import read_last_limits
from kafka_groups.pipeline.store import Storage
from kafka_groups.verdicts import Limits
from tests.pipeline.build.builds import build_here, read
from tests.pipeline.fact_rows import Row, commit, ends, event, new_storage, put_all
from tests.pipeline.proof import DERIVED

DAY = 86_400
FIRST, SECOND, THIRD, FOURTH = (date(2026, 11, day) for day in (20, 21, 22, 23))


def filled(directory: Path) -> Storage:
    """Return commits and log ends of four days, not built."""
    made = new_storage(directory)
    times = [day * DAY + minute * 60 for day in range(4) for minute in range(12)]
    commits = [commit(at, 10 + index, source=index) for index, at in enumerate(times)]
    put_all(made, "b", {"offset_commits": commits, "partition_offsets": [ends(at + 1, 2 * at + 50) for at in times]})
    return made


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return filled(tmp_path)


def built(storage: Storage, first: date = date.min, last: date = date.max, **options: Any) -> tuple[date, ...]:
    return build_here(storage, selection=DateRange(first, last), **options).dates


def rows_of(storage: Storage) -> dict[str, list[Row]]:
    return {name: read(storage, name) for name in DERIVED}


def dates_of(storage: Storage) -> set[date]:
    return {row["date"] for row in read(storage, "lag_history")}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    """The rows of one build of all dates."""
    storage = filled(tmp_path_factory.mktemp("whole"))
    build_here(storage)
    return rows_of(storage)


def test_dates_outside_the_selection_are_left_to_the_next_build(storage: Storage, whole: dict[str, list[Row]]) -> None:
    assert built(storage, SECOND, THIRD) == (SECOND, THIRD)
    assert dates_of(storage) == {SECOND, THIRD}
    assert built(storage) == (FIRST, SECOND, THIRD, FOURTH)
    assert rows_of(storage) == whole


def test_dates_selected_one_by_one_give_the_rows_of_one_build(storage: Storage, whole: dict[str, list[Row]]) -> None:
    for day in (SECOND, FIRST, FOURTH, THIRD):
        built(storage, day, day)
    built(storage)
    assert rows_of(storage) == whole
    assert built(storage) == ()


def test_the_state_before_the_selected_dates_is_that_of_the_newest_facts(storage: Storage) -> None:
    built(storage)
    put_all(storage, "late", {"offset_commits": [commit(30, 7, source=900, group="late")]})
    assert built(storage, SECOND) == (SECOND, THIRD, FOURTH)
    late = {row["date"] for row in read(storage, "lag_history") if row["group"] == "late"}
    assert late == {SECOND, THIRD, FOURTH}
    # The first date is still to be made, and the dates after it depend on it.
    assert built(storage, last=SECOND) == (FIRST, SECOND)
    assert built(storage) == (THIRD, FOURTH)
    assert {row["date"] for row in read(storage, "lag_history") if row["group"] == "late"} == {FIRST, *late}


def test_dates_without_a_change_are_built_only_by_a_full_build(storage: Storage, whole: dict[str, list[Row]]) -> None:
    built(storage)
    assert estimate_facts(storage) == 0
    assert built(storage, FIRST, FOURTH) == ()
    assert estimate_facts(storage, full=True) == 96
    assert built(storage, full=True) == (FIRST, SECOND, THIRD, FOURTH)
    assert built(storage, date(2030, 1, 1), full=True) == ()
    assert built(storage) == ()
    assert built(storage, SECOND, SECOND, full=True) == (SECOND,)
    built(storage)
    assert rows_of(storage) == whole


@pytest.mark.slow
def test_late_facts_keep_known_members_after_a_full_build_of_an_old_date(tmp_path: Path) -> None:
    """States are kept of the lookback and two days before it: those between an old date and these are gone."""
    storage, whole = new_storage(tmp_path / "storage"), new_storage(tmp_path / "whole")
    assigned = {"epoch": 1, "member_state": "STABLE"}
    facts = {
        "offset_commits": [commit(day * DAY, day, source=day) for day in range(8)],
        "group_events": [
            event(
                day * DAY,
                "member_assignment",
                "ConsumerGroupCurrentMemberAssignment",
                source=day,
                member_id=f"m{day}",
                **assigned,
            )
            for day in range(8)
        ],
    }
    late = {"offset_commits": [commit(5 * DAY + 30, 7, source=900, group="late")]}
    put_all(storage, "b", facts)
    built(storage, lookback_days=1)
    built(storage, FIRST, FIRST, full=True, lookback_days=1)
    put_all(storage, "late", late)
    built(storage, lookback_days=1)
    put_all(whole, "b", facts)
    put_all(whole, "late", late)
    built(whole, lookback_days=1)
    assert rows_of(storage) == rows_of(whole)
    assert max(row["max_members"] or 0 for row in rows_of(whole)["group_daily"]) == 8


def test_a_selection_without_dates_reports_no_missing_data(storage: Storage) -> None:
    assert build_here(storage, selection=DateRange(date(2030, 1, 1))).missing == ()


def test_other_limits_make_all_dates_again_and_are_recorded(storage: Storage) -> None:
    assert read_last_limits(storage) is None
    built(storage)
    assert read_last_limits(storage) == Limits()
    limits = Limits(allowed_lag=5, stop_after_ms=300_000)
    assert built(storage, limits=limits) == (FIRST, SECOND, THIRD, FOURTH)
    assert read_last_limits(storage) == limits
    assert built(storage, limits=limits) == ()
