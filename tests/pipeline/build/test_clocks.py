"""Lag, verdicts and days where the clocks of samples, records and producers differ, and where a log is another one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.build.builds import built, of, read
from tests.pipeline.fact_rows import Row, at, commit, ends

MINUTES = range(20)


def backfilled(minute: float, end: int, *, point: tuple[int, float] | None = None, **others: Any) -> Row:
    """Return a log end of the past, and the offset and minute of the record that shows it."""
    shown = {"lookup_offset": point[0], "lookup_timestamp": at(60 * point[1])} if point else {}
    return ends(60 * minute, end, start=None, origin="backfill", **shown) | others


def ahead(cluster: str, seconds: int) -> list[Row]:
    """Return ten records a second, committed every ten seconds; the sampler's clock is ahead."""
    own: dict[str, Any] = {"cluster_id": cluster}
    return [
        *(commit(10 * n, 100 * n, source=n, **own) for n in range(6 * len(MINUTES))),
        *(commit(60 * m + seconds, 600 * m, **own) for m in MINUTES),
        *(ends(60 * m + seconds + 1, 600 * m + 10, **own) for m in MINUTES),
    ]


def read_until(cluster: str, *, reads: int, gap: int = 0) -> list[Row]:
    """Ingest ended after `reads` commits, three seconds apart; samples see the later commits."""
    own: dict[str, Any] = {"cluster_id": cluster}
    last = 3 * (reads - 1)
    times = range(-60, last + gap, 60) if not gap else [last + gap]
    return [
        *(commit(3 * n, 3 * n, source=n, **own) for n in range(reads)),
        *(commit(time, time, **own) for time in [*times, *range(last + gap + 60, last + 1_800, 60)] if time >= 0),
        *(ends(time + 1, time + 60, **own) for time in [*times, *range(last + gap + 60, last + 1_800, 60)]),
    ]


def ends_of_two_logs(minutes: int) -> list[Row]:
    """Return ends of a topic that was recreated before minute 10."""
    return [
        ends(60 * m + 1, 1_000 + 10 * m if m < 10 else 5_000 + 60 * m, topic_id=str(m < 10)) for m in range(minutes)
    ]


FACTS: list[Row] = [
    *ahead("ahead", 30),
    *ahead("together", 0),
    *read_until("long ago", reads=20),
    *read_until("just before", reads=20, gap=40),
    # The last processed record bears a time of the future; later records are not processed.
    commit(0, 50, source=1, cluster_id="future"),
    ends(60, 551, cluster_id="future"),
    backfilled(2, 50, point=(50, 55), cluster_id="future"),
    ends(180, 551, cluster_id="future"),
    # Records that bear old times were written today.
    commit(0, 5, source=1, cluster_id="old times"),
    *(ends(60 * m, 10 * m, cluster_id="old times") for m in (1, 3, 5)),
    *(backfilled(m, 1_000, cluster_id="old times") for m in (0, 2, 4)),
    # A topic was recreated, and is larger than the one before at the next sample.
    *(commit(60 * m, 90, cluster_id="recreated") for m in range(5)),
    ends(0, 0, cluster_id="recreated", topic_id="first"),
    ends(60, 100, cluster_id="recreated", topic_id="first"),
    backfilled(1.5, 0, cluster_id="recreated", topic_id="second"),
    backfilled(1.8, 4_000, cluster_id="recreated", topic_id="second"),
    ends(120, 5_000, cluster_id="recreated", topic_id="second"),
    ends(180, 5_045, cluster_id="recreated", topic_id="second"),
    # Commits on a log end with it: ten commits, then 27 on the new log from its start.
    *of("another log, sampled", (commit(60 * m, 600 + 10 * m if m < 10 else 40 * (m - 9)) for m in range(37))),
    *of("another log, sampled", ends_of_two_logs(37)),
    # The same commits, but as records.
    *of("another log, read", (commit(60 * m, 600 + 10 * m if m < 10 else 40 * (m - 9), source=m) for m in range(15))),
    *of("another log, read", ends_of_two_logs(15)),
    # At minute 10 another sample is requested five milliseconds later, with an earlier response.
    *(commit(60 * m, 10 * m, cluster_id="two samplers") for m in range(32)),
    *(ends(60 * m + 1, 1_000 + 60 * m, cluster_id="two samplers") for m in range(32)),
    ends(60 * 10 + 1.005, 1_000 + 60 * 10 - 3, cluster_id="two samplers"),
    # The same, and later ends are below it, too: a log that was truncated.
    *(commit(60 * m, 10 * m, cluster_id="truncated") for m in range(37)),
    *(ends(60 * m + 1, 1_000 + 60 * m, cluster_id="truncated") for m in range(11)),
    *(ends(60 * m + 1.005, 500 + 10 * m, cluster_id="truncated") for m in range(10, 37)),
    # Brokers accept it, and respond that nothing is committed.
    commit(0, 5, source=1, cluster_id="minus one"),
    commit(60, -1, source=2, cluster_id="minus one"),
    ends(30, 100, cluster_id="minus one"),
    ends(90, 100, cluster_id="minus one"),
    commit(0, 5, source=1, cluster_id="no offset"),
    commit(60, None, source=2, cluster_id="no offset", is_tombstone=False),
    ends(30, 100, cluster_id="no offset"),
    ends(90, 100, cluster_id="no offset"),
]


