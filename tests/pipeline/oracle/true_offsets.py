"""Commits, consumption and time lag of a build against what happened, within what clocks and samples allow."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Final

from tests.pipeline.oracle.oracle_evidence import Row
from tests.pipeline.oracle.simulated_facts import SimulatedCluster
from tests.pipeline.oracle.simulated_groups import Group, Reader, TrueCommit
from tests.pipeline.oracle.simulated_logs import DAY_MS, FIRST

# Of log ends that are older than an hour only some are kept, so that the age is less precise.
PRECISE_MS: Final = 3_300_000


def ms_of(row: Row) -> float:
    """Return the time of a row of lag_history in ms since FIRST."""
    return float((row["observed_at"] - FIRST).total_seconds() * 1_000)


def readers_by_key(cluster: SimulatedCluster) -> dict[tuple[str, str, int], tuple[Group, Reader]]:
    """Return groups and their positions by group, topic and partition."""
    return {
        (group.name, reader.log.topic, reader.log.number): (group, reader)
        for group in cluster.groups
        for reader in group.readers
    }


def counted_commits(commits: Sequence[TrueCommit]) -> list[TrueCommit]:
    """Return the commits of a reader without those that have a later date than a commit behind them in the log.

    A clock ahead at midnight dates a commit to the next day. A build derives the day before without it, and has counted
    the commits behind it by then: it cannot count the commit between two that it has counted. So the advance from the
    commit before to the commit behind counts. That is less if the commit left out was below both: it was set back, and
    the records that were read again are missing.
    """
    counted = []
    earliest_day = float("inf")
    for commit in reversed(commits):
        day = commit.clock_ms // DAY_MS
        if day <= earliest_day:
            counted.append(commit)
            earliest_day = day
    return counted[::-1]


def true_consumption(reader: Reader) -> tuple[int, int]:
    """Return by how much the counted commits advanced, and the most that can be counted if removals were not read."""
    true = most = 0
    previous: int | None = None
    was_removed = False
    for commit in counted_commits(reader.commits):
        if commit.offset is None:
            was_removed = True
            continue
        advance = 0 if previous is None else max(0, commit.offset - previous)
        most += advance
        true += 0 if was_removed else advance
        previous, was_removed = commit.offset, False
    return true, most


def compare_consumption(cluster: SimulatedCluster, rows: Sequence[Row]) -> Iterator[str]:
    """Yield groups whose records_consumed, summed over days, are not the true ones.

    Where records were compacted or not yet read, no more than the largest possible number may be counted.
    """
    built: dict[str, int] = defaultdict(int)
    for row in rows:
        built[row["group"]] += row["records_consumed"] or 0
    for group in cluster.groups:
        numbers = [true_consumption(reader) for reader in group.readers]
        true, most = (sum(column) for column in zip(*numbers, strict=True))
        name = f"group_daily {group.name}: records_consumed is {built[group.name]} in all days"
        if cluster.is_fully_read and built[group.name] != true:
            yield f"{name}, and was {true}"
        elif built[group.name] > most:
            yield f"{name}, and was at most {most}"


def compare_commits(cluster: SimulatedCluster, rows: Sequence[Row]) -> Iterator[str]:
    """Yield rows of lag_history whose commit was the last one at no time that the clocks allow.

    A coordinator whose clock is ahead dates commits later than they were, so they may be seen that much later.
    """
    if not cluster.is_fully_read:
        return
    readers = readers_by_key(cluster)
    skew_ms = cluster.skew_ms
    for row in rows:
        _, reader = readers[row["group"], row["topic"], row["partition"]]
        ms = ms_of(row)
        first = bisect_right(reader.commits, ms - skew_ms, key=attrgetter("true_ms")) - 1
        last = bisect_right(reader.commits, ms, key=attrgetter("true_ms"))
        allowed = {commit.offset for commit in reader.commits[max(0, first) : last]}
        if row["committed_offset"] not in allowed:
            yield (
                f"lag_history {row['group']} {row['topic']}-{row['partition']} at {row['observed_at']:%d %H:%M:%S}: "
                f"the commit was not {row['committed_offset']} in the last {skew_ms} ms"
            )


def compare_time_lag(cluster: SimulatedCluster, rows: Sequence[Row]) -> Iterator[str]:
    """Yield time lags that contradict the time at which the record at the commit was written.

    A lower bound is not above the true age. An interpolated age lies between the ages of the samples around it.
    """
    readers = readers_by_key(cluster)
    for row in rows:
        _, reader = readers[row["group"], row["topic"], row["partition"]]
        age, quality, ms = row["time_lag_ms"], row["time_lag_quality"], ms_of(row)
        name = f"lag_history {row['group']} {row['topic']}-{row['partition']} at {row['observed_at']:%d %H:%M:%S}"
        if row["lag"] == 0 and (age, quality) != (0, "exact"):
            yield f"{name}: nothing is left to read, and the time lag is {age} ({quality})"
        if row["lag"] <= 0 or age is None:
            continue
        written_ms = reader.log.produced_at(row["committed_offset"], ms)
        if written_ms is None:
            continue
        true_age = ms - written_ms
        if quality == "lower_bound" and age > true_age + 1:
            yield f"{name}: the record is {true_age:.0f} ms old, less than the lower bound {age}"
        if quality == "interpolated" and true_age < PRECISE_MS:
            youngest, oldest = ages_of_samples(cluster, reader, row["committed_offset"], ms)
            if not youngest - 1 <= age <= oldest + 1:
                yield f"{name}: the record is between {youngest:.0f} and {oldest:.0f} ms old, and not {age}"


def ages_of_samples(cluster: SimulatedCluster, reader: Reader, offset: int, ms: float) -> tuple[float, float]:
    """Return the ages of the first sample whose log end is above the offset, and of the last one before it.

    Samples to which the partition's leader did not respond have no log end.
    """
    log = reader.log
    with_ends = [at for at in cluster.samples_ms if at <= ms and not log.leader.is_silent(at)]
    written_ms = log.produced_at(offset, ms)
    assert written_ms is not None
    after = min((at for at in with_ends if at >= written_ms), default=ms)
    before = max((at for at in with_ends if at < written_ms), default=0.0)
    return ms - after, ms - before
