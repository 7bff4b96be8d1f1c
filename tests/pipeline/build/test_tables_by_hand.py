"""Lag, time lag, rates, rebalances and days, worked out by hand: one build of one storage for all of them."""

from __future__ import annotations

from datetime import timedelta

import pytest

from kafka_groups.pipeline.build.run import BuildResult
from kafka_groups.pipeline.store import Storage
from tests.pipeline.build.builds import build_here, read, seconds_after_noon
from tests.pipeline.build.hand_made import facts
from tests.pipeline.fact_rows import NOON, Row, new_storage, put_all


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Storage:
    made = new_storage(tmp_path_factory.mktemp("tables"))
    put_all(made, "b1", facts())
    return made


@pytest.fixture(scope="module")
def built(storage: Storage) -> BuildResult:
    return build_here(storage)


@pytest.fixture(scope="module")
def tables(storage: Storage, built: BuildResult) -> dict[str, list[Row]]:
    return {name: read(storage, name) for name in built.rows}


def lags(tables: dict[str, list[Row]], group: str) -> dict[float | None, Row]:
    return {seconds_after_noon(row["observed_at"]): row for row in tables["lag_history"] if row["group"] == group}


def test_lag_is_that_of_the_last_commit_until_it_is_removed(tables: dict[str, list[Row]]) -> None:
    rows = lags(tables, "g")

    assert {seconds: row["lag"] for seconds, row in rows.items()} == {0: 200, 60: 100, 120: 160}
    assert [rows[120]["commit_origin"], rows[120]["retention_margin"]] == ["topic", 150]


def test_rates_are_those_of_ten_minutes_and_none_after_a_rewind(tables: dict[str, list[Row]]) -> None:
    rows, steady = lags(tables, "g"), lags(tables, "steady")

    assert [rows[0]["consume_rate"], rows[60]["consume_rate"], rows[120]["consume_rate"]] == [None, 100 / 60, None]
    assert [steady[240]["consume_rate"], steady[240]["produce_rate"]] == [100 / 60, 50 / 60]
    assert steady[240]["lag"] == 300
    assert steady[240]["catch_up_ms"] == 360_000


def test_time_lag_is_close_to_the_age_of_the_record_itself(tables: dict[str, list[Row]]) -> None:
    rows = lags(tables, "clock")

    for seconds, row in rows.items():
        offset, end = row["committed_offset"], row["log_end_offset"]
        if offset >= end:
            assert (row["time_lag_ms"], row["time_lag_quality"]) == (0, "exact")
            continue
        written = offset if offset <= 100 else 100 + 2 * (offset - 100)
        assert abs(row["time_lag_ms"] - (seconds - written) * 1_000) <= 1_000, (seconds, row)
        assert row["time_lag_quality"] == ("exact" if offset == 30 else "interpolated")
    assert rows[150]["time_lag_ms"] == 120_000


def test_a_time_lag_that_is_not_known_is_a_bound_or_missing(tables: dict[str, list[Row]]) -> None:
    found = {
        (row["group"], row["observed_at"].second, row["observed_at"].minute): (
            row["time_lag_ms"],
            row["time_lag_quality"],
        )
        for row in tables["lag_history"]
    }

    assert found["lost", 0, 1] == (60_000, "data_loss")
    assert found["below", 0, 1] == (60_000, "lower_bound")
    assert found["g", 0, 0] == (None, "unknown")


def test_no_time_lag_is_negative_or_without_a_quality(tables: dict[str, list[Row]]) -> None:
    for row in tables["lag_history"]:
        assert (row["time_lag_ms"] is None) == (row["time_lag_quality"] == "unknown") or row[
            "time_lag_quality"
        ] == "data_loss"
        assert row["time_lag_ms"] is None or row["time_lag_ms"] >= 0
        # Before the log end, but at the last stable offset: a reader of committed records has nothing left to read.
        is_at_stable = row["lag"] > 0 and row["committed_offset"] == row["last_stable_offset"]
        assert row["time_lag_ms"] != 0 or row["time_lag_quality"] == ("lower_bound" if is_at_stable else "exact")


def test_rebalances_are_exact_for_kip_848_and_bounds_for_classic_groups(tables: dict[str, list[Row]]) -> None:
    rows = {(row["group"], row["generation"]): row for row in tables["rebalances"]}
    found = {
        key: (
            row["duration_ms"],
            row["duration_quality"],
            row["members_before"],
            row["members_after"],
            row["joined"],
            row["left"],
        )
        for key, row in rows.items()
    }

    assert {key: row for key, row in found.items() if key[0] != "overtaken"} == {
        ("new", 1): (1_000, "exact", 0, 1, ["m1"], []),
        ("new", 2): (4_000, "exact", 1, 2, ["m2"], []),
        ("new", 3): (None, "open", 2, 1, [], ["m1"]),
        ("old", 1): (None, "bound", 0, 1, ["a"], []),
        ("old", 2): (27_000, "bound", 1, 2, ["b"], []),
    }
    assert [rows["old", 1]["sync_ms"], rows["old", 2]["sync_ms"]] == [500, 1_000]


def test_a_rebalance_that_the_next_one_overtook_ended_when_that_began(tables: dict[str, list[Row]]) -> None:
    rows = sorted(
        (row for row in tables["rebalances"] if row["group"] == "overtaken"), key=lambda row: row["generation"]
    )

    assert [(row["duration_ms"], row["duration_quality"], row["joined"]) for row in rows] == [
        (1_000, "exact", ["m1"]),
        (2_000, "overtaken", ["m2"]),
        (4_000, "exact", ["m3"]),
    ]
    assert [row["members_after"] for row in rows] == [1, 2, 3]


def test_a_day_has_idle_groups_orphaned_commits_and_unread_topics(tables: dict[str, list[Row]]) -> None:
    day = NOON - timedelta(hours=12)
    groups = {row["group"]: row for row in tables["group_daily"] if row["day"] == day}
    topics = {row["topic"]: row for row in tables["topic_daily"] if row["day"] == day}

    assert [name for name, row in groups.items() if row["is_idle"]] == ["idle"]
    assert [name for name, row in groups.items() if row["orphaned_partitions"]] == ["idle"]
    assert groups["steady"]["commits"] == 4
    assert groups["steady"]["records_consumed"] == 300
    assert groups["old"]["max_members"] == 2
    assert groups["old"]["rebalances"] == 2
    assert groups["lost"]["commits"] is None
    assert [name for name, row in topics.items() if row["is_unread"]] == ["unread"]
    assert topics["unread"]["records_produced"] == 40


def test_a_second_build_has_nothing_to_do(storage: Storage, built: BuildResult) -> None:
    assert [day.isoformat() for day in built.dates] == ["2026-11-18", "2026-11-20"]
    assert build_here(storage).dates == ()
