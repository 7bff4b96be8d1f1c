"""Times and offsets that cannot be: other groups keep their rows, and no number is what 64 bits made of it."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import pytest

from tests.pipeline.build.builds import built, read
from tests.pipeline.fact_rows import NOON, Row, commit, ends, event

MAX_OFFSET: Final = 2**63 - 1
DAY: Final = 86_400
HOUR: Final = 3_600


def facts() -> dict[str, list[Row]]:
    """Return commits of a group in an afternoon, and on the day after."""
    hours = [*range(8), 24]
    return {
        "offset_commits": [commit(hour * HOUR, 10 * hour, source=hour) for hour in hours],
        "partition_offsets": [ends(hour * HOUR + 1, 12 * hour) for hour in hours],
    }


@pytest.mark.parametrize("time", [NOON.replace(year=2101), NOON.replace(year=1902), NOON.replace(year=9_999)])
def test_a_commit_of_an_absurd_time_counts_on_the_day_of_its_record(tmp_path: Path, time: datetime) -> None:
    usual = facts()
    absurd = commit(HOUR, 5, source=99, group="absurd", commit_time=time)
    before, after = (
        built(tmp_path / name, usual | {"offset_commits": [*usual["offset_commits"], *others]})
        for name, others in (("before", []), ("after", [absurd]))
    )

    for name in ("lag_history", "group_status", "group_daily"):
        assert [row for row in read(after, name) if row["group"] == "g"] == read(before, name)
    mine = [row for row in read(after, "group_daily") if row["group"] == "absurd"]
    assert [(row["date"], row["commits"]) for row in mine] == [
        (NOON.date(), 1),
        (NOON.date() + timedelta(days=1), 0),
    ]
    assert {row["last_commit_time"].date() for row in mine} == {NOON.date()}


@pytest.mark.parametrize("time", [NOON.replace(year=2101), NOON.replace(year=1902), None])
def test_members_of_a_record_with_an_absurd_time_count_on_all_dates(tmp_path: Path, time: datetime | None) -> None:
    generation = event(0, "generation", "GroupMetadata", source=90, epoch=1, members=[{"member_id": "m"}])

    storage = built(tmp_path, facts() | {"group_events": [generation | {"record_time": time}]})

    assert [row["max_members"] for row in read(storage, "group_daily")] == [1, 1]


def test_the_growth_of_absurd_log_ends_is_the_largest_number(tmp_path: Path) -> None:
    """Each partition was recreated: its logs grew by nearly as much as 64 bits hold, twice."""
    log_ends = [
        ends(HOUR * index, end, partition=partition, topic=topic)
        for topic, partitions in (("one", 1), ("two", 2))
        for partition in range(partitions)
        for index, end in enumerate((0, MAX_OFFSET - 1, 0, MAX_OFFSET - 1) if partitions == 1 else (0, MAX_OFFSET - 1))
    ]

    rows = read(built(tmp_path, {"partition_offsets": log_ends}), "topic_daily")

    assert [(row["topic"], row["records_produced"]) for row in rows] == [("one", MAX_OFFSET), ("two", MAX_OFFSET)]


def test_a_time_to_catch_up_that_64_bits_cannot_hold_is_null(tmp_path: Path) -> None:
    usual = {
        "offset_commits": [commit(0, 0, source=1), commit(60, 1, source=2)],
        "partition_offsets": [ends(1, 2**62), ends(61, 2**62)],
    }

    rows = read(built(tmp_path, usual), "lag_history")

    assert [(row["lag"], row["consume_rate"], row["catch_up_ms"]) for row in rows] == [
        (2**62, None, None),
        (2**62 - 1, 1 / 60, None),
    ]
