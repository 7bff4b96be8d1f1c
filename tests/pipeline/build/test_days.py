"""Days: idle groups, orphaned commits, unread topics, skew and lost records. A cluster for each case, one build."""

from __future__ import annotations

import json
from datetime import date
from typing import Any

import pytest

from tests.pipeline.build.builds import built, of, read
from tests.pipeline.fact_rows import Row, commit, ends, event

MINUTE, HOUR, DAY = 60, 3_600, 86_400
RUNS = range(0, 21 * MINUTE, MINUTE)
AFTER_MIDNIGHT = 12 * HOUR + 5 * MINUTE
TODAY, TOMORROW = date(2026, 11, 20), date(2026, 11, 21)

Days = dict[tuple[str, str, date], Row]


FALLING = [ends(at, end, start=None, origin="backfill") for at, end in ((1, 9_000), (31, 9_100), (61, 8_500))]


def commits() -> list[Row]:
    """Return commits: samples, unless they have a source."""
    return [
        *of("deleted", (commit(seconds, 10, topic="gone") for seconds in RUNS)),
        *of("silent broker", (commit(seconds, 10, partition=1) for seconds in RUNS)),
        *of("not to be described", [commit(0, 10, source=1, topic="secret")]),
        *of("commit removed with its topic", (commit(seconds, 10, topic="gone") for seconds in range(0, 300, MINUTE))),
        *of("even", (commit(0, 0, source=part, partition=part, topic="quiet") for part in range(9))),
        *of("even", (commit(60, 1, source=10 + part, partition=part, topic="quiet") for part in range(9))),
        *of("even", [commit(0, 0, source=20, topic="busy"), commit(60, 60_000, source=21, topic="busy")]),
        *of("uneven", (commit(0, 0, source=part, partition=part) for part in range(4))),
        *of(
            "uneven", (commit(60, 4_000 if part == 2 else 1_000, source=9 + part, partition=part) for part in range(4))
        ),
        *of("one in use", [commit(0, 0, source=1), commit(60, 8_000, source=2)]),
        *of("one of others", [commit(0, 0, source=1), commit(60, 8_000, source=2)]),
        *of("truncated", [commit(0, 0, source=1), commit(60, 8_000, source=2)]),
        *of("caught up", [commit(0, 10, source=1), commit(60, 90, source=2)]),
        *of("below", [commit(0, 10, source=1)]),
        *of("removed meanwhile", [commit(0, 10, source=1), commit(30, None, source=2)]),
        *of("removed meanwhile", [commit(0, 80, source=3, topic="kept")]),
        *of("hourly", (commit(hours * HOUR, hours, source=hours + 99, group="busy") for hours in range(-30, 12))),
        *of("hourly", [commit(-12 * HOUR - 30 * MINUTE, 1, source=1, group="rests")]),
        *of("hourly", [commit(11 * HOUR + 1, 1, source=200, group="other"), commit(AFTER_MIDNIGHT, 2, source=201)]),
        *of("read on one day", [commit(-2 * DAY, 1, source=1), commit(0, 1, source=2, group="other")]),
        *of("sampled for a day", (commit(hours * HOUR, 7) for hours in range(-12, 13))),
        *of("sampled for less", (commit(hours * HOUR, 7) for hours in range(-11, 13))),
        *of("rarely read", [commit(-8 * DAY, 40, source=1), commit(0, 1, source=2, topic="other")]),
    ]


