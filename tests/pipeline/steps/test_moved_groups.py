"""Records that brokers since 4.0 write of a group: when it is made, and in one batch when it changes its protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafka_groups.pipeline.steps.members import at_times, events_once, memberships, states
from kafka_groups.pipeline.steps.rebalances import rebalances
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS
from tests.pipeline.steps.making import NOON, Row, at, commit, event, new_storage, put_all

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from kafka_groups.pipeline.storage import Storage

pytestmark = pytest.mark.spark


def classic(seconds: float, source: int, epoch: int, *members: str) -> Row:
    meaning = "generation" if members else "group_emptied"
    named = [{"member_id": member} for member in members]
    return event(seconds, meaning, "GroupMetadata", source=source, epoch=epoch, members=named)


FACTS = {
    "offset_commits": [commit(5, 1, source=90)],
    "group_events": [
        classic(0, 1, 0),
        classic(1, 2, 1, "stays"),
        event(10, "group_removed", "GroupMetadata", source=3, tombstone=True),
        event(10, "member_metadata", "ConsumerGroupMemberMetadata", source=4, member_id="stays"),
        event(10, "group_epoch", "ConsumerGroupMetadata", source=5, epoch=1),
        event(10, "member_metadata", "ConsumerGroupMemberMetadata", source=6, member_id="newer"),
        event(20, "member_left", "ConsumerGroupMemberMetadata", source=7, member_id="newer", tombstone=True),
        event(20, "member_left", "ConsumerGroupMemberMetadata", source=8, member_id="stays", tombstone=True),
        event(20, "group_removed", "ConsumerGroupMetadata", source=9, tombstone=True),
        classic(20, 10, 2, "stays"),
    ],
}


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Storage:
    storage = new_storage(tmp_path_factory.mktemp("moved"))
    put_all(storage, "facts", FACTS)
    return storage


def test_a_group_that_was_just_made_has_not_rebalanced(spark: SparkSession, storage: Storage) -> None:
    events, commits = storage.read(spark, GROUP_EVENTS), storage.read(spark, OFFSET_COMMITS)
    rows = rebalances(events, commits, [NOON.date()]).where("protocol = 'classic'").collect()
    first = min(rows, key=lambda row: row["generation"])

    assert sorted(row["generation"] for row in rows) == [1, 2]
    assert (first["members_before"], first["members_after"], first["joined"]) == (0, 1, ["stays"])
    assert (first["started_at"].timestamp(), first["duration_ms"]) == (
        at(0).timestamp(),
        5_000,
    )  # from its making to its first commit


def test_members_are_those_of_the_last_record_of_a_batch(spark: SparkSession, storage: Storage) -> None:
    events = events_once(storage.read(spark, GROUP_EVENTS))
    wanted = [("c", "g", at(seconds)) for seconds in (2, 12, 21)]
    times = spark.createDataFrame(wanted, "cluster_id string, group string, looked_at timestamp")

    rows = at_times(times, states(events, memberships(events)), "looked_at").orderBy("looked_at").collect()

    assert [(row["state"], row["members"]) for row in rows] == [("Stable", 1), ("Stable", 2), ("Stable", 1)]
