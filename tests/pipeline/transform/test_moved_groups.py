"""Records that brokers since 4.0 write of a group: when it is made, and in one batch when it changes its protocol."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.pipeline.steps.members import at_times, events_once, memberships, states
from kafka_groups.pipeline.steps.rebalances import rebalances
from kafka_groups.pipeline.tables import GROUP_EVENTS
from tests.pipeline.fact_rows import NOON, Row, at, event, new_storage, put_all

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_groups.pipeline.storage import Storage

pytestmark = pytest.mark.spark


def classic(seconds: float, source: int, epoch: int, *members: str) -> Row:
    meaning = "generation" if members else "group_emptied"
    named = [{"member_id": member} for member in members]
    return event(seconds, meaning, "GroupMetadata", source=source, epoch=epoch, members=named)


FACTS = {
    "group_events": [
        classic(0, 1, 0),
        classic(1, 2, 1, "stays"),
        event(10, "group_removed", "GroupMetadata", source=3, tombstone=True),
        event(10, "member_metadata", "ConsumerGroupMemberMetadata", source=4, member_id="stays"),
        event(10, "group_epoch", "ConsumerGroupMetadata", source=5, epoch=1),
        event(10, "member_metadata", "ConsumerGroupMemberMetadata", source=6, member_id="newer"),
        event(10, "group_epoch", "ConsumerGroupMetadata", source=7, epoch=2),
        event(20, "member_left", "ConsumerGroupMemberMetadata", source=8, member_id="newer", tombstone=True),
        event(20, "member_left", "ConsumerGroupMemberMetadata", source=9, member_id="stays", tombstone=True),
        event(20, "group_removed", "ConsumerGroupMetadata", source=10, tombstone=True),
        classic(20, 11, 3, "stays"),
    ],
}


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Storage:
    storage = new_storage(tmp_path_factory.mktemp("moved"))
    put_all(storage, "facts", FACTS)
    return storage


def test_a_group_that_was_just_made_has_not_rebalanced(spark: SparkSession, storage: Storage) -> None:
    rows = rebalances(storage.read(spark, GROUP_EVENTS), [NOON.date()]).where("protocol = 'classic'").collect()
    first = min(rows, key=lambda row: row["generation"])

    assert sorted(row["generation"] for row in rows) == [1, 3]
    assert (first["members_before"], first["members_after"], first["joined"]) == (0, 1, ["stays"])
    assert (first["started_at"].timestamp(), first["duration_ms"]) == (at(0).timestamp(), 1_000)  # from its making on


def moves(spark: SparkSession, storage: Storage, *compacted: int) -> dict[tuple[str, int], Row]:
    """Rebalances by protocol and generation, where ingest came too late for the records at some offsets."""
    from pyspark.sql import functions as F

    events = storage.read(spark, GROUP_EVENTS).where(~F.col("source_offset").isin(*compacted))
    found = rebalances(events, [NOON.date()]).collect()
    return {(row["protocol"], row["generation"]): row.asDict() for row in found}


def who(row: Row) -> tuple[int | None, int, list[str] | None, list[str] | None]:
    return row["members_before"], row["members_after"], row["joined"], row["left"]


def test_a_member_that_stays_while_its_group_moves_has_not_joined(spark: SparkSession, storage: Storage) -> None:
    rows = moves(spark, storage)

    assert who(rows["consumer", 1]) == (1, 1, [], [])
    assert who(rows["consumer", 2]) == (1, 2, ["newer"], [])
    assert who(rows["classic", 3]) == (2, 1, [], ["newer"])


def test_nobody_is_told_as_joined_if_the_classic_group_that_moved_is_lost(
    spark: SparkSession, storage: Storage
) -> None:
    """Compaction leaves of it the removal alone."""
    rows = moves(spark, storage, 1, 2)

    assert who(rows["consumer", 1]) == (None, 1, None, None)
    assert who(rows["consumer", 2]) == (1, 2, ["newer"], [])


def test_the_first_epoch_that_is_left_does_not_tell_who_joined_with_it(spark: SparkSession, storage: Storage) -> None:
    rows = moves(spark, storage, 1, 2, 3, 5)

    assert who(rows["consumer", 2]) == (None, 2, None, None)


@pytest.mark.parametrize("epoch", [1, 2])
def test_the_first_epoch_of_a_new_group_has_nobody_before(spark: SparkSession, tmp_path: Path, epoch: int) -> None:
    """Groups begin with epoch 1, and since Kafka 4.3 with 2."""
    storage = new_storage(tmp_path)
    joins = event(1, "member_metadata", "ConsumerGroupMemberMetadata", source=1, member_id="first")
    begins = event(1, "group_epoch", "ConsumerGroupMetadata", source=2, epoch=epoch)
    put_all(storage, "facts", {"group_events": [joins, begins]})

    assert who(moves(spark, storage)["consumer", epoch]) == (0, 1, ["first"], [])


def test_members_are_those_of_the_last_record_of_a_batch(spark: SparkSession, storage: Storage) -> None:
    """The state of the classic group says nothing of the KIP-848 group that it became."""
    events = events_once(storage.read(spark, GROUP_EVENTS))
    wanted = [("c", "g", at(seconds)) for seconds in (2, 12, 21)]
    times = spark.createDataFrame(wanted, "cluster_id string, group string, looked_at timestamp")

    rows = at_times(times, states(events, memberships(events)), "looked_at").orderBy("looked_at").collect()

    assert [(row["state"], row["members"]) for row in rows] == [("Stable", 1), (None, 2), ("Stable", 1)]
