"""The verdicts of a build: those of `kafka_groups.verdicts`, what is no evidence, and the verdict of a group."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import groupby, takewhile
from operator import itemgetter
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.pipeline.tables import OFFSETS_TOPIC
from kafka_groups.verdicts import HOUR_MS, Limits, Verdict, judge_group
from tests.pipeline.build.builds import built, read_statuses
from tests.pipeline.fact_rows import Row, at, commit, ends
from tests.pipeline.plain_verdicts import Seen, judge_all

MEMBERS_COUNT_FOR = timedelta(minutes=10)
Verdicts = dict[tuple[int | None, int], Verdict]


def statuses(directory: Path, facts: Mapping[str, Sequence[Row]], **options: Any) -> list[Row]:
    rows = read_statuses(built(directory, facts, **options))
    return sorted(rows, key=lambda row: (row["evaluated_at"], row["topic"] or ""))


def test_one_ingest_and_one_sample_are_no_evidence(tmp_path: Path) -> None:
    commits = [commit(60 * n - 600, 100 * n, source=n) for n in range(10)]
    found = statuses(tmp_path, {"offset_commits": commits, "partition_offsets": [ends(0, 5_000)]})
    assert {(row["topic"], row["verdict"], row["rule"]) for row in found} == {
        ("t", "UNKNOWN", "incomplete"),
        (None, "UNKNOWN", "incomplete"),
    }


def test_a_group_that_committed_once_and_has_lag_is_stopped_after_15_minutes(tmp_path: Path) -> None:
    logs = [ends(60 * n, 1_000 + n) for n in range(18)]
    found = statuses(tmp_path, {"offset_commits": [commit(0, 10, source=1)], "partition_offsets": logs})
    rules = [(row["rule"], row["verdict_since"]) for row in found if row["topic"] is None]
    assert rules == [*[("incomplete", at(0))] * 15, *[("stopped_unseen", at(15 * 60))] * 3]


def test_a_group_without_commits_is_stopped_at_the_sample_after_two_minutes(tmp_path: Path) -> None:
    """It commits every five seconds, until ten minutes after noon."""
    commits = [commit(5 * n, 50 * n, source=n) for n in range(121)]
    logs = [ends(60 * n + 1, 600 * n + 20) for n in range(15)]
    found = statuses(tmp_path, {"offset_commits": commits, "partition_offsets": logs})
    rules = [row["rule"] for row in found if row["topic"] is None]
    # The sample of minute 12 is two minutes and a second after the last commit.
    assert rules == ["incomplete", *["keeping_up"] * 11, *["stopped"] * 3]


def test_a_group_without_members_is_stopped_after_two_minutes(tmp_path: Path) -> None:
    commits = [commit(60 * n, 10, member_count=0) for n in range(5)]
    logs = [ends(60 * n + 1, 1_000 + n) for n in range(5)]
    found = statuses(tmp_path, {"offset_commits": commits, "partition_offsets": logs})
    assert [row["rule"] for row in found if row["topic"] is None] == ["incomplete"] * 2 + ["stopped"] * 3


@pytest.mark.parametrize("is_sampled", [False, True], ids=["records only", "records and samples"])
def test_a_group_that_commits_one_offset_again_and_again_is_stalled(tmp_path: Path, is_sampled: bool) -> None:
    """It commits every five seconds, and moves on for a minute only."""
    commits = [commit(5 * n, min(5 * n, 60), source=n) for n in range(1, 72)]
    commits += [commit(60 * n + 1, min(60 * n, 60), member_count=2) for n in range(1, 6) if is_sampled]
    logs = [ends(60 * n + 2, 1_000 + n) for n in range(1, 6)]
    found = statuses(tmp_path, {"offset_commits": commits, "partition_offsets": logs})
    assert [row["rule"] for row in found if row["topic"] is None] == [*["incomplete"] * 2, *["stalled"] * 3]


@pytest.mark.parametrize(("members", "rule"), [(2, "rewound"), (None, "rewound"), (0, "incomplete")])
def test_a_lower_offset_is_a_rewind_unless_the_group_had_no_members(
    tmp_path: Path, members: int | None, rule: str
) -> None:
    """A group that commits every five seconds goes back by 200 records at minute 5, and reads on.

    An Admin client resets only groups without members. Samples saw 240 in minute 4, and 280 in minute 8.
    """
    offsets = [(5 * n, 5 * n - 200 * (n >= 60)) for n in range(1, 121)]
    commits = [commit(seconds, offset, source=seconds) for seconds, offset in offsets]
    commits += [commit(60 * n + 1, 60 * n - 200 * (n > 4), member_count=members if n == 5 else 2) for n in range(1, 11)]
    logs = [ends(60 * n + 2, 60 * n + 5) for n in range(1, 11)]
    found = statuses(tmp_path, {"offset_commits": commits, "partition_offsets": logs})
    rules = [row["rule"] for row in found if row["topic"] is None]
    # From minute 5 on, no sample sees that all records of the sample before were read.
    assert rules == ["incomplete", *["keeping_up"] * 3, *[rule] * 3, *["incomplete"] * 3]


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
    rules = {name: [row["rule"] for row in found if row["group"] == name] for name in ("healthy", "slow")}
    # The first row is that of minute 1. Of 6,000 records a minute, 600 are not read. So the records that a sample saw
    # are read until the next one, until the lag is larger than 6,000 in minute 10.
    assert rules["healthy"] == ["incomplete", *["keeping_up"] * 28]
    # In minute 25 there are floors of three thirds of ten minutes, the first of which ends in minute 5.
    assert rules["slow"] == ["incomplete", *["keeping_up"] * 8, *["incomplete"] * 15, *["falling_behind"] * 5]


def a_partition(chance: random.Random, partition: int, *, slowness: int = 1) -> Iterator[tuple[str, Row]]:
    """Yield two minutes of commits, deletions and log ends, times `slowness`; a partition of three has only samples."""
    pace = chance.choice([0, 1, 3, 8])
    end, offset = chance.randint(20, 60), chance.randint(0, 40)
    own: dict[str, Any] = {"partition": partition}
    members = chance.choice([None, 0, 2])
    for place, at_ms in enumerate(sorted(chance.sample(range(120_000), 40))):
        offset = max(0, offset + chance.choice([0, pace, pace, pace, chance.randint(-9, 20)]))
        source = 100 * partition + place if partition % 3 and place % 4 else None
        is_commit_deletion = source is not None and chance.random() < 0.05
        members = chance.choice([members, members, members, None, 0, 2])
        others = own if source is not None else own | {"member_count": members}
        yield (
            "offset_commits",
            commit(at_ms * slowness / 1_000, None if is_commit_deletion else offset, source=source, **others),
        )
    for seconds in range(5, 200, 5):
        end += chance.choice([0, 5, 10, 10])
        yield "partition_offsets", ends(seconds * slowness, end, start=max(0, end - 150), **own)


def some_partitions(chance: random.Random, slowness: int) -> dict[str, list[Row]]:
    """Return facts of 24 partitions. A coordinator never responds, so that no sample shows a deleted commit."""
    facts: dict[str, list[Row]] = {"offset_commits": [], "partition_offsets": []}
    for partition in range(24):
        for name, row in a_partition(chance, partition, slowness=slowness):
            facts[name].append(row)
    facts["partition_offsets"] += [ends(5 * n * slowness, None, topic=OFFSETS_TOPIC) for n in range(1, 40)]
    return facts


def ms_of(time: datetime) -> int:
    return round(time.astimezone(UTC).timestamp() * 1_000)


def seen_in(row: Row, commits: Sequence[Row], since: datetime | None) -> Seen:
    """Return what a row of lag_history shows, with the members, deletions and repetitions of the commits until then.

    `since` is the time of the row before.
    """
    before = [fact for fact in commits if fact["commit_time"] <= row["observed_at"]]
    removed = max((place for place, fact in enumerate(before) if fact["is_tombstone"]), default=-1)
    records = [fact for fact in before[removed + 1 :] if fact["origin"] == "topic"]
    repeats = takewhile(lambda fact: fact["committed_offset"] == row["committed_offset"], reversed(records))
    samples = [fact for fact in before if fact["origin"] == "sample"]
    is_fresh = bool(samples) and samples[-1]["commit_time"] >= row["observed_at"] - MEMBERS_COUNT_FOR
    is_record = row["commit_origin"] == "topic"
    is_shown = bool(records) and records[-1]["committed_offset"] == row["committed_offset"]
    commit_time = row["commit_time"] if is_record else records[-1]["commit_time"] if is_shown else None
    return Seen(
        at_ms=ms_of(row["observed_at"]),
        offset=row["committed_offset"],
        end=row["log_end_offset"],
        start=row["committed_offset"] - row["retention_margin"],
        log=removed,
        members=samples[-1]["member_count"] if is_fresh else None,
        commit_ms=None if commit_time is None else ms_of(commit_time),
        repeated=None if commit_time is None else len([*repeats]) - 1,
        highest_offset=None
        if not is_record
        else max(
            (fact["committed_offset"] for fact in records if since is None or fact["commit_time"] > since), default=None
        ),
    )


def judged_plainly(commits: Sequence[Row], rows: Sequence[Row], limits: Limits) -> Verdicts:
    """Return the verdict on each partition at the times of `rows`, and on the group at these times."""
    found: Verdicts = {}
    by_partition = groupby((row for row in rows if row["topic"]), key=itemgetter("partition"))
    for partition, own_rows in by_partition:
        own = [*own_rows]
        of_partition = [fact for fact in commits if fact["partition"] == partition]
        times = [None, *(row["observed_at"] for row in own)]
        seen = [seen_in(row, of_partition, since) for row, since in zip(own, times, strict=False)]
        for one, verdict in zip(seen, judge_all(seen, limits), strict=True):
            found[partition, one.at_ms] = verdict
    for now_ms in {now_ms for _, now_ms in found}:
        found[None, now_ms] = judge_group(verdict for (_, at_ms), verdict in found.items() if at_ms == now_ms)
    return found


@pytest.mark.parametrize(
    ("limits", "slowness", "rules"),
    [
        (Limits(stop_after_ms=5_000), 1, {"stopped", "rewound", "keeping_up", "no_lag", "incomplete", "losing_data"}),
        (Limits(), 10, {"stopped", "stalled", "batch", "rewound", "losing_data"}),
        (Limits(allowed_lag=30), 60, {"stopped", "batch", "rewound", "falling_behind"}),
        (Limits(allowed_lag=10, stop_after_ms=4 * HOUR_MS), 700, {"stalled", "slow_leak", "rewound"}),
    ],
    ids=["minutes", "half an hour", "hours", "days"],
)
def test_rows_have_the_verdicts_of_a_plain_computation(
    tmp_path: Path, limits: Limits, slowness: int, rules: set[str]
) -> None:
    """Waits, moves, members, removals and floors, also across midnight: the kernels and one row after another."""
    facts = some_partitions(random.Random(slowness), slowness)

    rows = read_statuses(built(tmp_path, facts, limits=limits))

    found = {
        (row["partition"], ms_of(row["evaluated_at"])): Verdict(
            row["verdict"], row["rule"], ms_of(row["verdict_since"])
        )
        for row in rows
    }
    assert found == judged_plainly(facts["offset_commits"], rows, limits)
    assert {verdict.rule for verdict in found.values()} >= rules


def known(values: Iterator[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def added_up(rows: Sequence[Row]) -> Row:
    """Return the sum of the rows of a group's partitions at one time."""
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
    for (group, time), row in groups.items():
        own = [each for each in found if each["topic"] and each["group"] == group and each["evaluated_at"] == time]
        expected = added_up(own)
        assert {name: row[name] for name in expected} == expected
    assert {row["time_lag_quality"] for row in groups.values()} >= {"unknown", "lower_bound"}
    assert {row["consume_rate"] is None for row in groups.values()} == {True, False}
    assert {row["catch_up_ms"] is None for row in groups.values()} == {True, False}
