"""A finding of every kind: when it is told, when not, and in which words."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from kafka_groups.pipeline.steps.findings import KINDS, group_findings, topic_findings

HOUR = 3_600_000
QUIET = {
    "cluster_id": "c",
    "group": "g",
    "day": datetime(2026, 11, 20, tzinfo=UTC),
    "retention_margin": 500,
    "retention_left_ms": None,
    "orphaned_partitions": 0,
    "is_idle": False,
    "last_commit_time": datetime(2026, 11, 18, 7, tzinfo=UTC),
    "skew": 1.0,
    "messages_consumed": 5_000,
}


def told(**others: Any) -> list[tuple[str, str]]:
    return [(finding.kind, finding.message) for finding in group_findings(QUIET | others)]


def test_an_ordinary_day_has_no_finding() -> None:
    assert told() == []
    assert told(retention_margin=None, skew=None) == []


@pytest.mark.parametrize(
    ("day", "kind", "message"),
    [
        (
            {"retention_left_ms": 5 * HOUR + HOUR // 2},
            "retention_risk",
            "Group g: at the day's rates the log start passes its commit in 5.5 hours.",
        ),
        (
            {"retention_margin": -1_200, "retention_left_ms": 0},
            "retention_risk",
            "Group g: it is 1,200 records below the log start: they are lost to it.",
        ),
        (
            {"orphaned_partitions": 3},
            "orphaned_commit",
            "Group g: it has commits on 3 partitions that are not there any more.",
        ),
        (
            {"is_idle": True},
            "idle_group",
            "Group g: no commit on 2026-11-20, and no member seen; its last commit is of 2026-11-18.",
        ),
        (
            {"is_idle": True, "last_commit_time": None},
            "idle_group",
            "Group g: no commit on 2026-11-20, and no member seen.",
        ),
        ({"skew": 3.0}, "skew", "Group g: its busiest partition had 3.0 times the records of the mean one."),
    ],
)
def test_a_day_that_deserves_a_look_is_told(day: dict[str, Any], kind: str, message: str) -> None:
    assert told(**day) == [(kind, message)]


@pytest.mark.parametrize("day", [{"retention_left_ms": 24 * HOUR + 1}, {"skew": 9.0, "messages_consumed": 999}])
def test_what_is_far_off_or_too_little_is_not_told(day: dict[str, Any]) -> None:
    assert told(**day) == []


def test_a_topic_without_readers_is_told_unless_it_is_one_of_kafkas_own() -> None:
    row = {"cluster_id": "c", "topic": "t", "is_unread": True, "messages_produced": 1_000}

    assert [(finding.kind, finding.message) for finding in topic_findings(row)] == [
        ("unread_topic", "Topic t: no group has a commit on it; 1,000 records were written.")
    ]
    assert topic_findings(row | {"topic": "__consumer_offsets"}) == []
    assert topic_findings(row | {"is_unread": False}) == []
    assert set(KINDS) == {"retention_risk", "orphaned_commit", "idle_group", "unread_topic", "skew"}
