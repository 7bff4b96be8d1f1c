"""Hand-made facts of clusters whose brokers and samplers have clocks that differ; records are in the order of logs."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from tests.pipeline.build.builds import built, read
from tests.pipeline.fact_rows import Row, at, commit, ends, event

MINUTE: Final = 60
MIDNIGHT: Final = 12 * 3_600
COMMITS: Final = 1_200
MOVED: Final = 600


def commits_across_a_move(ahead_s: int) -> list[Row]:
    """Return a commit a second of 100 records; after ten minutes the group has a coordinator with a right clock."""
    return [
        commit(seconds + (ahead_s if seconds < MOVED else 0), 100 * seconds, source=seconds)
        for seconds in range(COMMITS)
    ]


def log_ends(seconds: range, **others: Any) -> list[Row]:
    """Return samples of a log to which 100 records a second are written."""
    return [ends(at_s, 100 * at_s, **others) for at_s in seconds]


def days_of(directory: Path, facts: dict[str, list[Row]]) -> list[Row]:
    return read(built(directory, facts), "group_daily")


def test_a_coordinator_that_stays_counts_each_record_once(tmp_path: Path) -> None:
    facts = {"offset_commits": commits_across_a_move(0), "partition_offsets": log_ends(range(0, COMMITS, MINUTE))}

    assert [day["records_consumed"] for day in days_of(tmp_path, facts)] == [119_900]


@pytest.mark.parametrize("ahead_s", [10, 60])
def test_a_coordinator_that_moves_counts_each_record_once(tmp_path: Path, ahead_s: int) -> None:
    """The first broker's clock was ahead, so that the times of commits go back when the coordinator moves."""
    facts = {"offset_commits": commits_across_a_move(ahead_s), "partition_offsets": log_ends(range(0, 1_320, MINUTE))}

    assert [day["records_consumed"] for day in days_of(tmp_path, facts)] == [119_900]


def test_a_jump_of_clocks_makes_no_partition_uneven(tmp_path: Path) -> None:
    """As many records were read from partition 1, whose commits have the true times."""
    even = [row | {"partition": 1, "source_offset": 10_000 + row["source_offset"]} for row in commits_across_a_move(0)]
    facts = {
        "offset_commits": [*commits_across_a_move(60), *even],
        "partition_offsets": [*log_ends(range(0, 1_320, MINUTE)), *log_ends(range(0, 1_320, MINUTE), partition=1)],
    }

    assert [day["skew"] for day in days_of(tmp_path, facts)] == [1.0]


def test_rates_are_the_true_ones_after_a_coordinator_moved(tmp_path: Path) -> None:
    """All commits of the last ten minutes have the right broker's times, and 100 records a second were read."""
    storage = built(
        tmp_path,
        {
            "offset_commits": commits_across_a_move(60),
            "partition_offsets": [*log_ends(range(0, MOVED, MINUTE)), *log_ends(range(MOVED + 1, COMMITS, MINUTE))],
        },
    )

    rates = [row["consume_rate"] for row in read(storage, "lag_history") if row["observed_at"] > at(MOVED + 2 * MINUTE)]
    # The window begins in the last minute of the clock that was ahead.
    assert rates == pytest.approx([100] * len(rates), rel=0.15)


def generation(seconds: float, number: int, *names: str, source: int) -> Row:
    members = [{"member_id": name, "rebalance_timeout_ms": 60_000} for name in names]
    row = event(seconds, "generation", "GroupMetadata", source=source, epoch=number, members=members)
    return row | {"state_time": at(seconds - 0.5)}


