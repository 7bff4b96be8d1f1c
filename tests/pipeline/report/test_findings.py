"""A finding of every kind: when it is reported, when not, and in which words."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from kafka_groups.pipeline.report.findings import (
    KINDS,
    ClockJump,
    UnreadTopic,
    describe_clocks,
    describe_topic,
)
from kafka_groups.pipeline.report.group_findings import GroupDayRow, describe_group
from kafka_groups.pipeline.report.html.page import _KINDS
from kafka_groups.pipeline.report.json.schema import _FINDINGS

HOUR = 3_600_000
TODAY = date(2026, 11, 20)
QUIET = GroupDayRow(
    cluster_id="c",
    group="g",
    day=TODAY,
    min_retention_margin=500,
    last_retention_margin=500,
    retention_left_ms=None,
    orphaned_partitions=0,
    is_idle=False,
    last_lag=10,
    last_commit_date=date(2026, 11, 18),
    skew=1.0,
)


def reported(**others: Any) -> list[tuple[str, str]]:
    return list(describe_group([QUIET._replace(**others)], TODAY, 0))


def test_an_ordinary_day_has_no_finding() -> None:
    assert reported() == []
    assert reported(min_retention_margin=None, skew=None) == []


@pytest.mark.parametrize(
    ("day", "kind", "message"),
    [
        (
            {"retention_left_ms": 5 * HOUR + HOUR // 2},
            "retention_risk",
            "Group g: at the day's rates the log start passes its commit in 5.5 hours.",
        ),
        (
            {"retention_left_ms": 5 * HOUR, "has_commits": False},
            "retention_risk",
            "Group g: at the day's rates the log start passes its start offset in 5.0 hours.",
        ),
        (
            {"min_retention_margin": -7, "last_retention_margin": -2, "has_commits": False},
            "retention_risk",
            "Group g: its start offset is 2 records below the log start offset; it can no longer read them.",
        ),
        (
            {"min_retention_margin": -3_000, "last_retention_margin": -1_200, "retention_left_ms": 0},
            "retention_risk",
            "Group g: its commit is 1,200 records below the log start offset; it can no longer read them.",
        ),
        (
            {"min_retention_margin": -10, "last_retention_margin": 70},
            "retention_risk",
            "Group g: on 2026-11-20 its commit was 10 records below the log start offset; it can no longer read them.",
        ),
        (
            {"min_retention_margin": -1, "last_retention_margin": None},
            "retention_risk",
            "Group g: on 2026-11-20 its commit was 1 record below the log start offset; it can no longer read it.",
        ),
        (
            {"orphaned_partitions": 3},
            "orphaned_commit",
            "Group g: it has commits on 3 partitions that no longer exist.",
        ),
        (
            {"orphaned_partitions": 1},
            "orphaned_commit",
            "Group g: it has commits on 1 partition that no longer exists.",
        ),
        (
            {"is_idle": True},
            "idle_group",
            "Group g: no commit in 24 hours, and no member seen on 2026-11-20; its last commit was on 2026-11-18.",
        ),
        (
            {"is_idle": True, "last_commit_date": None},
            "idle_group",
            "Group g: no commit in 24 hours, and no member seen on 2026-11-20.",
        ),
        (
            {"skew": 3.0},
            "skew",
            "Group g: the busiest partition of a topic had 3.0 times the records of an average one of that topic.",
        ),
    ],
)
def test_a_day_with_a_risk_is_reported(day: dict[str, Any], kind: str, message: str) -> None:
    assert reported(**day) == [(kind, message)]


@pytest.mark.parametrize("day", [{"retention_left_ms": 24 * HOUR + 1}, {"skew": 2.9}])
def test_a_small_skew_or_a_distant_loss_is_not_reported(day: dict[str, Any]) -> None:
    assert reported(**day) == []


def test_a_loss_and_a_forecast_are_both_reported() -> None:
    day = {"min_retention_margin": -10, "last_retention_margin": 70, "retention_left_ms": 2 * HOUR}

    assert [message for _, message in reported(**day)] == [
        "Group g: on 2026-11-20 its commit was 10 records below the log start offset; it can no longer read them.",
        "Group g: at the day's rates the log start passes its commit in 2.0 hours.",
    ]


YESTERDAY = QUIET._replace(day=date(2026, 11, 19))


def retention_findings(*before: dict[str, Any], minutes: int = 24 * 60, **today: Any) -> list[str]:
    """Return the findings on a day with `minutes` minutes of known lag, after the days before."""
    days = [QUIET._replace(**today), *(YESTERDAY._replace(**row) for row in before)]
    found = list(describe_group(days, TODAY, minutes * 60_000))
    assert {kind for kind, _ in found} <= {"retention_risk"}
    return [message for _, message in found]


def test_a_loss_that_lasts_for_days_is_reported_once() -> None:
    lost, more = {"min_retention_margin": -10}, {"day": date(2026, 11, 18), "min_retention_margin": -30}

    assert retention_findings(lost, more) == [
        "Group g: on 2026-11-18 its commit was 30 records below the log start offset; it can no longer read them."
    ]
    # It lies there still.
    assert retention_findings(lost, min_retention_margin=-10, last_retention_margin=-10) == [
        "Group g: its commit is 10 records below the log start offset; it can no longer read them."
    ]
    assert len(retention_findings(more, min_retention_margin=-10, last_retention_margin=-10)) == 2


def test_a_loss_is_reported_of_a_group_that_has_no_row_on_the_newest_day() -> None:
    (found,) = describe_group([YESTERDAY._replace(min_retention_margin=-1)], TODAY, 0)

    assert found == (
        "retention_risk",
        "Group g: on 2026-11-19 its commit was 1 record below the log start offset; it can no longer read it.",
    )


def test_a_forecast_holds_until_the_next_day_has_rates() -> None:
    forecast = {"retention_left_ms": 3 * HOUR}

    assert retention_findings(forecast, minutes=30) == [
        "Group g: at the rates of 2026-11-19 the log start passes its commit in 2.5 hours."
    ]
    assert retention_findings(forecast, minutes=30, retention_left_ms=HOUR) == [
        "Group g: at the day's rates the log start passes its commit in 1.0 hours."
    ]
    assert retention_findings(forecast, minutes=71) == []
    assert retention_findings(forecast, minutes=30, last_lag=0) == []
    assert retention_findings({"retention_left_ms": 0}, minutes=30) == []
    assert retention_findings(forecast | {"day": date(2026, 11, 18)}, minutes=30) == []


UNREAD = UnreadTopic(
    cluster_id="c",
    topic="t",
    day=TODAY,
    day_ms=0,
    records_produced=1_000,
    lookback_days=7,
)


def test_a_topic_without_readers_is_reported() -> None:
    assert describe_topic(UNREAD) == (
        "Topic t: no group has a commit on it at the end of 2026-11-20 (of the 7 days until then), and "
        "no known member reads it; 1,000 records were written between the first and the last observation of that day."
    )


def test_every_kind_has_a_heading_on_the_page_and_is_in_the_schema() -> None:
    kinds = {
        "retention_risk",
        "clock_difference",
        "orphaned_commit",
        "idle_group",
        "unread_topic",
        "skew",
        "known_reset",
    }
    assert set(KINDS) == set(_KINDS) == set(_FINDINGS) == kinds


@pytest.mark.parametrize(("jump_ms", "difference"), [(5_000, "5s"), (19_999, "19s"), (301_000, "5m1s")])
def test_a_difference_of_clocks_is_reported_as_a_lower_bound(jump_ms: int, difference: str) -> None:
    jump = ClockJump(cluster_id="c", group="g", day_ms=0, day=TODAY, clock_jump_ms=jump_ms)

    assert describe_clocks(jump) == (
        f"broker clocks differ by at least {difference}, or one was set back: commit times of group g fell by that on "
        "2026-11-20. Times of lag and of rebalances may be off by as much."
    )


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (
            {"records_produced": None, "lookback_days": 1},
            (
                "no group has a commit on it at the end of 2026-11-20 (of that day and the one before), "
                "and no known member reads it."
            ),
        ),
        (
            {"records_produced": 1, "lookback_days": None},
            (
                "no group has a commit on it at the end of 2026-11-20 (of that day), and no known "
                "member reads it; 1 record was written between the first and the last observation of that day."
            ),
        ),
    ],
)
def test_an_unread_topic_is_reported_with_the_days_that_were_read(row: dict[str, Any], message: str) -> None:
    assert describe_topic(UNREAD._replace(**row)) == f"Topic t: {message}"
