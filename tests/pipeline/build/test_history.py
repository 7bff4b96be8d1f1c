"""What a date needs of the days before it is in the state: its rows are those of a build of all days at once."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pytest

from kafka_groups.pipeline.build.fact_files import read_columns
from kafka_groups.pipeline.build.partition_state import KeyState, LogState
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import OFFSETS_TOPIC, PARTITION_STATE
from kafka_groups.verdicts import MINUTE_MS, Limits
from tests.pipeline.build.builds import build_here, built, read, read_statuses
from tests.pipeline.fact_rows import NOON, Row, commit, ends, new_storage, put_all
from tests.pipeline.proof import DERIVED

MINUTE, HOUR, DAY = 60, 3_600, 86_400
LOOKBACK: Final = 3
Facts = dict[str, list[Row]]


def commits_of(chance: random.Random, partition: int) -> Iterator[Row]:
    """Yield commits of a group: periods of progress, of no progress and of samples, with deletions and data gaps."""
    now, offset, source = -1.5 * DAY, 100, chance.randrange(1_000) * 10_000
    others: dict[str, Any] = {"group": f"g{partition}", "partition": partition}
    while now < 1.5 * DAY:
        kind = chance.choice(["records", "samples", "both", "still", "still", "hole", "removal"])
        length = chance.expovariate(1 / 8)
        every = chance.choice([20, 300, 2_000, 7_000])
        until = now + length * HOUR
        most = 60
        while now < until and most and kind != "hole":
            most -= 1
            now += every * chance.choice([0.01, 1, 1, 2])
            source += 1
            offset += 0 if kind == "still" else chance.choice([0, 1, 1, 5, -3])
            if kind in {"records", "both"}:
                yield commit(now, offset, source=source, **others)
            if kind in {"samples", "both", "still"}:
                yield commit(now, offset, **others)
            if kind == "removal":
                yield commit(now, None, source=source, **others)
                break
        now = max(now, until)


def some_days(chance: random.Random, groups: int) -> Facts:
    """Return facts of groups on a partition each, whose log end is known at each sample and every two hours.

    A coordinator never responds: so no sample shows that a commit was removed, which is found once a day.
    """
    commits = [row for partition in range(groups) for row in commits_of(chance, partition)]
    log_ends = [ends(seconds, None, topic=OFFSETS_TOPIC) for seconds in range(-2 * DAY, 2 * DAY, 2 * HOUR)]
    for partition in range(groups):
        own = (row for row in commits if row["partition"] == partition and row["origin"] == "sample")
        times = {(row["commit_time"] - NOON).total_seconds() + 1 for row in own} | {*range(-2 * DAY, 2 * DAY, 2 * HOUR)}
        log_ends += [ends(at, int(at + 3 * DAY) // 1_000, partition=partition) for at in sorted(times)]
        log_ends += [ends(at, None, topic=OFFSETS_TOPIC) for at in sorted(times)]
    return {"offset_commits": commits, "partition_offsets": log_ends}


def moved(rows: Iterable[Row], by: timedelta) -> list[Row]:
    """Return the rows at other times."""
    return [{name: value + by if isinstance(value, datetime) else value for name, value in row.items()} for row in rows]


def built_by_date(directory: Path, facts: Facts, **options: Any) -> Storage:
    """Return a storage to which one date after another was added, with a build after each."""
    storage = new_storage(directory)
    times = {"offset_commits": "commit_time", "partition_offsets": "observed_at"}
    dates = sorted({row[times[name]].date() for name, rows in facts.items() for row in rows})
    for day in dates:
        own = {name: [row for row in rows if row[times[name]].date() == day] for name, rows in facts.items()}
        put_all(storage, f"of-{day}", own)
        assert build_here(storage, **options).dates == (day,)
    return storage


def states_after(storage: Storage, day: date) -> tuple[KeyState, LogState]:
    """Return the states of all groups, by name, and of the partition, at the end of a date."""
    paths = [file.path for file in storage.files(PARTITION_STATE, [day.isoformat()])]
    rows = [row for path in paths for part in read_columns(path, ["group", "state"]) for row in part.to_pylist()]
    of_groups = sorted((row for row in rows if row["group"] is not None), key=itemgetter("group"))
    keys = pa.array([row["state"] for row in of_groups], pa.binary())
    log = pa.array([row["state"] for row in rows if row["group"] is None], pa.binary())
    return KeyState.unpack(keys, np.arange(len(keys)), len(keys)), LogState.unpack(log, np.arange(1), 1)


@pytest.fixture(scope="module")
def facts() -> Facts:
    return some_days(random.Random(20261120), 8)


@pytest.mark.slow
@pytest.mark.parametrize(
    "limits", [Limits(), Limits(allowed_lag=20, stop_after_ms=30 * MINUTE_MS)], ids=["usual", "others"]
)
def test_rows_do_not_depend_on_where_midnight_is(tmp_path: Path, facts: Facts, limits: Limits) -> None:
    def rows_at(hours: int) -> list[Row]:
        by = timedelta(hours=hours)
        there = {name: moved(rows, by) for name, rows in facts.items()}
        storage = built(tmp_path / f"{hours}", there, limits=limits, lookback_days=30)
        rows = [row for name in ("lag_history", "group_status") for row in moved(read(storage, name), -by)]
        # Of log ends of earlier days not every one is kept.
        without = ("date", "time_lag_ms", "time_lag_quality")
        return [{name: value for name, value in row.items() if name not in without} for row in rows]

    found = rows_at(0)

    assert rows_at(7) == found
    assert len(found) > 1_500
    rules_found = {row["rule"] for row in found if "rule" in row}
    assert rules_found >= {
        "no_lag",
        "batch",
        "keeping_up",
        "incomplete",
        "lag_unknown",
        "slow_leak",
        "rewound",
        "stopped",
    }
    # A partition has a row only if a commit is known.
    assert "no_commits" not in rules_found


@pytest.mark.slow
def test_dates_that_are_built_one_by_one_have_the_rows_of_all_at_once(tmp_path: Path, facts: Facts) -> None:
    by_date = built_by_date(tmp_path / "by date", facts, lookback_days=1)
    at_once = built(tmp_path / "at once", facts, lookback_days=1)

    for name in DERIVED:
        assert read(by_date, name) == read(at_once, name)


def test_samples_after_a_removal_do_not_show_when_the_last_change_was(tmp_path: Path) -> None:
    offsets = {-40: 5, -36: 6, -32: 6, -28: 6, -27.9: None, -24: 7, -20: 7, -16: 7}
    commits = [commit(hours * HOUR, offset, source=9 if offset is None else None) for hours, offset in offsets.items()]
    facts = {"offset_commits": commits, "partition_offsets": [ends(0, 9)]}

    storage = built_by_date(tmp_path, facts, lookback_days=LOOKBACK)

    last = {row["date"]: row["last_commit_time"] for row in read(storage, "group_daily")}
    assert last[NOON.date()] == last[NOON.date() - timedelta(days=1)] == NOON - timedelta(hours=36)


def test_records_of_the_day_before_count_if_samples_missed_the_commit(tmp_path: Path) -> None:
    """That samples miss it says nothing as long as records are read, and its removal is one of them."""
    midnight = 12 * HOUR
    commits = [
        commit(0, 1),
        *(commit(midnight - MINUTE * (10 - number), 10 + number, source=number) for number in range(10)),
        commit(midnight + HOUR, 30, source=20),
        commit(midnight + 2 * HOUR, None, source=21),
    ]
    facts = {
        "offset_commits": commits,
        "partition_offsets": [ends(seconds, 40) for seconds in (1, HOUR, 2 * HOUR, midnight + 1, midnight + HOUR + 1)],
    }

    storage = built_by_date(tmp_path, facts, lookback_days=LOOKBACK)

    tomorrow = NOON.date() + timedelta(days=1)
    keys, _ = states_after(storage, tomorrow)
    assert keys.progress.offset_changes.tolist() == [2]
    consumed = {row["date"]: row["records_consumed"] for row in read(storage, "group_daily")}
    assert consumed[tomorrow] == 11
    assert [row["consume_rate"] for row in read(storage, "lag_history") if row["date"] == tomorrow] == [None, None]


def test_a_commit_sampled_before_midnight_counts_after_midnight(tmp_path: Path) -> None:
    """The sampler's clock is ahead: the record is younger than the log end."""
    midnight = 12 * HOUR
    commits = [commit(midnight - 1, 10), commit(midnight - 0.5, 20, source=1)]
    facts = {"offset_commits": commits, "partition_offsets": [ends(midnight + 1, 15)]}

    (row,) = read(built_by_date(tmp_path, facts, lookback_days=LOOKBACK), "lag_history")

    assert (row["commit_origin"], row["committed_offset"], row["lag"]) == ("sample", 10, 5)


