"""Rows of a group that changes its protocol and back: brokers since 4.0 write each change as one batch of records."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import pytest

from kafka_groups.pipeline.storage import Storage
from tests.pipeline.fact_rows import Row, at, commit, ends
from tests.pipeline.transform.builds import built, of, read, read_statuses, seconds_after_noon
from tests.pipeline.transform.kernels.stories import epoch, generation, joined, left, placed, removed

Moves = Callable[[str], dict[tuple[str, int], Row]]
THERE_AND_BACK: Final = placed(
    [
        *(generation(0, 0), generation(1, 1, "stays")),
        *(removed(10, "GroupMetadata"), joined(10, "stays"), epoch(10, 1), joined(10, "newer"), epoch(10, 2)),
        *(left(20, "newer"), left(20, "stays"), removed(20), generation(20, 3, "stays")),
    ]
)


def without(*places: int) -> list[Row]:
    """The records that remain if compaction removed those at some places before they were read."""
    return [row for place, row in enumerate(THERE_AND_BACK) if place not in places]


# By cluster.
RECORDS: Final[Mapping[str, list[Row]]] = {
    "all": THERE_AND_BACK,
    "the removal alone": without(0, 1),
    "the second epoch alone": without(0, 1, 2, 4),
    **{f"new, with epoch {number}": placed([joined(1, "first"), epoch(1, number)]) for number in (1, 2)},
}


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Storage:
    facts = {
        "group_events": [row | {"group": "g"} for name, rows in RECORDS.items() for row in of(name, rows)],
        "offset_commits": of("all", [commit(-1, 5, source=1)]),
        "partition_offsets": of("all", [ends(seconds, 10) for seconds in (2, 12, 21)]),
    }
    return built(tmp_path_factory.mktemp("moved"), facts)


@pytest.fixture(scope="module")
def moves(storage: Storage) -> Moves:
    """Rebalances of a cluster by protocol and generation."""
    rows = read(storage, "rebalances")
    return lambda cluster: {(row["protocol"], row["generation"]): row for row in rows if row["cluster_id"] == cluster}


def who(row: Row) -> tuple[int | None, int, list[str] | None, list[str] | None]:
    return row["members_before"], row["members_after"], row["joined"], row["left"]


def test_a_group_that_was_just_created_has_not_rebalanced(moves: Moves) -> None:
    rows = [row for (protocol, _), row in moves("all").items() if protocol == "classic"]
    first = min(rows, key=lambda row: row["generation"])

    assert sorted(row["generation"] for row in rows) == [1, 3]
    assert (first["members_before"], first["members_after"], first["joined"]) == (0, 1, ["stays"])
    assert (first["started_at"], first["duration_ms"]) == (at(0), 1_000)  # since it was created


def test_a_member_that_stays_while_its_group_moves_has_not_joined(moves: Moves) -> None:
    rows = moves("all")

    assert who(rows["consumer", 1]) == (1, 1, [], [])
    assert who(rows["consumer", 2]) == (1, 2, ["newer"], [])
    assert who(rows["classic", 3]) == (2, 1, [], ["newer"])


def test_it_is_not_known_who_joined_if_the_classic_group_that_moved_is_lost(moves: Moves) -> None:
    """Compaction leaves the removal alone."""
    rows = moves("the removal alone")

    assert who(rows["consumer", 1]) == (None, 1, None, None)
    assert who(rows["consumer", 2]) == (1, 2, ["newer"], [])


def test_the_first_epoch_that_remains_does_not_show_who_joined_with_it(moves: Moves) -> None:
    assert who(moves("the second epoch alone")["consumer", 2]) == (None, 2, None, None)


@pytest.mark.parametrize("number", [1, 2])
def test_the_first_epoch_of_a_new_group_has_no_members_before(moves: Moves, number: int) -> None:
    """Groups begin with epoch 1, and since Kafka 4.3 with 2."""
    assert who(moves(f"new, with epoch {number}")["consumer", number]) == (0, 1, ["first"], [])


def test_members_are_those_of_the_last_record_of_a_batch(storage: Storage) -> None:
    """The state of the classic group is not that of the KIP-848 group that it became."""
    rows = {
        seconds_after_noon(row["evaluated_at"]): (row["state"], row["members"])
        for row in read_statuses(storage)
        if row["topic"] is None
    }

    assert rows == {2: ("Stable", 1), 12: (None, 2), 21: ("Stable", 1)}