def generations_around_midnight() -> dict[str, list[Row]]:
    """Return generation 5, dated 00:00:05 by a clock 20 s ahead, and generation 6, dated 23:59:58 by the right one."""
    return {
        "group_events": [
            generation(0, 4, "a", "b", source=1),
            generation(MIDNIGHT + 5, 5, "a", "b", "c", source=2),
            generation(MIDNIGHT - 2, 6, "a", "b", source=3),
        ],
        "offset_commits": [commit(0, 5, source=100), commit(MIDNIGHT + 60, 5, source=101)],
        "partition_offsets": [ends(seconds, 9) for seconds in (10, MIDNIGHT + 600, MIDNIGHT + 1_200)],
    }


def test_the_newest_generation_of_the_log_has_the_members_after_midnight(tmp_path: Path) -> None:
    rows = read(built(tmp_path, generations_around_midnight()), "group_status")

    assert [row["member_count"] for row in rows] == [2, 2, 2]


def test_generations_around_midnight_follow_each_other_in_the_log(tmp_path: Path) -> None:
    rows = read(built(tmp_path, generations_around_midnight()), "rebalances")

    changes = {row["generation"]: (row["members_before"], row["joined"], row["left"]) for row in rows}
    assert changes[5] == (2, ["c"], [])
    assert changes[6] == (3, [], ["c"])


def consumer(seconds: float, event_type: str, kind: str, source: int, **others: Any) -> Row:
    return event(seconds, event_type, f"ConsumerGroup{kind}", source=source, **others)


def member_joins(seconds: float, name: str, epoch: int, *others: str, source: int, ahead_s: int = 0) -> list[Row]:
    """Return records: a member joins with an epoch, and all reach it three seconds later, by a right clock."""
    rows = [
        consumer(seconds + ahead_s, "member_metadata", "MemberMetadata", source, member_id=name),
        consumer(seconds + ahead_s, "group_epoch", "Metadata", source + 1, epoch=epoch),
    ]
    for place, member in enumerate((name, *others), source + 2):
        fields = {"epoch": epoch, "previous_epoch": 0 if member == name else epoch - 1, "member_state": "STABLE"}
        kind = "CurrentMemberAssignment"
        rows.append(consumer(seconds + 3, "member_assignment", kind, place, member_id=member, **fields))
    return rows


@pytest.mark.parametrize("ahead_s", [0, 11, 60])
@pytest.mark.parametrize(("first_epoch", "old_members"), [(1, ()), (8, ("m0",))])
def test_a_join_dated_the_next_day_changes_no_earlier_day(
    tmp_path: Path, ahead_s: int, first_epoch: int, old_members: tuple[str, ...]
) -> None:
    """The coordinator moves between the join of m3, just before the second midnight, and its assignment."""
    last_s = MIDNIGHT + 24 * 3_600 - 10
    events = [
        *member_joins(0, "m1", first_epoch, *old_members, source=1),
        *member_joins(100, "m2", first_epoch + 1, *old_members, "m1", source=20),
        *member_joins(last_s, "m3", first_epoch + 2, *old_members, "m1", "m2", source=40, ahead_s=ahead_s),
    ]

    rows = read(built(tmp_path, {"group_events": events}), "rebalances")[:2]

    old = len(old_members)
    assert [(row["members_before"], row["members_after"]) for row in rows] == [(old, old + 1), (old + 1, old + 2)]
    assert [(row["duration_quality"], row["duration_ms"]) for row in rows] == [("exact", 3_000)] * 2


def consumed_at_midnight(directory: Path, *offsets: int | None) -> int:
    """Return the records consumed in all days by commits of these offsets, in the order of the log; None is no commit.

    The second commit is dated to the next day by a clock that is ahead, the first and the third are not.
    """
    times = (MIDNIGHT - 10, MIDNIGHT + 5, MIDNIGHT - 2, MIDNIGHT + 60)
    commits = [
        commit(seconds, offset, source=source)
        for source, (seconds, offset) in enumerate(zip(times, offsets, strict=True))
        if offset is not None
    ]
    return sum(day["records_consumed"] for day in days_of(directory, {"offset_commits": commits}))


