"""Samples, records and producers have clocks of their own, and what differs between them tells nothing false."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.pipeline.tables import GROUP_DAILY, GROUP_STATUS, LAG_HISTORY, TOPIC_DAILY, Table
from tests.pipeline.steps.conftest import Stories
from tests.pipeline.fact_rows import Row, at, commit, ends

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
MINUTES = range(20)


def backfilled(minute: float, end: int, *, point: tuple[int, float] | None = None, **others: Any) -> Row:
    """A log end of the past, and the record that tells it with its own time."""
    told = {"point_offset": point[0], "point_time": at(60 * point[1])} if point else {}
    return ends(60 * minute, end, start=None, origin="backfill", **told) | others


def ahead(cluster: str, seconds: int) -> list[Row]:
    """Ten records a second, each processed at once and committed each ten seconds; the sampler's clock is ahead."""
    own: dict[str, Any] = {"cluster_id": cluster}
    return [
        *(commit(10 * n, 100 * n, source=n, **own) for n in range(6 * len(MINUTES))),
        *(commit(60 * m + seconds, 600 * m, **own) for m in MINUTES),
        *(ends(60 * m + seconds + 1, 600 * m + 10, **own) for m in MINUTES),
    ]


def read_until(cluster: str, *, reads: int, gap: int = 0) -> list[Row]:
    """Ingest ended after `reads` commits, three seconds apart; samples see how the group goes on."""
    own: dict[str, Any] = {"cluster_id": cluster}
    last = 3 * (reads - 1)
    times = range(-60, last + gap, 60) if not gap else [last + gap]
    return [
        *(commit(3 * n, 3 * n, source=n, **own) for n in range(reads)),
        *(commit(time, time, **own) for time in [*times, *range(last + gap + 60, last + 1_800, 60)] if time >= 0),
        *(ends(time + 1, time + 60, **own) for time in [*times, *range(last + gap + 60, last + 1_800, 60)]),
    ]


FACTS: list[Row] = [
    *ahead("ahead", 30),
    *ahead("together", 0),
    *read_until("long ago", reads=20),
    *read_until("just before", reads=20, gap=40),
    # A record of the future, and behind it what is not processed.
    commit(0, 50, source=1, cluster_id="future"),
    ends(60, 551, cluster_id="future"),
    backfilled(2, 50, point=(50, 55), cluster_id="future"),
    ends(180, 551, cluster_id="future"),
    # What producers say is old was written today.
    commit(0, 5, source=1, cluster_id="old times"),
    *(ends(60 * m, 10 * m, cluster_id="old times") for m in (1, 3, 5)),
    *(backfilled(m, 1_000, cluster_id="old times") for m in (0, 2, 4)),
    # A topic was made anew, and is larger than the one before at the next sample.
    *(commit(60 * m, 90, cluster_id="anew") for m in range(5)),
    ends(0, 0, cluster_id="anew", topic_id="first"),
    ends(60, 100, cluster_id="anew", topic_id="first"),
    backfilled(1.5, 0, cluster_id="anew", topic_id="second"),
    ends(120, 5_000, cluster_id="anew", topic_id="second"),
    ends(180, 5_045, cluster_id="anew", topic_id="second"),
    # What was committed on the log before goes with it: ten commits, then twelve on the new log from its start.
    *(commit(60 * m, 600 + 10 * m if m < 10 else 40 * (m - 9), cluster_id="begun again") for m in range(22)),
    *(
        ends(60 * m + 1, 1_000 + 10 * m if m < 10 else 5_000 + 60 * m, topic_id=str(m < 10), cluster_id="begun again")
        for m in range(22)
    ),
    # Where records are read they tell of that.
    *(commit(60 * m, 600 + 10 * m if m < 10 else 40 * (m - 9), source=m, cluster_id="read") for m in range(15)),
    *(
        ends(60 * m + 1, 1_000 + 10 * m if m < 10 else 5_000 + 60 * m, topic_id=str(m < 10), cluster_id="read")
        for m in range(15)
    ),
    # At minute 10 another sample is asked five milliseconds later, and answered before.
    *(commit(60 * m, 10 * m, cluster_id="two samplers") for m in range(20)),
    *(ends(60 * m + 1, 1_000 + 60 * m, cluster_id="two samplers") for m in range(20)),
    ends(60 * 10 + 1.005, 1_000 + 60 * 10 - 3, cluster_id="two samplers"),
    # The same, and it stays so: a log that was cut back.
    *(commit(60 * m, 10 * m, cluster_id="cut back") for m in range(20)),
    *(ends(60 * m + 1, 1_000 + 60 * m, cluster_id="cut back") for m in range(11)),
    *(ends(60 * m + 1.005, 500 + 10 * m, cluster_id="cut back") for m in range(10, 20)),
    # Brokers take it, and answer that nothing is committed.
    commit(0, 5, source=1, cluster_id="minus one"),
    commit(60, -1, source=2, cluster_id="minus one"),
    ends(30, 100, cluster_id="minus one"),
    ends(90, 100, cluster_id="minus one"),
]


def facts() -> dict[str, list[Row]]:
    commits = [row for row in FACTS if "committed_offset" in row]
    return {"offset_commits": commits, "partition_offsets": [row for row in FACTS if row not in commits]}


