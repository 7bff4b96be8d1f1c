"""Hand-made histories in which a topic is recreated. A commit belongs to the log of its topic id."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from tests.pipeline.build.builds import built, read, read_statuses
from tests.pipeline.fact_rows import Row, at, commit, ends

MINUTE: Final = 60
RECREATED: Final = 10 * MINUTE
OLD: Final[Row] = {"topic_id": "old"}
NEW: Final[Row] = {"topic_id": "new"}


def before_recreation(**others: Any) -> dict[str, list[Row]]:
    """Return ten minutes of 1,000 records, written and read, and the deletion of the commit with the topic."""
    commits = [commit(seconds, 10 * (seconds // 6), source=seconds) | others for seconds in range(0, RECREATED, 6)]
    removal = commit(RECREATED, None, source=RECREATED)
    samples = [ends(minute * MINUTE + 1, 100 * minute + 10, **OLD) for minute in range(10)]
    return {"offset_commits": [*commits, removal], "partition_offsets": samples}


def rules_after(directory: Path, facts: dict[str, list[Row]], seconds: float) -> list[str]:
    """Return the rules of the group's verdicts from a time on."""
    rows = read_statuses(built(directory, facts))
    return [row["rule"] for row in rows if row["topic"] is None and row["evaluated_at"] >= at(seconds)]


@pytest.mark.parametrize("ids", [(OLD, NEW), ({}, {})], ids=["with topic ids", "without topic ids"])
def test_commits_on_an_empty_new_topic_are_no_stall(tmp_path: Path, ids: tuple[Row, Row]) -> None:
    """The consumer commits 0 while the topic is empty. The first sample of the new log sees a record already."""
    facts = before_recreation(**ids[0])
    facts["offset_commits"] += [
        commit(RECREATED + seconds, 0, source=RECREATED + seconds) | ids[1] for seconds in range(5, 60, 5)
    ]
    facts["partition_offsets"].append(ends(RECREATED + MINUTE, 3, **NEW))

    assert "stalled" not in rules_after(tmp_path, facts, RECREATED)


def test_commits_on_an_old_topic_that_stand_still_are_a_stall(tmp_path: Path) -> None:
    """The same commits are a stall on a topic that has records for two minutes."""
    commits = [commit(seconds, 0, source=seconds) | OLD for seconds in range(5, 240, 5)]
    facts = {"offset_commits": commits, "partition_offsets": [ends(60 * n + 1, 1_000 + n, **OLD) for n in range(5)]}

    # The first commit is five seconds after noon.
    assert rules_after(tmp_path, facts, 0) == ["incomplete", "incomplete", "stalled", "stalled"]


def test_a_stall_on_an_old_topic_ends_when_the_topic_is_recreated(tmp_path: Path) -> None:
    """The commits on the new topic stand still, too, but not for two minutes."""
    commits = [commit(seconds, 0, source=seconds) | OLD for seconds in range(5, RECREATED, 5)]
    commits += [commit(seconds, 0, source=seconds) | NEW for seconds in range(RECREATED + 5, RECREATED + 240, 5)]
    log_ends = [ends(60 * n + 1, 1_000 + n, **OLD) for n in range(10)]
    log_ends += [ends(RECREATED + 60 * n + 1, 5 + n, **NEW) for n in range(1, 5)]
    facts = {"offset_commits": commits, "partition_offsets": log_ends}

    assert rules_after(tmp_path, facts, 0) == [
        *("incomplete", "incomplete", *["stalled"] * 7),
        *("incomplete", "incomplete", "stalled", "stalled"),
    ]


def test_a_removed_commit_of_the_old_topic_has_no_row(tmp_path: Path) -> None:
    facts = before_recreation(**OLD)
    facts["partition_offsets"] += [ends(RECREATED + 60 * minute, minute, **NEW) for minute in range(1, 4)]

    rows = read(built(tmp_path, facts), "lag_history")

    assert {row["observed_at"] < at(RECREATED) for row in rows} == {True}


def commits_before_recreation() -> list[Row]:
    """Return a commit that samples saw three times in the old log; then its coordinator no longer responds."""
    return [commit(seconds, 30) for seconds in (0, 60, 120)]


def log_ends_around_recreation() -> list[Row]:
    """Return three samples of the old log and two of the new, empty one, which lack the coordinator's groups."""
    return [
        *(ends(seconds + 1, 36, **OLD) for seconds in (0, 60, 120)),
        *(ends(seconds + 1, 0, **NEW) for seconds in (180, 240)),
        *(ends(seconds + 1, None, topic="__consumer_offsets") for seconds in (180, 240)),
    ]


