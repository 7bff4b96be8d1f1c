"""What the numbers of a day count, and which of the day's values they are. A cluster for each case, one build."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Final

import pytest

from tests.pipeline.build.builds import built, of, read, read_statuses
from tests.pipeline.fact_rows import Row, commit, ends, event

MINUTE: Final = 60
DAY: Final = 86_400
# Of samples; one topic at least is part of each.
RUNS: Final = range(0, 21 * MINUTE, MINUTE)
YESTERDAY, TODAY = date(2026, 11, 19), date(2026, 11, 20)
Days = dict[tuple[str, str, date], Row]


def commits() -> list[Row]:
    return [
        # Partition 0 is always caught up; the lag of 1 is 10, then 90 after 15 minutes without a commit, then 40.
        *of("two partitions", [commit(0, 10, source=1), commit(0, 0, source=2, partition=1)]),
        *of("two partitions", [commit(960, 50, source=3, partition=1)]),
        *of("readers", [commit(1, 5, source=1, group="moves"), commit(60, 9, source=2, group="moves")]),
        *(row for n in (1, 2) for row in of("readers", moves_and_goes(f"goes {n}", 10 * n))),
        *of("readers", (commit(1, 5, source=30 + n, group=f"stands {n}") for n in range(3))),
        *of("readers", (commit(at, 5, source=40 + at, group="repeats") for at in (1, 30, 60))),
        # Partition 1 was last observed 8 minutes before the last sample, and 12.
        *of("missed lately", (commit(at, 5, topic="t", partition=1) for at in RUNS)),
        *of("missed for long", (commit(at, 5, topic="t", partition=1) for at in RUNS)),
        *of("missed for long", (commit(at, 5, topic="__consumer_offsets") for at in RUNS)),
        *of("members", (commit(at, 5, source=9 + n) for n, at in enumerate((1 - DAY, 2 - DAY, 1, 2)))),
        *of("members", (commit(at, 5, source=20 + n, group="other") for n, at in enumerate((3 - DAY, 3)))),
        *of("members", [commit(4, 5, source=30, group="streaming")]),
    ]


def moves_and_goes(group: str, source: int) -> list[Row]:
    return [
        commit(1, 5, source=source, group=group),
        commit(50, 7, source=source + 1, group=group),
        commit(70, None, source=source + 2, group=group),
    ]


def log_ends() -> list[Row]:
    return [
        *of("two partitions", (ends(at, 10) for at in (60, 930, 990))),
        *of("two partitions", (ends(at, end, partition=1) for at, end in ((60, 10), (930, 90), (990, 90)))),
        *of("missed lately", (ends(at, 5) for at in RUNS)),
        *of("missed lately", (ends(at, 5, partition=1) for at in RUNS if at <= 12 * MINUTE)),
        *of("missed for long", (ends(at, 5) for at in RUNS)),
        *of("missed for long", (ends(at, 5, partition=1) for at in RUNS if at <= 8 * MINUTE)),
        *of("missed lately", (ends(at, 5 + at, topic="__consumer_offsets") for at in RUNS)),
        *of("missed for long", (ends(at, 5 + at, topic="__consumer_offsets") for at in RUNS)),
        *of("assigned yesterday", (ends(day + at, 5) for day in (-DAY, 0) for at in (0, 60))),
    ]


def events() -> list[Row]:
    has_t = {"member_id": "m", "assignment": [{"topic": "t", "partitions": [0]}]}
    sample = {"origin": "sample", "source_partition": None, "source_offset": None}
    seen = event(-DAY, "state_seen", "Snapshot", source=0, state="Stable", members=[has_t]) | sample
    return [
        *of("assigned yesterday", [seen]),
        *of("members", [generation(-DAY, "g", 1, "a", "b", "c"), generation(-DAY + 1, "other", 2, "a", "b")]),
        # Two leave today.
        *of("members", [generation(90, "g", 3, "a")]),
        *of("members", [event(3, "group_epoch", "StreamsGroupMetadata", source=4, group="streaming", epoch=1)]),
    ]


def generation(seconds: float, group: str, number: int, *names: str) -> Row:
    members = [{"member_id": name} for name in names]
    return event(seconds, "generation", "GroupMetadata", source=number, group=group, epoch=number, members=members)


def facts() -> dict[str, list[Row]]:
    return {"offset_commits": commits(), "partition_offsets": log_ends(), "group_events": events()}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    storage = built(tmp_path_factory.mktemp("tables"), facts())
    return {name: read(storage, name) for name in ("group_daily", "topic_daily", "lag_history")}


@pytest.fixture(scope="module")
def groups(tables: dict[str, list[Row]]) -> Days:
    return {(row["cluster_id"], row["group"], row["date"]): row for row in tables["group_daily"]}


@pytest.fixture(scope="module")
def topics(tables: dict[str, list[Row]]) -> Days:
    return {(row["cluster_id"], row["topic"], row["date"]): row for row in tables["topic_daily"]}


def test_the_last_lag_is_that_of_the_newest_time_and_the_largest_of_any(groups: Days) -> None:
    day = groups["two partitions", "g", TODAY]
    assert (day["max_lag"], day["last_lag"]) == (90, 40)


def test_the_worst_verdict_is_the_worst_of_any_partition_at_any_time(
    groups: Days, tables: dict[str, list[Row]]
) -> None:
    of_partitions = [row for row in tables["lag_history"] if row["cluster_id"] == "two partitions"]
    verdicts: dict[int, set[str]] = {0: set(), 1: set()}
    for row in of_partitions:
        verdicts[row["partition"]].add(row["verdict"])

    assert verdicts[0] == {"OK"}
    assert "STOP" in verdicts[1]
    # The last one is another.
    assert max(of_partitions, key=lambda row: (row["observed_at"], row["partition"]))["verdict"] != "STOP"
    assert groups["two partitions", "g", TODAY]["worst_verdict"] == "STOP"


def test_readers_are_counted_apart_from_groups_with_a_commit(
    topics: Days,
) -> None:
    day = topics["readers", "t", TODAY]
    assert (day["active_groups"], day["groups_with_commits"]) == (3, 5)


def test_topics_of_a_group_have_a_commit_at_the_end_of_the_day(groups: Days) -> None:
    of_groups = {
        (cluster, group): groups[cluster, group, TODAY]["topics"]
        for cluster, group in (("two partitions", "g"), ("missed for long", "g"), ("readers", "goes 1"))
    }

    assert of_groups == {
        ("two partitions", "g"): ["t"],
        ("missed for long", "g"): ["__consumer_offsets", "t"],
        ("readers", "goes 1"): [],
    }


def test_the_offsets_topic_has_a_row_only_where_a_group_reads_it(topics: Days) -> None:
    assert ("missed lately", "__consumer_offsets", TODAY) not in topics
    day = topics["missed for long", "__consumer_offsets", TODAY]
    assert (day["groups_with_commits"], day["records_produced"], day["is_unread"]) == (1, 1_200, False)


def test_a_commit_is_orphaned_once_samples_miss_its_partition_for_long(groups: Days) -> None:
    assert groups["missed lately", "g", TODAY]["orphaned_partitions"] == 0
    assert groups["missed for long", "g", TODAY]["orphaned_partitions"] == 1


def test_members_at_the_beginning_of_a_day_count_on_it(groups: Days) -> None:
    assert [groups["members", "g", day]["max_members"] for day in (YESTERDAY, TODAY)] == [3, 3]
    assert groups["members", "other", TODAY]["max_members"] == 2


def test_an_assignment_in_a_sample_counts_only_on_the_day_of_the_sample(topics: Days) -> None:
    assert not topics["assigned yesterday", "t", YESTERDAY]["is_unread"]
    assert topics["assigned yesterday", "t", TODAY]["is_unread"]


def test_rebalances_are_counted_where_records_are_read(groups: Days) -> None:
    counted = [(day["rebalances"], day["rebalance_ms"]) for day in (groups["members", "other", TODAY],)]
    assert counted == [(0, 0)]
    sampled = groups["missed lately", "g", TODAY]
    assert (sampled["rebalances"], sampled["rebalance_ms"]) == (None, None)


def test_rebalances_of_a_streams_group_are_counted(groups: Days) -> None:
    streaming = groups["members", "streaming", TODAY]
    assert (streaming["rebalances"], streaming["rebalance_ms"], streaming["commits"]) == (1, 0, 1)


def test_a_rate_of_commits_is_per_second(groups: Days) -> None:
    """Of yesterday as far as records were read: until three seconds after noon."""
    day = groups["members", "g", YESTERDAY]
    assert (day["commits"], day["commit_rate"]) == (2, pytest.approx(2 / (DAY / 2 + 3)))


def test_the_worst_verdict_includes_partitions_observed_before_midnight(tmp_path: Path) -> None:
    """Such a partition counts for its group for ten minutes."""
    midnight = DAY // 2
    facts = {
        "offset_commits": [
            *(commit(0, offset, source=partition, partition=partition) for partition, offset in ((0, 10), (1, 0))),
            commit(midnight + 100, 10, source=2, partition=1),
        ],
        "partition_offsets": [
            *(ends(midnight - 60, 10, partition=partition) for partition in (0, 1)),
            ends(midnight + 60, 10, partition=0),
            ends(midnight + 120, 10, partition=1),
        ],
    }

    storage = built(tmp_path, facts)

    rows = [row for row in read_statuses(storage) if row["date"] > TODAY]
    assert [row["verdict"] for row in rows if row["topic"] is None] == ["STOP", "OK"]
    assert {row["verdict"] for row in rows if row["topic"] is not None} == {"OK"}
    assert [row["worst_verdict"] for row in read(storage, "group_daily")] == ["STOP", "STOP"]
