"""Hand-made clusters whose numbers of a day contradict other rows. These defects were found by random clusters."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.pipeline.build.builds import built, read
from tests.pipeline.fact_rows import Row, commit, ends

MINUTE: Final = 60
HOUR: Final = 3_600
MIDNIGHT: Final = 12 * HOUR


def test_samples_and_the_first_record_of_the_next_day_count_once(tmp_path: Path) -> None:
    """Samples saw 150 on the first day, after its last record. The first record of the next day is 200."""
    facts = {
        "offset_commits": [
            commit(0, 0, source=1),
            commit(60, 100, source=2),
            commit(120, 150),
            commit(24 * HOUR, 200, source=9),
        ],
        "partition_offsets": [ends(121, 300), ends(24 * HOUR + 1, 300)],
    }

    days = read(built(tmp_path, facts), "group_daily")

    assert [day["records_consumed"] for day in days] == [150, 50]


def test_the_last_margin_is_that_of_partitions_which_the_last_status_counts(tmp_path: Path) -> None:
    """The commit on partition 1 was removed ten seconds before the last observation."""
    facts = {
        "offset_commits": [
            commit(0, 600, source=1),
            commit(0, 400, source=2, partition=1),
            commit(110, None, source=3, partition=1),
        ],
        "partition_offsets": [ends(seconds, 700, partition=partition) for seconds in (60, 120) for partition in (0, 1)],
    }
    storage = built(tmp_path, facts)

    (day,) = read(storage, "group_daily")

    assert [row["partitions"] for row in read(storage, "group_status")] == [2, 1]
    assert (day["min_retention_margin"], day["last_retention_margin"]) == (400, 600)


def test_the_longest_time_lag_of_a_day_covers_its_rows_of_group_status(tmp_path: Path) -> None:
    """The broker of partition 1 is silent over midnight, and the group has read all of it when the broker responds."""
    silent = range(MIDNIGHT - 4 * MINUTE, MIDNIGHT + 8 * MINUTE)
    facts: dict[str, list[Row]] = {"offset_commits": [], "partition_offsets": []}
    for seconds in range(MIDNIGHT - HOUR, MIDNIGHT + 20 * MINUTE, MINUTE):
        for partition in (0, 1):
            has_read_all = partition == 0 or seconds >= silent.stop
            offset = seconds if has_read_all else MIDNIGHT - HOUR
            facts["offset_commits"].append(commit(seconds, offset, partition=partition))
            end = None if partition == 1 and seconds in silent else seconds + 1
            start = None if end is None else 0
            facts["partition_offsets"].append(ends(seconds + 1, end, partition=partition, start=start))
    storage = built(tmp_path, facts)

    days = read(storage, "group_daily")
    statuses = read(storage, "group_status")

    for day in days:
        shown = [row["time_lag_ms"] for row in statuses if row["date"] == day["date"] and row["time_lag_ms"]]
        assert day["max_time_lag_ms"] == max(shown)
    assert days[1]["max_time_lag_ms"] > 50 * MINUTE * 1_000
