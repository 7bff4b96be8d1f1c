"""Durations, times and time lags as people read them."""

from __future__ import annotations

import pytest

from kafka_groups.pipeline.report.history import Finding
from kafka_groups.pipeline.report.limits import first_of_each_kind
from kafka_groups.pipeline.report.notation import (
    describe_duration,
    describe_lag,
    describe_member_changes,
    describe_minute,
    describe_time_lag,
    format_instant,
    format_lag,
    format_longest_rebalance,
    format_minute,
    format_time_lag,
)
from kafka_groups.rendering.counts import count_of
from kafka_groups.rendering.durations import format_duration
from tests.pipeline.report.example_histories import DAY, FROM, HOUR, MINUTE, group, rebalance


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (0, "0s"),
        (1, "1ms"),
        (999, "999ms"),
        (1_000, "1s"),
        (3_249, "3.2s"),
        (9_999, "9.9s"),
        (10_999, "10s"),
        (59_999, "59s"),
        (60_000, "1m"),
        (192_000, "3m12s"),
        (HOUR, "1h"),
        (HOUR + 59_999, "1h"),
        (2 * HOUR + 5 * MINUTE, "2h5m"),
        (DAY + 30 * MINUTE, "1d"),
        (400 * DAY + 23 * HOUR, "400d23h"),
        (-192_000, "-3m12s"),
    ],
)
def test_a_duration_has_its_two_largest_units(ms: int, shown: str) -> None:
    assert format_duration(ms) == shown


def test_times_are_utc_and_single_words() -> None:
    assert format_minute(FROM + 3_599_999) == "2026-11-20T00:59Z"
    assert format_instant(FROM + 3_599_999) == "2026-11-20T00:59:59.999Z"
    assert format_instant(0) == "1970-01-01T00:00:00.000Z"


def test_a_page_omits_the_year_that_it_has_already() -> None:
    assert describe_minute(FROM) == "20 Nov 2026, 00:00"
    assert describe_minute(FROM, beside_ms=FROM + DAY) == "20 Nov, 00:00"
    assert describe_minute(FROM, beside_ms=FROM + 60 * DAY) == "20 Nov 2026, 00:00"


@pytest.mark.parametrize(
    ("quality", "ms", "shown", "spelled"),
    [
        ("exact", 192_000, "3m12s", "3m12s"),
        ("interpolated", 192_000, "~3m12s", "about 3m12s"),
        ("lower_bound", 192_000, "≥3m12s", "at least 3m12s"),
        ("data_loss", 192_000, "!3m12s", "after data loss, 3m12s"),
        ("data_loss", None, "!", "data loss"),
        ("unknown", None, None, None),
        ("lower_bound", None, None, None),
    ],
)
def test_a_time_lag_has_a_sign_of_its_quality(
    quality: str, ms: int | None, shown: str | None, spelled: str | None
) -> None:
    measured = group(time_lag_ms=ms, time_lag_quality=quality)
    assert (format_time_lag(measured), describe_time_lag(measured)) == (shown, spelled)


@pytest.mark.parametrize(
    ("quality", "lag", "shown", "spelled"),
    [
        ("exact", 12_345, "12345", "12,345"),
        ("exact", 0, "0", "0"),
        ("lower_bound", 12_345, "≥12345", "at least 12,345"),
        ("outdated", 12_345, "?12345", "outdated: 12,345"),
        ("unknown", None, None, None),
    ],
)
def test_a_lag_has_a_sign_of_its_quality(quality: str, lag: int | None, shown: str | None, spelled: str | None) -> None:
    measured = group(lag=lag, lag_quality=quality)
    assert (format_lag(measured), describe_lag(measured)) == (shown, spelled)


@pytest.mark.parametrize(
    ("quality", "ms", "spelled"),
    [
        ("exact", 3_200, "3.2s"),
        ("bound", 3_200, "at most 3.2s"),
        ("timeout", 3_200, "at most 3.2s"),
        ("overtaken", 3_200, "overtaken after 3.2s"),
        ("open", None, "had not ended"),
        ("unknown", None, "when it ended is not known"),
        ("exact", None, "duration unknown"),
    ],
)
def test_a_rebalance_shows_the_quality_of_its_duration(quality: str, ms: int | None, spelled: str) -> None:
    assert describe_duration(rebalance(duration_ms=ms, duration_quality=quality)) == spelled


def test_the_longest_rebalance_is_one_whose_duration_the_records_show() -> None:
    short, long, still = rebalance(duration_ms=5), rebalance(duration_ms=500), rebalance(duration_ms=None)
    timeout = rebalance(duration_ms=300_000, duration_quality="timeout")
    assert group(rebalances=(short, long, still, timeout)).longest_rebalance is long
    assert group(rebalances=(still, timeout)).longest_rebalance is None
    at_once = rebalance(duration_ms=0)
    assert group(rebalances=(still, at_once)).longest_rebalance is at_once
    assert group().longest_rebalance is None


def test_a_rebalance_in_progress_is_shown_in_place_of_the_longest_one() -> None:
    rebalancing = group(rebalances=(rebalance(duration_ms=500),), rebalancing_ms=180_000)
    assert format_longest_rebalance(rebalancing) == "rebalancing for ≥ 3m"
    assert format_longest_rebalance(rebalancing, at_most_sign="<=") == "rebalancing for >= 3m"


@pytest.mark.parametrize(("quality", "shown"), [("exact", "3.2s"), ("overtaken", "≥3.2s"), ("bound", "≤3.2s")])
def test_the_longest_rebalance_has_a_sign_where_its_duration_is_a_bound(quality: str, shown: str) -> None:
    assert format_longest_rebalance(group(rebalances=(rebalance(duration_quality=quality),))) == shown
    assert format_longest_rebalance(group(rebalances=(rebalance(duration_ms=None, duration_quality=quality),))) is None


@pytest.mark.parametrize(
    ("joined", "left", "spelled"),
    [
        (2, 0, "2 joined, 0 left"),
        (None, 1_000, "1,000 left"),
        (None, None, "who joined or left is not known"),
    ],
)
def test_known_numbers_of_joined_and_left_members_are_described(
    joined: int | None, left: int | None, spelled: str
) -> None:
    assert describe_member_changes(rebalance(joined=joined, left=left)) == spelled


def test_many_findings_of_one_kind_do_not_hide_another() -> None:
    one, other = (
        Finding(kind=kind, cluster_id="c", group="g", topic=None, message="m") for kind in ("idle_group", "skew")
    )
    assert first_of_each_kind((one, one, one, other), 2) == [one, one, other]


def test_counts_have_their_plural() -> None:
    assert [count_of(1, "group"), count_of(0, "group"), count_of(12_000, "group")] == [
        "1 group",
        "0 groups",
        "12,000 groups",
    ]
