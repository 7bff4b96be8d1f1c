"""Whether a group was deleted or moved to the other protocol, and until when a rebalance is followed. One build."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import pytest

from kafka_groups.pipeline.storage import Storage
from tests.pipeline.fact_rows import Row, commit, ends
from tests.pipeline.transform.builds import built, of, read, read_statuses, seconds_after_noon
from tests.pipeline.transform.kernels.stories import DAY, epoch, generation, joined, placed, removed, stable

HOUR: Final = 3_600
TWO_MEMBERS: Final = (
    *(joined(0, "m1"), epoch(0, 1), stable(0, 1, "m1")),
    *(joined(10, "m2"), epoch(10, 2), stable(11, 2, "m2")),
)
# By cluster.
RECORDS: Final[Mapping[str, Sequence[Row]]] = {
    "deleted": [generation(0, 1, "m"), removed(10, "GroupMetadata")],
    "upgraded": [generation(0, 1, "m"), removed(10, "GroupMetadata"), epoch(10.2, 2)],
    "downgraded": [epoch(0, 1), removed(10), generation(10.2, 2, "m")],
    "of the other protocol an hour later": [generation(0, 1, "m"), removed(10, "GroupMetadata"), epoch(HOUR, 1)],
    "reached the next day": [*TWO_MEMBERS, stable(DAY, 2, "m1")],
    "reached two days later": [*TWO_MEMBERS, stable(2 * DAY, 2, "m1")],
}


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Storage:
    facts = {
        "group_events": [row | {"group": "g"} for name, rows in RECORDS.items() for row in of(name, placed(rows))],
        "offset_commits": [row for name in RECORDS for row in of(name, [commit(-1, 5, source=1)])],
        "partition_offsets": [row for name in RECORDS for row in of(name, [ends(10.1, 10), ends(15, 10)])],
    }
    return built(tmp_path_factory.mktemp("ends"), facts)


def test_a_group_moved_to_the_other_protocol_only_if_that_ones_record_follows_at_once(storage: Storage) -> None:
    """A group that moved is not dead; what its state is between the two records was known before, or is not."""
    states = {
        (row["cluster_id"], seconds_after_noon(row["evaluated_at"])): row["state"]
        for row in read_statuses(storage)
        if row["topic"] is None and not row["cluster_id"].startswith("reached")
    }

    assert states == {
        ("deleted", 10.1): "Dead",
        ("deleted", 15): "Dead",
        ("upgraded", 10.1): "Stable",
        ("upgraded", 15): "Stable",
        ("downgraded", 10.1): None,
        ("downgraded", 15): "Stable",
        ("of the other protocol an hour later", 10.1): "Dead",
        ("of the other protocol an hour later", 15): "Dead",
    }


def test_a_rebalance_is_followed_until_the_end_of_the_next_day_whatever_facts_there_are(storage: Storage) -> None:
    """A build of that day alone sees no more, and must give the same rows."""
    rows = {
        row["cluster_id"]: (row["duration_quality"], row["duration_ms"])
        for row in read(storage, "rebalances")
        if row["cluster_id"].startswith("reached") and row["generation"] == 2
    }

    assert rows == {
        "reached the next day": ("exact", (DAY - 10) * 1_000),
        "reached two days later": ("open", None),
    }
