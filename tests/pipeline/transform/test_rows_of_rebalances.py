"""Rows of rebalances: which durations are exact, what bounds the others, and when a group has no members. One build."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Final

import pytest

from kafka_groups.pipeline.storage import Storage
from tests.pipeline.fact_rows import Row, commit, ends
from tests.pipeline.transform.builds import built, of, read, read_statuses, seconds_after_noon
from tests.pipeline.transform.kernels.stories import (
    epoch,
    generation,
    joined,
    left,
    member,
    placed,
    removed,
    sample,
    stable,
)

Took = dict[tuple[str, int], tuple[str, int | None]]
MINUTE: Final = 60
A, B = member("a"), member("b")
CREATED: Final = generation(-10, 0)
# By cluster.
RECORDS: Final[Mapping[str, Sequence[Row]]] = {
    # b joins at 20, a works until 35, and commits what it has processed all the while.
    "held up": [CREATED, generation(5, 1, A), generation(35.2, 2, A, B, all_joined=35)],
    "long after": [CREATED, generation(5, 1, A), generation(7_200, 2, A, B)],
    "another member's timeout": [CREATED, generation(5, 1, member("a", 300)), generation(7_200, 2, B)],
    "after a night": [CREATED, generation(5, 1, A), generation(9, 2), generation(7_200, 3, B)],
    "given up once": [CREATED, generation(5, 1, A), generation(7_200, 3, A, B)],
    "static": [CREATED, generation(5, 1, member("a", instance="i")), generation(7_200, 2, A, B)],
    "old broker": [generation(5, 1, member("a", None)), generation(7_200, 2, A, B)],
    "first of all": [generation(5, 1, A)],
    "records before are lost": [generation(5, 7, A)],
    "clock set back": [CREATED, generation(5, 1, A), generation(3, 2, A, B)],
    "emptied": [CREATED, generation(5, 1, A), generation(7_200, 2, all_joined=7_200)],
    # A new member is first STABLE, with no partitions, at the epoch before its own.
    "newcomer": [
        *(joined(0, "m1"), epoch(0, 2), stable(0, 2, "m1")),
        *(joined(10, "m2"), epoch(10, 3), stable(11, 3, "m2"), stable(11, 2, "m1", state="UNREVOKED_PARTITIONS")),
        *(joined(40, "m3"), epoch(40, 4), stable(40, 3, "m3")),
        *(stable(60, 4, name) for name in ("m1", "m2", "m3")),
    ],
    "replaced": [
        *(joined(0, "m1"), epoch(0, 2), stable(0, 2, "m1"), joined(10, "m2"), epoch(10, 3), stable(11, 3, "m2")),
        *(joined(15, "m2 again"), stable(15, 3, "m2 again")),
    ],
    "deleted and created": [
        *(joined(0, "m1"), epoch(0, 1), stable(1, 1, "m1"), left(10, "m1"), epoch(10, 2), removed(20)),
        *(joined(30, "m2"), epoch(30, 1), stable(34, 1, "m2")),
    ],
    "late": [
        *(joined(0, "m1"), epoch(0, 2), stable(0, 2, "m1"), joined(10, "m2"), epoch(10, 3), stable(11, 3, "m2")),
        *(epoch(20, 4), stable(22, 3, "m1"), stable(25, 4, "m1"), stable(25, 4, "m2")),
    ],
    **{state: [sample(0, "Stable", "a", "b"), sample(60, state)] for state in ("Empty", "Dead")},
}


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Storage:
    commits = of("held up", (commit(seconds, seconds, source=1_000 + seconds) for seconds in range(6, 36)))
    log_ends: list[Row] = []
    for cluster in ("Empty", "Dead"):
        commits += of(cluster, [commit(-1, 5, source=1)])
        log_ends += of(cluster, [ends(30, 10), ends(90, 10)])
    events = [row | {"group": "g"} for name, rows in RECORDS.items() for row in of(name, placed(rows))]
    facts = {"group_events": events, "offset_commits": commits, "partition_offsets": log_ends}
    return built(tmp_path_factory.mktemp("rebalances"), facts)


@pytest.fixture(scope="module")
def rebalances(storage: Storage) -> list[Row]:
    return sorted(read(storage, "rebalances"), key=lambda row: (row["cluster_id"], row["started_at"]))


@pytest.fixture(scope="module")
def took(rebalances: list[Row]) -> Took:
    """Quality and duration of each generation or epoch."""
    return {(row["cluster_id"], row["generation"]): (row["duration_quality"], row["duration_ms"]) for row in rebalances}


def test_a_rebalance_during_which_a_member_commits_is_not_longer_than_its_bound(took: Took) -> None:
    """The broker accepts commits of the old generation until all members have joined. It took 15.2 s."""
    assert took["held up", 2] == ("bound", 30_200)


@pytest.mark.parametrize(
    ("name", "number", "longest_s"),
    [
        ("long after", 2, MINUTE + 1.5),
        ("another member's timeout", 2, 300 + 1.5),
        ("after a night", 3, MINUTE + 1.5),
        ("emptied", 2, MINUTE + 1),
        ("first of all", 1, MINUTE + 1.5),
    ],
)
def test_a_join_phase_lasts_no_longer_than_the_longest_rebalance_timeout(
    took: Took, name: str, number: int, longest_s: float
) -> None:
    """Half a second later the record was written; a second is for a timer that is late."""
    assert took[name, number] == ("bound", longest_s * 1_000)


@pytest.mark.parametrize(("name", "number"), [("given up once", 3), ("static", 2), ("old broker", 2)])
def test_if_it_may_have_lasted_longer_only_the_record_before_bounds_it(took: Took, name: str, number: int) -> None:
    assert took[name, number] == ("bound", (7_200 - 5) * 1_000)


@pytest.mark.parametrize(("name", "number"), [("records before are lost", 7), ("clock set back", 2)])
def test_a_rebalance_without_a_usable_time_before_it_has_no_duration(took: Took, name: str, number: int) -> None:
    assert took[name, number] == ("bound", None)


def test_classic_rebalances_of_a_group_never_overlap(storage: Storage, rebalances: list[Row]) -> None:
    by_cluster: dict[str, list[Row]] = {}
    for row in rebalances:
        if row["protocol"] == "classic" and row["duration_ms"] is not None:
            by_cluster.setdefault(row["cluster_id"], []).append(row)

    for spans in by_cluster.values():
        assert all(one["ended_at"] <= other["started_at"] for one, other in pairwise(spans))
    assert max(map(len, by_cluster.values())) > 1
    (day,) = [row for row in read(storage, "group_daily") if row["cluster_id"] == "held up"]
    assert day["rebalance_ms"] == 45_200  # since the group was created, until its second generation


def test_a_member_that_joins_with_the_next_epoch_has_not_reached_the_one_before(took: Took) -> None:
    assert took["newcomer", 2] == ("exact", 0)
    assert took["newcomer", 3] == ("overtaken", 30_000)
    assert took["newcomer", 4] == ("exact", 20_000)


def test_a_member_that_replaces_another_is_not_counted_beside_it(took: Took) -> None:
    """A static member that starts again has another id; m1 never reached the epoch."""
    assert took["replaced", 3] == ("open", None)


def test_an_epoch_that_the_last_member_reaches_after_the_next_began_was_overtaken(took: Took) -> None:
    assert took["late", 3] == ("overtaken", 10_000)
    assert took["late", 4] == ("exact", 5_000)


def test_a_group_that_is_created_again_counts_from_the_beginning(rebalances: list[Row]) -> None:
    rows = [row for row in rebalances if row["cluster_id"] == "deleted and created"]

    assert [(row["generation"], row["duration_ms"], row["members_after"]) for row in rows] == [
        (1, 1_000, 1),
        (2, 0, 0),
        (1, 4_000, 1),
    ]


@pytest.mark.parametrize("state", ["Empty", "Dead"])
def test_a_group_that_is_sampled_without_members_has_none(storage: Storage, state: str) -> None:
    rows = {
        seconds_after_noon(row["evaluated_at"]): (row["state"], row["members"])
        for row in read_statuses(storage)
        if (row["cluster_id"], row["topic"]) == (state, None)
    }

    assert rows == {30: ("Stable", 2), 90: (state, 0)}