def test_a_commit_that_a_clock_dates_to_the_next_day_loses_no_records(tmp_path: Path) -> None:
    assert consumed_at_midnight(tmp_path, 100, 110, 130, 140) == 40


def test_a_commit_set_back_with_the_date_of_the_next_day_is_not_counted(tmp_path: Path) -> None:
    """From 100 back to 90, and on to 140: 50 records were consumed. The build counts 30 from 100 to 130, then 10.

    The day before is derived without the second commit, and has counted the commits around it by then.
    """
    assert consumed_at_midnight(tmp_path, 100, 90, 130, 140) == 40


def test_a_first_commit_with_the_date_of_the_next_day_is_not_counted(tmp_path: Path) -> None:
    """The build counts from the second commit in the log, 130, on."""
    assert consumed_at_midnight(tmp_path, None, 100, 130, 140) == 10


def commits_of_a_fast_group(ahead_s: int) -> dict[str, list[Row]]:
    """Return a commit each 20 s, ingested from a broker whose clock is ahead, and a sample each minute, for 15 min."""
    times = range(0, 15 * MINUTE, 20)
    sampled = range(10, 15 * MINUTE, MINUTE)
    return {
        "offset_commits": [
            *(commit(seconds + ahead_s, 10 * seconds, source=seconds) for seconds in times),
            *(commit(seconds, 10 * (seconds // 20 * 20)) for seconds in sampled),
        ],
        "partition_offsets": [ends(seconds + 0.1, 10 * seconds + 50) for seconds in sampled],
    }


@pytest.mark.parametrize("ahead_s", [-60, -21, 0, 5, 21, 60])
def test_a_group_keeps_up_whatever_the_clock_of_its_coordinator_shows(tmp_path: Path, ahead_s: int) -> None:
    """Each sample shows that the group has read all that the sample before saw."""
    rows = read(built(tmp_path, commits_of_a_fast_group(ahead_s)), "lag_history")

    assert [row["rule"] for row in rows] == ["incomplete", *["keeping_up"] * 14]


def two_samplers(ahead_s: int) -> dict[str, list[Row]]:
    """Return samples of two samplers, each once a minute, whose clocks differ; the group is ten seconds behind."""
    samples = [(seconds, seconds) for seconds in range(0, 30 * MINUTE, MINUTE)]
    samples += [(seconds + 30 + ahead_s, seconds + 30) for seconds in range(0, 30 * MINUTE, MINUTE)]
    return {
        "offset_commits": [commit(seen_s, 10 * true_s) for seen_s, true_s in samples],
        "partition_offsets": [ends(seen_s + 0.1, 10 * true_s + 100, topic_id="t-1") for seen_s, true_s in samples],
    }


def test_two_samplers_whose_clocks_agree_have_verdicts_and_rates(tmp_path: Path) -> None:
    rows = read(built(tmp_path, two_samplers(0)), "lag_history")[-10:]

    assert {row["rule"] for row in rows} == {"keeping_up"}
    assert [row["produce_rate"] for row in rows] == [10.0] * 10


def test_two_samplers_90_s_apart_have_verdicts_and_rates(tmp_path: Path) -> None:
    """The topic has one id all the time, so no log end that falls is that of another log."""
    rows = read(built(tmp_path, two_samplers(90)), "lag_history")[-10:]

    assert {row["rule"] for row in rows} == {"keeping_up"}
    assert None not in {row["produce_rate"] for row in rows}


def test_a_jump_across_midnight_is_found_on_the_day_after(tmp_path: Path) -> None:
    commits = [
        commit(MIDNIGHT - 60, 1, source=1),
        commit(MIDNIGHT + 3_600, 2, source=2),
        commit(MIDNIGHT - 20, 3, source=3),
    ]
    days = days_of(tmp_path, {"offset_commits": [*commits, commit(MIDNIGHT + 60, 4, source=4)]})

    assert [day["clock_jump_ms"] for day in days] == [0, 3_620_000]
