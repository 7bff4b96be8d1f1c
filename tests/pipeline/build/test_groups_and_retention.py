"""Rows of a group whose partitions are observed at different times, and how long it has until records are lost."""

from __future__ import annotations

from typing import Final

import pytest

from kafka_groups.pipeline.store import Storage
from tests.pipeline.build.builds import built, of, read, read_statuses, seconds_after_noon
from tests.pipeline.fact_rows import NOON, Row, commit, ends

HOUR: Final = 3_600
# Partition, seconds, log end.
ENDS: Final = (
    *((0, 0, 1), (1, 2, 15), (2, 0, 100), (3, 0, 1_000)),
    *((0, 60, 2), (1, 62, 20), (0, 600, 3), (0, 601, 4), (3, 700, 2_000)),
)
# By cluster: (hours, log start, committed, lag), twice. No log end falls: that would be another log.
OBSERVED: Final[dict[str, list[tuple[float, int, int, int]]]] = {
    "deleted faster than it reads": [(0, 0, 1_000, 500), (1, 300, 1_100, 500)],
    "deleted more slowly": [(0, 0, 1_000, 500), (1, 50, 1_100, 500)],
    "not deleted": [(0, 0, 1_000, 500), (1, 0, 1_000, 500)],
    "has read all": [(0, 0, 1_000, 100), (1, 300, 1_100, 0)],
    "too short a time": [(0, 0, 1_000, 500), (0.5, 900, 1_000, 500)],
    "lost already": [(0, 0, 1_000, 500), (0.5, 1_200, 1_000, 500)],
    "lost next": [(0, 1_000, 1_000, 500), (1, 1_000, 1_000, 500)],
    "set back": [(0, 0, 2_000, 500), (1, 300, 1_100, 1_400)],
}


def at_different_times() -> tuple[list[Row], list[Row]]:
    """Return facts: partition 1 is 2 s later than 0 and rewound at 50, 2 loses its commit at 30, 3 is seen twice.

    The partitions 0 and 3 have another commit, so that they do not count as stopped in the end.
    """
    committed = [(0, -1, 0), (1, -1, 5), (2, -1, 0), (3, -1, 0), (2, 30, None), (1, 50, 0), (0, 300, 0), (3, 300, 0)]
    commits = [
        commit(seconds, offset, source=source, partition=partition)
        for source, (partition, seconds, offset) in enumerate(committed)
    ]
    return commits, [ends(seconds, end, partition=partition) for partition, seconds, end in ENDS]


def observed(partition: int, hours: float, start: int, committed: int, lag: int) -> tuple[Row, Row]:
    """Return a commit, and the log a second later."""
    seconds = round(hours * HOUR)
    return (
        commit(seconds - 1, committed, source=2 * seconds + partition, partition=partition),
        ends(seconds, committed + lag, start=start, partition=partition),
    )


def near_the_log_start(name: str) -> tuple[list[Row], list[Row]]:
    """Return facts: a partition with little lag, beside one whose last records are of the day before."""
    rows = [observed(0, *numbers) for numbers in OBSERVED[name]]
    rows += [observed(1, hours, 0, 9_000, 1) for hours, *_ in OBSERVED[name]]
    log_end = rows[0][1]["log_end_offset"]
    return [row for row, _ in rows], [ends(-13 * HOUR, log_end), *(row for _, row in rows)]


def better_than_before() -> tuple[list[Row], list[Row]]:
    """Return facts: partition 0 catches up, 1 loses its commit while that is below the log start."""
    rows = [
        observed(*numbers)
        for numbers in ((0, 0, 20, 10, 90), (0, 1, 20, 90, 10), (1, 0, 50, 10, 90), (1, 0.5, 50, 10, 90))
    ]
    removal = commit(HOUR - 100, None, source=3 * HOUR, partition=1)
    return [*(row for row, _ in rows), removal], [*(row for _, row in rows), ends(HOUR, 100, start=50, partition=1)]


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Storage:
    clusters = {"different times": at_different_times(), "better than before": better_than_before()}
    clusters |= {name: near_the_log_start(name) for name in OBSERVED}
    facts = {
        "offset_commits": [row for name, (commits, _) in clusters.items() for row in of(name, commits)],
        "partition_offsets": [row for name, (_, log_ends) in clusters.items() for row in of(name, log_ends)],
    }
    return built(tmp_path_factory.mktemp("tables"), facts)


@pytest.fixture(scope="module")
def days(storage: Storage) -> dict[str, Row]:
    """The row of group_daily of each cluster."""
    return {row["cluster_id"]: row for row in read(storage, "group_daily") if row["date"] == NOON.date()}


def test_each_partition_counts_as_it_was_last_observed(storage: Storage) -> None:
    rows = [
        (seconds_after_noon(row["evaluated_at"]), row["lag"], row["verdict"])
        for row in read_statuses(storage)
        if (row["cluster_id"], row["topic"]) == ("different times", None)
    ]

    assert rows == [
        (0, 1 + 100 + 1_000, "UNKNOWN"),
        (2, 1 + 10 + 100 + 1_000, "UNKNOWN"),
        (60, 2 + 10 + 1_000, "UNKNOWN"),
        (62, 2 + 20 + 1_000, "REWIND"),
        (600, 3 + 20 + 1_000, "REWIND"),
        # After more than ten minutes it is not known how partition 3 is.
        (601, 4 + 20, "REWIND"),
        (700, 4 + 2_000, "UNKNOWN"),
    ]


def test_the_time_until_records_are_lost_is_forecast(days: dict[str, Row]) -> None:
    hour = 3_600_000
    assert {name: days[name]["retention_left_ms"] for name in OBSERVED} == {
        "deleted faster than it reads": 4 * hour,
        "deleted more slowly": None,
        "not deleted": None,
        "has read all": None,
        "too short a time": None,
        "lost already": 0,
        # Where the log start has just reached the commit and stays, nothing is lost.
        "lost next": None,
        # That the commit went back is not how fast the group reads.
        "set back": 800 * hour // 300,
    }
    assert (days["lost already"]["min_retention_margin"], days["set back"]["min_retention_margin"]) == (-200, 800)


def test_the_time_lag_of_a_group_is_the_longest_of_its_partitions(days: dict[str, Row]) -> None:
    """Partition 0 has records of 13 hours before; the other one has at most an hour."""
    assert {name: days[name]["max_time_lag_ms"] / 3_600_000 for name in OBSERVED} == {
        "deleted faster than it reads": 14,
        "deleted more slowly": 14,
        "not deleted": 14,
        "has read all": 13,
        "too short a time": 13.5,
        "lost already": 13.5,
        "lost next": 14,
        "set back": 14,
    }


def test_a_margin_earlier_on_the_day_is_not_that_of_the_last_observation(days: dict[str, Row]) -> None:
    row = days["better than before"]

    assert (row["min_retention_margin"], row["last_retention_margin"], row["retention_left_ms"]) == (-40, 70, None)