def facts() -> dict[str, list[Row]]:
    commits = [row for row in FACTS if "committed_offset" in row]
    return {"offset_commits": commits, "partition_offsets": [row for row in FACTS if row not in commits]}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    storage = built(tmp_path_factory.mktemp("tables"), facts())
    return {name: read(storage, name) for name in ("lag_history", "group_status", "group_daily", "topic_daily")}


@pytest.fixture
def rows(tables: dict[str, list[Row]], request: pytest.FixtureRequest) -> list[Row]:
    """The rows of one table and cluster by time; of group_status those of partitions."""
    name, cluster = request.param
    return sorted(
        (row for row in tables[name] if row["cluster_id"] == cluster and row.get("topic", "") is not None),
        key=lambda row: row.get("observed_at") or row.get("evaluated_at") or row["day"],
    )


def rows_of(table: str, cluster: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("rows", [(table, cluster)], indirect=True)


@rows_of("lag_history", "ahead")
def test_a_sample_of_a_clock_that_is_ahead_leaves_no_lag_below_zero(rows: list[Row]) -> None:
    """Its log end is older than its time: the commit that it saw itself counts."""
    assert {row["lag"] for row in rows} == {10}
    assert {row["time_lag_quality"] for row in rows} != {"exact"}


@rows_of("group_daily", "ahead")
def test_a_sample_of_another_clock_does_not_count_consumed_records_twice(rows: list[Row]) -> None:
    (row,) = rows
    assert row["records_consumed"] == 100 * (6 * len(MINUTES) - 1)


@rows_of("lag_history", "together")
def test_where_clocks_agree_the_last_record_counts_before_the_sampled_commit(rows: list[Row]) -> None:
    assert {row["lag"] for row in rows} == {10}
    assert {row["commit_origin"] for row in rows} == {"topic"}


@rows_of("lag_history", "long ago")
def test_verdicts_after_the_last_ingest_follow_from_samples(rows: list[Row]) -> None:
    """Each sample shows that the group has read all that the sample before had seen."""
    assert [row["rule"] for row in rows] == ["incomplete", *["keeping_up"] * 29]
    assert [row["commit_origin"] for row in rows] == ["topic", *["sample"] * 29]
    assert {row["verdict_since"] for row in rows[1:]} == {rows[1]["observed_at"]}


@rows_of("lag_history", "just before")
def test_groups_whose_last_commit_only_a_sample_saw_have_not_stopped(rows: list[Row]) -> None:
    assert [row["rule"] for row in rows] == ["incomplete", *["keeping_up"] * 29]
    assert {row["commit_origin"] for row in rows} == {"sample"}


@rows_of("lag_history", "future")
def test_a_record_with_a_future_time_does_not_change_the_lag(rows: list[Row]) -> None:
    """The backfilled log end that it shows is not used: a sample saw a higher one before."""
    assert [(row["lag"], row["time_lag_quality"]) for row in rows] == [(501, "unknown"), (501, "lower_bound")]
    assert rows[1]["time_lag_ms"] == 120_000


@rows_of("lag_history", "old times")
def test_backfilled_log_ends_above_those_sampled_later_are_not_used(rows: list[Row]) -> None:
    assert [(row["origin"], row["log_end_offset"]) for row in rows] == [("sample", 10), ("sample", 30), ("sample", 50)]


@rows_of("lag_history", "recreated")
def test_a_topic_that_was_recreated_has_another_log_however_large_it_is(rows: list[Row]) -> None:
    assert [row["log_end_offset"] for row in rows] == [0, 100, 5_000, 5_045]
    assert [row["time_lag_quality"] for row in rows[2:]] == ["unknown", "lower_bound"]


@rows_of("topic_daily", "recreated")
def test_produced_records_are_the_growth_of_both_logs(rows: list[Row]) -> None:
    (row,) = rows
    assert row["records_produced"] == 100 + 45


@rows_of("group_status", "another log, sampled")
def test_a_lower_offset_on_another_log_is_no_rewind(rows: list[Row]) -> None:
    """The new log is known from minute 10 on, and its lag grows.

    In minute 35 it has floors in all three thirds, which begin in the minutes 5, 15 and 25. In minute 25 the first
    third begins ten minutes earlier, and only the old log has a floor in it.
    """
    assert [row["rule"] for row in rows] == [*["incomplete"] * 35, *["falling_behind"] * 2]
    assert [row["verdict_since"] for row in rows] == [*[at(1)] * 35, *[at(60 * 35 + 1)] * 2]


@rows_of("group_status", "two samplers")
def test_a_lower_log_end_that_is_higher_in_the_next_sample_is_no_new_log(rows: list[Row]) -> None:
    """The lag grows. In minute 25 it has floors in all thirds: the first one ends in minute 5."""
    assert [row["evaluated_at"].minute for row in rows] == [*range(32)]
    assert [row["rule"] for row in rows] == [*["incomplete"] * 25, *["falling_behind"] * 7]


@rows_of("group_status", "truncated")
def test_log_ends_that_stay_lower_belong_to_another_log(rows: list[Row]) -> None:
    """The first sample of the new log is in minute 11, so its floors are in all thirds from minute 35 on."""
    assert [row["rule"] for row in rows] == [*["incomplete"] * 35, *["keeping_up"] * 2]


@pytest.mark.parametrize(("seconds", "used"), [(30, [100, 160]), (30.001, [100, 97, 160])])
def test_a_log_end_lower_for_half_a_minute_at_most_is_not_used(tmp_path: Path, seconds: float, used: list[int]) -> None:
    log_ends = [ends(0, 100), ends(seconds, 97), ends(60, 160)]

    storage = built(tmp_path, {"offset_commits": [commit(-1, 5, source=1)], "partition_offsets": log_ends})

    assert [row["log_end_offset"] for row in read(storage, "lag_history")] == used


@rows_of("lag_history", "another log, sampled")
def test_rates_do_not_span_two_logs(rows: list[Row]) -> None:
    assert len(rows) == 37
    assert [(row["consume_rate"], row["produce_rate"]) for row in rows[9:11]] == [(10 / 60, 10 / 60), (None, None)]
    assert [(row["consume_rate"], row["produce_rate"]) for row in rows[-1:]] == [(40 / 60, 1.0)]


@rows_of("group_status", "another log, read")
def test_records_on_another_topic_id_are_no_rewind(rows: list[Row]) -> None:
    """The removal of the old commit may be lost to compaction."""
    assert [row["rule"] for row in rows] == ["incomplete"] * 15


@rows_of("lag_history", "minus one")
def test_an_offset_of_minus_one_is_no_commit(rows: list[Row]) -> None:
    assert [row["lag"] for row in rows] == [95]


@rows_of("lag_history", "no offset")
def test_a_record_without_an_offset_is_no_commit(rows: list[Row]) -> None:
    assert [row["lag"] for row in rows] == [95]