def log_ends() -> list[Row]:
    sampled = [
        *of("deleted", (ends(seconds, 10) for seconds in RUNS)),
        *of("silent broker", (ends(seconds, 110) for seconds in RUNS)),
        *of("silent broker", (ends(seconds, 110, partition=1) for seconds in RUNS if seconds < 120)),
        *of("not to be described", (ends(seconds, 10) for seconds in RUNS)),
        *of("commit removed with its topic", (ends(seconds, 110) for seconds in RUNS)),
        *of("commit removed with its topic", (ends(seconds, 1, topic="gone") for seconds in range(0, 300, MINUTE))),
        *of("one in use", (ends(at, 8_000 if part == 0 else 3, partition=part) for at in (1, 61) for part in range(4))),
        *of("truncated", [*(ends(at, 3, partition=1) for at in (1, 61)), *FALLING]),
        *of("one of others", (ends(at, 100 * at, partition=part) for at in (1, 61) for part in range(4))),
        *of("caught up", (ends(seconds, 100, start=20) for seconds in (1, 61))),
        *of("below", (ends(seconds, 100, start=20) for seconds in (1, 61))),
        *of("removed meanwhile", (ends(seconds, 100, start=20) for seconds in (1, 901))),
        *of("removed meanwhile", (ends(seconds, 100, start=20, topic="kept") for seconds in (1, 901))),
        *of("unread", (ends(seconds, 10 + seconds) for seconds in RUNS)),
        *of("unread", [ends(19 * MINUTE, 70, topic="dropped"), ends(20 * MINUTE, 400, topic="new")]),
        *of("shared", (ends(seconds, 50, topic=topic) for seconds in RUNS for topic in ("kept", "left", "t"))),
        *of("assigned", (ends(seconds, 50) for seconds in RUNS)),
        *of("subscribed", (ends(20 * MINUTE, 5, topic=topic) for topic in ("classic", "matched", "no more"))),
        *of("rarely read", (ends(days * DAY, 50) for days in range(-8, 1))),
    ]
    silent = (ends(seconds, 0, start=None, partition=1) | {"log_end_offset": None} for seconds in RUNS)
    return [*sampled, *(row for row in of("silent broker", silent) if row["observed_at"].minute >= 2)]


def events() -> list[Row]:
    has_t = [{"member_id": "m", "assignment": [{"topic": "t", "partitions": [0]}]}]
    return [
        *of(
            "shared",
            [
                event(0, "member_metadata", "ShareGroupMemberMetadata", source=1, member_id="m", topics=["t", "kept"]),
                event(1, "member_metadata", "ShareGroupMemberMetadata", source=2, member_id="n", topics=["left"]),
                event(2, "share_partitions", "ShareGroupStatePartitionMetadata", source=3, topics=["kept"]),
                event(3, "member_metadata", "ShareGroupMemberMetadata", source=4, member_id="m", topics=["t"]),
                event(9, "member_left", "ShareGroupMemberMetadata", source=5, member_id="n", is_tombstone=True),
            ],
        ),
        *of(
            "subscribed",
            [
                event(0, "generation", "GroupMetadata", source=1, members=[{"member_id": "m", "topics": ["classic"]}]),
                expression(1, 2, "m.*", topics=["matched"]),
                expression(2, 3, "n.*", topics=["no more"]),
                expression(3, 4, "n.*", event_type="regex_removed", is_tombstone=True),
            ],
        ),
        *of("assigned", [event(0, "state_seen", "Snapshot", source=0, members=has_t) | {"origin": "sample"}]),
    ]


def expression(seconds: float, source: int, pattern: str, *, event_type: str = "regex_resolved", **others: Any) -> Row:
    details = json.dumps({"regular_expression": pattern})
    return event(seconds, event_type, "ConsumerGroupRegularExpression", source=source, details=details, **others)


def facts() -> dict[str, list[Row]]:
    return {"offset_commits": commits(), "partition_offsets": log_ends(), "group_events": events()}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    storage = built(tmp_path_factory.mktemp("tables"), facts())
    return {name: read(storage, name) for name in ("group_daily", "topic_daily")}


@pytest.fixture(scope="module")
def groups(tables: dict[str, list[Row]]) -> Days:
    return {(row["cluster_id"], row["group"], row["date"]): row for row in tables["group_daily"]}


@pytest.fixture(scope="module")
def topics(tables: dict[str, list[Row]]) -> Days:
    return {(row["cluster_id"], row["topic"], row["date"]): row for row in tables["topic_daily"]}