@pytest.fixture
def rows(spark: SparkSession, stories: Stories, request: pytest.FixtureRequest) -> list[Row]:
    """Of one table and cluster, in time."""
    table, cluster = request.param
    found = stories.read(spark, table).where(f"cluster_id = '{cluster}'")
    where = "topic is not null" if table is GROUP_STATUS else "true"
    return sorted(
        (row.asDict() for row in found.where(where).collect()),
        key=lambda row: row.get("observed_at") or row.get("evaluated_at") or row["day"],
    )


def of(table: Table, cluster: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("rows", [(table, cluster)], indirect=True)


@of(LAG_HISTORY, "ahead")
def test_a_sample_of_a_clock_that_is_ahead_leaves_no_lag_below_zero(rows: list[Row]) -> None:
    """Its log end is older than it says; beside it stands the commit that it saw itself."""
    assert {row["lag"] for row in rows} == {10}
    assert {row["time_lag_quality"] for row in rows} != {"exact"}


@of(GROUP_DAILY, "ahead")
def test_what_was_read_is_not_counted_twice_for_a_sample_of_another_clock(rows: list[Row]) -> None:
    (row,) = rows
    assert row["messages_consumed"] == 100 * (6 * len(MINUTES) - 1)


@of(LAG_HISTORY, "together")
def test_where_clocks_agree_the_last_commit_counts_and_not_the_sampled_one(rows: list[Row]) -> None:
    assert {row["lag"] for row in rows} == {10}
    assert {row["commit_origin"] for row in rows} == {"topic"}


@of(GROUP_STATUS, "long ago")
def test_where_ingest_ended_samples_go_on_telling(rows: list[Row]) -> None:
    """The lag stays as it is, and never falls."""
    later = rows[2:]
    assert {row["verdict"] for row in later} == {"WARN"}
    assert all(row["evaluated_at"] - row["window_end"] == timedelta(seconds=1) for row in later)


@of(GROUP_STATUS, "just before")
def test_a_sample_that_saw_a_later_commit_than_ingest_calls_nobody_stopped(rows: list[Row]) -> None:
    assert "STOP" not in {row["verdict"] for row in rows}
    assert rows[0]["rule"] == "no_commits"


@of(LAG_HISTORY, "future")
def test_a_record_whose_time_is_yet_to_come_makes_no_lag_nothing(rows: list[Row]) -> None:
    """And the backfill that it misleads is left out, since a sample saw more before."""
    assert [(row["lag"], row["time_lag_quality"]) for row in rows] == [(501, "unknown"), (501, "lower_bound")]
    assert rows[1]["time_lag_ms"] == 120_000


@of(LAG_HISTORY, "old times")
def test_log_ends_of_the_past_that_are_above_those_seen_later_are_left_out(rows: list[Row]) -> None:
    assert [(row["origin"], row["log_end_offset"]) for row in rows] == [("sample", 10), ("sample", 30), ("sample", 50)]


@of(LAG_HISTORY, "anew")
def test_a_topic_that_was_made_anew_is_another_log_however_large_it_is(rows: list[Row]) -> None:
    assert [row["log_end_offset"] for row in rows] == [0, 100, 5_000, 5_045]
    assert [row["time_lag_quality"] for row in rows[2:]] == ["unknown", "lower_bound"]


@of(TOPIC_DAILY, "anew")
def test_what_both_logs_grew_is_what_was_produced(rows: list[Row]) -> None:
    (row,) = rows
    assert row["messages_produced"] == 100 + 45


@of(GROUP_STATUS, "begun again")
def test_a_lower_offset_on_a_log_made_anew_is_no_rewind(rows: list[Row]) -> None:
    """Sampling sees the new log for the first time in minute 10, with what was committed on it by then."""
    assert {row["rule"] for row in rows[1:10]} == {"falling_behind"}
    assert "REWIND" not in {row["verdict"] for row in rows}
    assert [row["window_start"].minute for row in rows[11:]] == [10] * 9 + [11, 12]


@of(GROUP_STATUS, "two samplers")
def test_an_end_that_was_told_before_the_one_asked_for_first_is_no_log_made_anew(rows: list[Row]) -> None:
    assert [row["evaluated_at"].minute for row in rows] == [*range(20)]
    assert {row["rule"] for row in rows[1:]} == {"falling_behind"}
    assert rows[-1]["window_start"].minute == 10


@of(GROUP_STATUS, "cut back")
def test_an_end_that_stays_lower_is_a_log_of_its_own_however_soon_it_is_seen(rows: list[Row]) -> None:
    assert rows[-1]["window_start"].minute == 11


@of(LAG_HISTORY, "begun again")
def test_rates_do_not_reach_from_one_log_into_the_next(rows: list[Row]) -> None:
    assert len(rows) == 22
    assert [(row["consume_rate"], row["produce_rate"]) for row in rows[9:11]] == [(10 / 60, 10 / 60), (None, None)]
    assert [(row["consume_rate"], row["produce_rate"]) for row in rows[-1:]] == [(40 / 60, 1.0)]


@of(GROUP_STATUS, "read")
def test_records_that_go_back_are_a_rewind_whatever_became_of_the_log(rows: list[Row]) -> None:
    assert rows[-1]["verdict"] == "REWIND"


@of(LAG_HISTORY, "minus one")
def test_an_offset_of_minus_one_is_no_commit(rows: list[Row]) -> None:
    assert [row["lag"] for row in rows] == [95]