def test_a_sampled_commit_of_the_old_topic_is_not_measured_in_the_new_log(tmp_path: Path) -> None:
    facts = {"offset_commits": commits_before_recreation(), "partition_offsets": log_ends_around_recreation()}

    assert [row["lag"] for row in read(built(tmp_path, facts), "lag_history")] == [6, 6, 6]


@pytest.mark.parametrize(
    "record",
    [
        commit(0, 30, source=1) | OLD,
        commit(0, 20, source=1) | OLD,
        # The removal and this commit were read later.
        commit(300, 0, source=9) | NEW,
    ],
    ids=["also a record", "an earlier record", "a later record"],
)
def test_a_commit_of_the_old_topic_is_not_measured_in_the_new_log(tmp_path: Path, record: Row) -> None:
    """As soon as the topic has any record of the group on the partition, the last sampled commit stays valid."""
    facts = {"offset_commits": [*commits_before_recreation(), record]}

    rows = read(built(tmp_path, facts | {"partition_offsets": log_ends_around_recreation()}), "lag_history")

    assert [row["lag"] for row in rows if row["lag"] < 0] == []


def test_a_commit_in_the_new_log_is_no_rewind_of_one_in_the_old_log(tmp_path: Path) -> None:
    """Compaction removed the removal between the two, but commits carry the ids of their topics."""
    facts = before_recreation(**OLD)
    del facts["offset_commits"][-1]
    facts["offset_commits"] += [
        commit(RECREATED + seconds, seconds, source=RECREATED + seconds) | NEW for seconds in range(30, 300, 60)
    ]
    facts["partition_offsets"] += [ends(RECREATED + 60 * minute, 60 * minute + 9, **NEW) for minute in range(1, 5)]

    assert "rewound" not in rules_after(tmp_path, facts, RECREATED)


def test_a_backfilled_end_of_the_new_log_is_not_compared_with_the_old_commit(tmp_path: Path) -> None:
    """Nothing was sampled before. The new log was empty at each time before its first record, also in the last second
    before the old commit was removed.
    """
    facts = before_recreation(**OLD)
    facts["partition_offsets"] = [
        *(ends(RECREATED - back, 0, start=None, origin="backfill", **NEW) for back in (0.9, 0.7, 0.5, 0.3, 0.1)),
        ends(RECREATED + 60, 5, **NEW),
    ]

    rows = read(built(tmp_path, facts), "lag_history")

    assert [row["lag"] for row in rows if row["lag"] < 0] == []


def test_without_topic_ids_no_age_is_taken_from_the_old_log(tmp_path: Path) -> None:
    """The new log is longer than the old one at the next sample, but the removal shows that the topic was recreated.

    Record 500 was written to the old log five minutes after noon, and to the new one less than ten minutes ago.
    """
    facts = {
        "offset_commits": [
            commit(0, 0, source=1),
            commit(RECREATED - 1, 1_000, source=2),
            commit(RECREATED, None, source=3),
            commit(2 * RECREATED - 1, 500, source=4),
        ],
        "partition_offsets": [
            *(ends(60 * minute, 100 * minute) for minute in range(11)),
            ends(2 * RECREATED, 1_200),
        ],
    }

    row = read(built(tmp_path, facts), "lag_history")[-1]

    assert (row["committed_offset"], row["lag"]) == (500, 700)
    assert row["time_lag_ms"] is None or row["time_lag_ms"] <= RECREATED * 1_000


def test_a_sample_of_the_new_log_among_old_records_loses_no_records(tmp_path: Path) -> None:
    """The coordinator's clock is a minute ahead, so that the last records of the old log are dated after the sample."""
    commits = [
        commit(60, 100, source=1) | OLD,
        commit(90, 29),
        commit(100, 188, source=2) | OLD,
        commit(120, None, source=3),
        commit(130, 29, source=4) | NEW,
        commit(140, 90, source=5) | NEW,
    ]
    facts = {"offset_commits": commits, "partition_offsets": [ends(61, 200, **OLD), ends(91, 34, **NEW)]}

    assert [day["records_consumed"] for day in read(built(tmp_path, facts), "group_daily")] == [88 + 61]


def test_commits_without_ids_begin_one_incarnation_after_a_removal(tmp_path: Path) -> None:
    """Brokers before Kafka 4.1 write no topic ids. The second commit is the first one whose log is known by samples."""
    facts = before_recreation()
    facts["offset_commits"] += [
        commit(RECREATED + 6 * count, 10 * count, source=RECREATED + count) for count in range(1, 31)
    ]
    facts["partition_offsets"] += [ends(RECREATED + 61 + 60 * minute, 200 + 100 * minute, **NEW) for minute in range(3)]

    assert [day["records_consumed"] for day in read(built(tmp_path, facts), "group_daily")] == [990 + 290]
