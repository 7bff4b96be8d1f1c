"""What a row of lag rests on: which commit, which log end, and over how long. One build."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from tests.pipeline.build.builds import built, of, read, seconds_after_noon
from tests.pipeline.fact_rows import Row, commit, ends
from tests.pipeline.fact_rows import at as time_at

MINUTE: Final = 60
# For 12 minutes a record a second is written and read, then 4 are written and 3 read.
TURN: Final = 12 * MINUTE
RUNS: Final = range(0, 25 * MINUTE + 1, MINUTE)
Find = Callable[[str, str, float], Row]


def commits() -> list[Row]:
    return [
        *of("turns", (commit(at - 1, at + 2 * max(0, at - TURN), source=at) for at in RUNS)),
        # Removed and committed again between two samples: the offset only grows.
        *of("removed", (commit(at - 1, at, source=at) for at in RUNS)),
        *of("removed", [commit(12.5 * MINUTE, None, source=750), commit(12.8 * MINUTE, 768, source=768)]),
        # The last stable offset is 50: of two open transactions' records nobody knows who reads them.
        *of("open", [commit(1, 50, source=1), commit(1, 40, source=2, group="behind")]),
        *of("both", [commit(1, 5, source=1)]),
        *of("ahead", [commit(1, 300, source=1), commit(1, 50, source=2, group="behind")]),
        # Partition 1 catches up after partition 0; then partition 0 stays behind, and later also partition 2.
        *of("since", [commit(5, 10, source=1), commit(15, 5, source=2, partition=1)]),
        *of("since", [commit(75, 10, source=3, partition=1), commit(230, 5, source=4, partition=2)]),
        *of("twice in a second", [commit(0, 10, source=1), commit(1.25, 15, source=2)]),
    ]


def log_ends() -> list[Row]:
    return [
        *of("turns", (ends(at, 10 + at + 3 * max(0, at - TURN)) for at in RUNS)),
        *of("removed", (ends(at, 10 + at) for at in RUNS)),
        *of("open", (ends(at, end, last_stable_offset=min(end, 50)) for at, end in ((0, 30), (30, 50), (60, 60)))),
        *of("both", [ends(0, 7), ends(60, 100), ends(60, 90, origin="backfill", start=None)]),
        *of("both", [ends(30, 80, origin="backfill", start=None)]),
        # Record 100 says that it was written 50 minutes later; the clock of record 299 is a little ahead.
        *of("ahead", [ends(at, 100, origin="backfill", lookup_timestamp=time_at(at + 3_000)) for at in (30, 31)]),
        *of("ahead", [ends(45, 299, origin="backfill", lookup_timestamp=time_at(50))]),
        *of("since", (ends(at, 10 if at < 180 else 20, partition=part) for at in RUNS[1:5] for part in range(3))),
        *of("twice in a second", [ends(1, 20), ends(1.5, 30)]),
    ]


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Row]]:
    """With times as seconds after noon."""
    storage = built(tmp_path_factory.mktemp("tables"), {"offset_commits": commits(), "partition_offsets": log_ends()})
    times = ("observed_at", "commit_time", "evaluated_at", "verdict_since")
    return {
        name: [
            row | {time: seconds_after_noon(row[time]) for time in times if time in row} for row in read(storage, name)
        ]
        for name in ("lag_history", "group_status")
    }


@pytest.fixture(scope="module")
def find(tables: dict[str, list[Row]]) -> Find:
    rows = {(row["cluster_id"], row["group"], row["observed_at"]): row for row in tables["lag_history"]}
    return lambda cluster, group, at: rows[cluster, group, at]


def test_rates_are_those_of_the_last_ten_minutes(find: Find) -> None:
    rates = {
        minute: (row["consume_rate"], row["produce_rate"])
        for minute in (5, 12, 17, 22, 25)
        for row in [find("turns", "g", minute * MINUTE)]
    }

    assert rates == {
        5: (1.0, 1.0),
        12: (1.0, 1.0),
        17: (2.0, 2.5),  # five minutes of the one, five of the other
        22: (3.0, 4.0),
        25: (3.0, 4.0),
    }


def test_two_observations_within_a_second_are_enough_for_rates(find: Find) -> None:
    first, second = (find("twice in a second", "g", at) for at in (1, 1.5))

    assert (first["consume_rate"], first["produce_rate"]) == (None, None)
    assert (second["consume_rate"], second["produce_rate"]) == (10.0, 20.0)


def test_rates_do_not_span_the_removal_of_a_commit(find: Find) -> None:
    rates = {minute: find("removed", "g", minute * MINUTE)["consume_rate"] for minute in (12, 13, 22, 23)}

    # Ten minutes after the first row that follows the removal, all that a rate is computed from is after it.
    assert rates == {12: 1.0, 13: None, 22: None, 23: 1.0}
    assert find("removed", "g", 13 * MINUTE)["produce_rate"] == 1.0


def test_the_commit_of_a_row_has_its_own_time(find: Find) -> None:
    row = find("turns", "g", 5 * MINUTE)

    assert (row["commit_time"], row["commit_origin"]) == (5 * MINUTE - 1, "topic")
    assert find("both", "g", 60)["commit_time"] == 1


def test_a_sample_has_precedence_over_a_backfill_of_the_same_time(find: Find) -> None:
    assert (find("both", "g", 60)["origin"], find("both", "g", 60)["lag"]) == ("sample", 95)
    assert (find("both", "g", 30)["origin"], find("both", "g", 30)["lag"]) == ("backfill", 75)


def test_a_backfilled_log_end_far_below_the_commit_is_not_used(find: Find) -> None:
    assert (find("ahead", "g", 45)["lag"], find("ahead", "behind", 30)["lag"]) == (-1, 50)
    with pytest.raises(KeyError):
        find("ahead", "g", 30)


def test_a_time_lag_of_0_at_the_last_stable_offset_is_a_lower_bound(find: Find) -> None:
    at_stable, behind = find("open", "g", 60), find("open", "behind", 60)

    assert (at_stable["lag"], at_stable["time_lag_ms"], at_stable["time_lag_quality"]) == (10, 0, "lower_bound")
    assert (behind["time_lag_ms"], behind["time_lag_quality"]) == (45_000, "interpolated")


def test_a_group_has_a_verdict_since_one_partition_has_it_ok_since_all_do(tables: dict[str, list[Row]]) -> None:
    rows = [row for name in ("lag_history", "group_status") for row in tables[name] if row["cluster_id"] == "since"]
    since = {
        (row.get("partition"), row.get("observed_at", row.get("evaluated_at"))): (row["verdict"], row["verdict_since"])
        for row in rows
    }

    assert [since[0, at] for at in RUNS[1:5]] == [("OK", 60), ("OK", 60), ("UNKNOWN", 180), ("UNKNOWN", 180)]
    assert [since[1, at] for at in RUNS[1:5]] == [("UNKNOWN", 60), ("OK", 120), ("OK", 120), ("OK", 120)]
    assert since[2, 240] == ("UNKNOWN", 240)
    assert [since[None, at] for at in RUNS[1:5]] == [("UNKNOWN", 60), ("OK", 120), ("UNKNOWN", 180), ("UNKNOWN", 180)]