def test_the_first_sample_after_a_removal_is_a_commit_also_on_a_later_day(tmp_path: Path) -> None:
    commits = [commit(0, 5), commit(DAY, None, source=1), commit(2 * DAY, 5)]
    facts = {"offset_commits": commits, "partition_offsets": [ends(1, 9), ends(2 * DAY + 1, 9)]}

    rows = read_statuses(built_by_date(tmp_path, facts, lookback_days=LOOKBACK))

    # The wait of two days ends with the removal.
    assert [(row["date"].day, row["rule"]) for row in rows if row["topic"]] == [(20, "incomplete"), (22, "incomplete")]


def test_a_state_has_one_commit_and_the_lag_minima_of_a_day_of_each_group(tmp_path: Path) -> None:
    minutes = range(-3 * DAY, 0, MINUTE)
    busy = [commit(seconds, seconds + 10 * DAY, source=seconds + 10 * DAY, group="busy") for seconds in minutes]
    quiet = [commit(seconds, int(seconds > -2 * DAY), group="quiet") for seconds in minutes]
    log_ends = [ends(seconds, seconds + 10 * DAY) for seconds in minutes]

    facts = {"offset_commits": [*busy, *quiet], "partition_offsets": log_ends}
    keys, log = states_after(built(tmp_path, facts, lookback_days=LOOKBACK), NOON.date())

    assert keys.commits.key.tolist() == keys.progress.key.tolist() == [0, 1]
    assert keys.progress.offset_changes.tolist() == [len(minutes) - 1, 1]
    # Windows reach 24 hours and 120 minutes back from the last minute, 11:59. So there are floors of 25 hours and of 25
    # periods of five minutes. The minutes 10:00 and 11:00 have both a floor of an hour and one of five minutes.
    assert np.bincount(keys.lag_minima.key).tolist() == [48, 48]
    # Ten minutes of a day that ended at noon: none are left at midnight.
    assert len(keys.rate_rows) == len(keys.last_status) == 0
    assert len(log.log_ends) == 1
    # Of 4,320 log ends there are 32 for each doubling of their age from an hour on, here of 12 to 84 hours.
    assert 32 * 2 < len(log.time_points) < 32 * 3


