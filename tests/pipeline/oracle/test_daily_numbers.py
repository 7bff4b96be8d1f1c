"""Hand-made worlds whose numbers of a day contradict other rows. These defects were found by random worlds."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tests.pipeline.build.builds import built, read
from tests.pipeline.fact_rows import commit, ends

HOUR: Final = 3_600


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

    assert [day["messages_consumed"] for day in days] == [150, 50]


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
    assert (day["retention_margin"], day["last_retention_margin"]) == (400, 600)