def test_a_commit_is_orphaned_only_on_a_partition_that_no_longer_exists(groups: Days) -> None:
    orphaned = {cluster for (cluster, _, _), row in groups.items() if row["orphaned_partitions"]}

    assert groups["deleted", "g", TODAY]["orphaned_partitions"] == 1
    assert orphaned == {"deleted"}


def test_skew_is_that_between_partitions_of_one_topic(groups: Days) -> None:
    assert groups["even", "g", TODAY]["skew"] == 1.0
    assert groups["uneven", "g", TODAY]["skew"] == 4_000 / 1_750
    # Clients that commit only what they read have no commit on the three that are empty; others may read what is not.
    assert groups["one in use", "g", TODAY]["skew"] == 4.0
    assert groups["one of others", "g", TODAY]["skew"] == 1.0
    # The log of the partition that is read became shorter, so it is not one to which nothing was written.
    assert groups["truncated", "g", TODAY]["skew"] == 2.0
    # Of so few records it is not known.
    assert groups["caught up", "g", TODAY]["skew"] is None


def test_a_day_has_its_least_and_its_last_retention_margin(groups: Days) -> None:
    margins = {
        cluster: (row["min_retention_margin"], row["last_retention_margin"], row["retention_left_ms"])
        for (cluster, _, _), row in groups.items()
        if row["min_retention_margin"] is not None and row["min_retention_margin"] < 0
    }

    assert margins == {"caught up": (-10, 70, None), "below": (-10, -10, 0), "removed meanwhile": (-10, 60, None)}


def test_a_group_is_idle_after_a_whole_day_without_a_commit(groups: Days) -> None:
    assert [(cluster, group, day) for (cluster, group, day), row in sorted(groups.items()) if row["is_idle"]] == [
        ("hourly", "rests", TOMORROW),
        ("read on one day", "g", TODAY),
        ("sampled for a day", "g", TOMORROW),
    ]


def test_a_cluster_has_no_rows_of_a_day_on_which_nothing_of_it_was_read(groups: Days, topics: Days) -> None:
    on_both = {cluster for cluster, _, day in {**groups, **topics} if day == TOMORROW}

    assert on_both == {"hourly", "sampled for a day", "sampled for less"}


def test_a_topic_is_unread_while_the_last_sample_sees_it(topics: Days) -> None:
    assert topics["unread", "t", TODAY]["is_unread"]
    assert topics["unread", "new", TODAY]["is_unread"]
    assert not topics["unread", "dropped", TODAY]["is_unread"]
    assert topics["rarely read", "t", TODAY]["is_unread"]
    assert topics["rarely read", "t", TODAY]["lookback_days"] == 7


def test_produced_records_of_a_topic_that_was_observed_once_are_unknown(topics: Days) -> None:
    assert topics["unread", "t", TODAY]["records_produced"] == 20 * MINUTE
    assert topics["unread", "new", TODAY]["records_produced"] is None


def test_a_topic_that_is_read_without_commits_is_not_unread(topics: Days) -> None:
    read = {(cluster, topic): row["is_unread"] for (cluster, topic, _), row in topics.items()}

    assert [read["shared", topic] for topic in ("t", "kept", "left")] == [False, False, True]
    assert read["assigned", "t"] is False
    assert [read["subscribed", topic] for topic in ("classic", "matched", "no more")] == [False, False, True]


def test_the_rate_of_commits_of_the_current_day_counts_until_the_last_record(groups: Days) -> None:
    """The group `hourly` has a record five minutes after midnight, `read on one day` one at noon."""
    tomorrow, today = groups["hourly", "g", TOMORROW], groups["read on one day", "other", TODAY]

    assert (tomorrow["commits"], tomorrow["commit_rate"]) == (1, 1 / (5 * MINUTE))
    assert (today["commits"], today["commit_rate"]) == (1, 1 / (12 * HOUR))