def rules_of_groups(storage: Storage) -> list[str]:
    return [row["rule"] for row in read(storage, "group_status")]


def test_a_group_with_its_last_commit_before_midnight_is_stopped_after_it(tmp_path: Path) -> None:
    """Its last commit is half a minute before midnight, at the log end. A record a minute is written from then on."""
    midnight = 12 * HOUR
    commits = [commit(midnight - 30 - 5 * n, 1_000 - n, source=1_000 - n) for n in range(121)]
    log_ends = [ends(midnight + MINUTE * minute, 1_000 + max(0, minute + 1)) for minute in range(-3, 4)]

    storage = built_by_date(tmp_path, {"offset_commits": commits, "partition_offsets": log_ends})

    assert rules_of_groups(storage) == [*["incomplete"] * 3, *["keeping_up"] * 2, *["stopped"] * 2]


def test_a_stall_goes_on_after_midnight(tmp_path: Path) -> None:
    midnight = 12 * HOUR
    commits = [commit(midnight + 30 * n, 5, source=100 + n) for n in range(-20, 6)]
    log_ends = [ends(midnight + MINUTE * minute + 1, 600 + minute) for minute in range(-10, 3)]

    storage = built_by_date(tmp_path, {"offset_commits": commits, "partition_offsets": log_ends})

    assert rules_of_groups(storage) == ["incomplete"] * 2 + ["stalled"] * 11
