"""The verdicts of a build: those of `kafka_groups.verdicts`, what is no evidence, and the verdict of a group."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.verdicts import (
    SAMPLE_POINTS,
    Commit,
    LogEnd,
    Point,
    Rules,
    Sample,
    Verdict,
    Window,
    commit_lag,
    judge,
    judge_group,
    lag_points,
    moves,
    thin,
)
from tests.pipeline.build.builds import built, read_statuses
from tests.pipeline.fact_rows import NOON, Row, commit, ends

NOON_MS = int(NOON.timestamp() * 1_000)
Verdicts = dict[tuple[int | None, int], Verdict]


def statuses(directory: Path, facts: Mapping[str, Sequence[Row]], **options: Any) -> list[Row]:
    rows = read_statuses(built(directory, facts, **options))
    return sorted(rows, key=lambda row: (row["evaluated_at"], row["topic"] or ""))


def test_one_ingest_and_one_sample_are_no_evidence(tmp_path: Path) -> None:
    commits = [commit(60 * n - 600, 100 * n, source=n) for n in range(10)]
    found = statuses(tmp_path, {"offset_commits": commits, "partition_offsets": [ends(0, 5_000)]})
    assert {(row["topic"], row["verdict"], row["rule"]) for row in found} == {
        ("t", "UNKNOWN", "lag_unknown"),
        (None, "UNKNOWN", "lag_unknown"),
    }


def test_a_group_that_committed_once_long_ago_and_has_lag_has_stopped(tmp_path: Path) -> None:
    logs = [ends(60 * n, 1_000 + n) for n in range(16)]
    found = statuses(tmp_path, {"offset_commits": [commit(0, 10, source=1)], "partition_offsets": logs})
    rules = [row["rule"] for row in found if row["topic"] is None]
    assert rules == ["incomplete"] * 11 + ["stopped"] * 5


def test_a_group_has_the_verdict_of_its_worst_partition(tmp_path: Path) -> None:
    healthy = [commit(30 * n, 300 * n, source=n, partition=1) for n in range(60)]
    stalled = [commit(30 * n, 5, source=100 + n) for n in range(60)]
    logs = [ends(60 * n + 1, 600 * n + 20, partition=place) for n in range(30) for place in (0, 1)]
    found = statuses(tmp_path, {"offset_commits": healthy + stalled, "partition_offsets": logs})
    last = [row for row in found if row["evaluated_at"] == found[-1]["evaluated_at"]]
    assert {(row["partition"], row["verdict"]) for row in last} == {(None, "STALL"), (0, "STALL"), (1, "OK")}


def test_only_a_group_that_reads_nine_of_ten_records_has_a_warning(tmp_path: Path) -> None:
    def reader(group: str, share: float, place: int) -> list[Row]:
        own = {"group": group, "topic": "s"}
        return [commit(n, int(share * 100 * n), source=10_000 * place + n, **own) for n in range(1, 1_800)]

    logs = [ends(60 * n, 6_000 * n + 50, topic="s") for n in range(30)]
    facts = {"offset_commits": reader("healthy", 1.0, 1) + reader("slow", 0.9, 2), "partition_offsets": logs}
    found = [row for row in statuses(tmp_path, facts) if row["topic"] is None]
    assert {row["verdict"] for row in found if row["group"] == "healthy"} == {"UNKNOWN", "OK"}
    slow = [row["verdict"] for row in found if row["group"] == "slow"]
    assert set(slow[:7]) == {"UNKNOWN", "WARN"}
    assert set(slow[7:]) == {"WARN"}


def a_partition(chance: random.Random, partition: int) -> Iterator[tuple[str, Row]]:
    """Two minutes of commits, removals and log ends, in milliseconds; one of three partitions has samples only."""
    pace = chance.choice([0, 1, 3, 8])
    end, offset = chance.randint(20, 60), chance.randint(0, 40)
    own: dict[str, Any] = {"partition": partition}
    for place, at_ms in enumerate(sorted(chance.sample(range(120_000), 40))):
        offset = max(0, offset + chance.choice([0, pace, pace, pace, chance.randint(-9, 20)]))
        source = 100 * partition + place if partition % 3 and place % 4 else None
        is_removal = source is not None and chance.random() < 0.05
        yield "offset_commits", commit(at_ms / 1_000, None if is_removal else offset, source=source, **own)
    for at_ms in range(5_000, 200_000, 5_000):
        end += chance.choice([0, 5, 10, 10])
        yield "partition_offsets", ends(at_ms / 1_000, end, **own)


def ms_of(time: datetime) -> int:
    return round(time.astimezone(UTC).timestamp() * 1_000) - NOON_MS


def is_ahead(sampled: Sequence[Commit], read: Sequence[Commit], next_read: int | None, rules: Rules) -> bool:
    """Whether samples saw another offset since the last record, a later one or a minute later.

    They did not if the last record of the next minute, `next_read`, has that offset: the clocks differ.
    """
    if not sampled or (next_read is not None and next_read >= sampled[-1].offset):
        return False
    newest, last = (thin(commits, rules.min_distance_ms)[-1] for commits in (sampled, read))
    since_ms = newest.at_ms - last.at_ms
    return (newest.offset > last.offset and since_ms > 0) or (newest.offset != last.offset and since_ms > 60_000)


def last_record(commits: Sequence[Row], now_ms: int) -> int | None:
    """The offset of the last record until a minute after a time; None if the commit was removed in between."""
    offset = None
    is_removed = False
    for row in commits:
        at_ms = ms_of(row["commit_time"])
        is_removed |= row["tombstone"] and at_ms > now_ms
        if row["origin"] == "topic" and not row["tombstone"] and at_ms <= now_ms + 60_000:
            offset = None if is_removed else row["committed_offset"]
    return offset


def window_at(now_ms: int, lag: int, commits: Sequence[Row], log_ends: Sequence[LogEnd], rules: Rules) -> Window:
    """The window of one partition, from all of its facts until then."""
    known = [each for each in log_ends if each.at_ms <= now_ms]
    before = [row for row in commits if ms_of(row["commit_time"]) <= now_ms]
    removed = max((place for place, row in enumerate(before) if row["tombstone"]), default=-1)
    records = [
        Commit(row["committed_offset"], at_ms, commit_lag(row["committed_offset"], at_ms, known))
        for row in before[removed + 1 :]
        if row["origin"] == "topic"
        for at_ms in [ms_of(row["commit_time"])]
    ]
    seen = [
        Sample(row["committed_offset"], next(each.offset for each in known if each.at_ms >= at_ms), at_ms)
        for row in before[removed + 1 :]
        if row["origin"] == "sample"
        for at_ms in [ms_of(row["commit_time"])]
    ]
    moved = [(each, max(0, each.end - each.offset)) for each in moves(seen)]
    sampled = [Commit(each.offset, each.at_ms, left) for each, left in moved]
    is_sampled = not records or is_ahead(sampled, records, last_record(commits, now_ms), rules)
    points = [Point(each.end, left, each.at_ms) for each, left in moved] if is_sampled else lag_points(records, known)
    return Window(
        commits=thin(sampled if is_sampled else records, rules.min_distance_ms)[-rules.intervals :],
        ends=[each.offset for each in known[-rules.intervals :]],
        points=points[-SAMPLE_POINTS:],
        now_ms=now_ms,
        current_lag=lag,
        is_sampled=is_sampled,
    )


def judged_one_by_one(facts: Mapping[str, Sequence[Row]], rows: Sequence[Row], rules: Rules) -> Verdicts:
    """The verdict on each partition at the times of `rows`, and of the group at these times."""
    found: Verdicts = {}
    for row in rows:
        if row["partition"] is not None:
            commits, log_ends = (
                [one for one in facts[name] if one["partition"] == row["partition"]]
                for name in ("offset_commits", "partition_offsets")
            )
            known = [LogEnd(one["log_end_offset"], ms_of(one["observed_at"])) for one in log_ends]
            now_ms = ms_of(row["evaluated_at"])
            found[row["partition"], now_ms] = judge(window_at(now_ms, row["lag"], commits, known, rules), rules)
    for now_ms in sorted({now_ms for _, now_ms in found}):
        found[None, now_ms] = judge_group(verdict for (_, at_ms), verdict in found.items() if at_ms == now_ms)
    return found


@pytest.mark.parametrize(
    "rules",
    [
        Rules(intervals=4, min_distance_ms=1_000),
        Rules(intervals=10, min_distance_ms=5_000, minimum_complete=0.5),
        Rules(intervals=2, allowed_lag=30, min_distance_ms=1),
        Rules(intervals=1),
    ],
    ids=["four slots", "half full", "allowed lag", "one slot"],
)
def test_windows_cut_from_a_history_get_the_verdicts_of_the_rules(tmp_path: Path, rules: Rules) -> None:
    """Slots, removals, what was known when, and records before samples: against one window after another."""
    chance = random.Random(rules.intervals)
    facts: dict[str, list[Row]] = {"offset_commits": [], "partition_offsets": []}
    for partition in range(24):
        for name, row in a_partition(chance, partition):
            facts[name].append(row)

    rows = statuses(tmp_path, facts, rules=rules)

    found = {
        (row["partition"], ms_of(row["evaluated_at"])): Verdict(row["verdict"], row["rule"], row["complete"])
        for row in rows
    }
    assert found == judged_one_by_one(facts, rows, rules)
    assert len({verdict.rule for verdict in found.values()}) >= 4


def known(values: Iterator[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def added_up(rows: Sequence[Row]) -> Row:
    """What the rows of a group's partitions at one time are together."""
    worst = ("exact", "interpolated", "lower_bound", "unknown", "data_loss")
    rates = {name: known(row[name] for row in rows) for name in ("consume_rate", "produce_rate")}
    falls = all(row["catch_up_ms"] is not None for row in rows if row["lag"] > 0)
    return {
        "partitions": len(rows),
        "lag": sum(max(0, row["lag"]) for row in rows),
        "time_lag_ms": max(known(row["time_lag_ms"] for row in rows), default=None),
        "time_lag_quality": max((row["time_lag_quality"] for row in rows), key=worst.index),
        **{name: pytest.approx(sum(found)) if len(found) == len(rows) else None for name, found in rates.items()},
        "catch_up_ms": max(known(row["catch_up_ms"] for row in rows), default=None) if falls else None,
    }


def test_a_row_of_a_group_adds_up_those_of_its_partitions(tmp_path: Path) -> None:
    chance = random.Random(7)
    facts: dict[str, list[Row]] = {"offset_commits": [], "partition_offsets": []}
    for partition in range(12):
        for name, row in a_partition(chance, partition):
            facts[name].append(row | ({"group": f"g{partition % 8}"} if name == "offset_commits" else {}))

    found = statuses(tmp_path, facts)

    groups = {(row["group"], row["evaluated_at"]): row for row in found if row["topic"] is None}
    for (group, at), row in groups.items():
        own = [each for each in found if each["topic"] and each["group"] == group and each["evaluated_at"] == at]
        expected = added_up(own)
        assert {name: row[name] for name in expected} == expected
    assert {row["time_lag_quality"] for row in groups.values()} >= {"unknown", "lower_bound"}
    assert {row["consume_rate"] is None for row in groups.values()} == {True, False}
    assert {row["catch_up_ms"] is None for row in groups.values()} == {True, False}
