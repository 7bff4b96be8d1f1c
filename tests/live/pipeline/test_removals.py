"""What goes: offsets, topics and groups that are deleted, and groups that only change their protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafka_groups.pipeline.steps.members import at_times, events_once, memberships, removals, states
from kafka_groups.pipeline.tables import GROUP_EVENTS, GROUP_STATUS, LAG_HISTORY, OFFSET_COMMITS, REBALANCES
from tests.live.pipeline.told import by_time

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from tests.live.pipeline.told import Told

pytestmark = [pytest.mark.live, pytest.mark.spark]

DELETED = ("deleted_classic", "deleted_consumer", "deleted_simple")


@pytest.fixture(scope="module")
def events(spark: SparkSession, told: Told) -> DataFrame:
    return events_once(told.storage.read(spark, GROUP_EVENTS)).cache()


@pytest.fixture(scope="module")
def removed(events: DataFrame) -> dict[str, list[str]]:
    """How each group was removed, time after time."""
    kinds: dict[str, list[str]] = {}
    for row in removals(events).orderBy("group", "source_offset").collect():
        kinds.setdefault(row["group"], []).append(row["kind"])
    return kinds


def test_one_deleted_offset_is_told_as_removed_and_has_no_lag_any_more(told: Told) -> None:
    group = told.cast.trimmed

    assert told.commits(group) == [(0, 1), (1, 2), (1, None)]
    assert {row["partition"] for row in told.rows(LAG_HISTORY, group=group)} == {0}
    assert told.events(group) == []


def test_offsets_of_a_deleted_topic_are_told_as_removed(told: Told) -> None:
    group = told.cast.bereft
    rows = told.rows(OFFSET_COMMITS, group=group, origin="topic")

    assert told.commits(group) == [(0, 7), (0, None)]
    assert {row["topic"] for row in rows} == {told.cast.gone_topic}
    assert told.rows(LAG_HISTORY, group=group) == []


@pytest.mark.parametrize("name", DELETED)
def test_a_deleted_group_is_told_as_deleted_with_all_its_offsets(
    told: Told, removed: dict[str, list[str]], name: str
) -> None:
    group = getattr(told.cast, name)
    commits = told.commits(group)

    assert removed[group] == ["deleted"]
    assert told.events(group)[-1]["meaning"] == "group_removed"
    assert {partition for partition, _ in commits} == {partition for partition, offset in commits if offset is None}
    assert told.rows(LAG_HISTORY, group=group) == told.rows(GROUP_STATUS, group=group) == []


def test_no_group_that_is_still_there_is_told_as_deleted(told: Told, removed: dict[str, list[str]]) -> None:
    deleted = {group for group, kinds in removed.items() if "deleted" in kinds}

    assert deleted & {row["group"] for row in told.rows(GROUP_EVENTS, origin="sample")} == set()
    assert deleted >= {getattr(told.cast, name) for name in DELETED}
    assert "Dead" not in {row["state"] for row in told.rows(GROUP_STATUS)}


def test_an_empty_classic_group_that_a_kip_848_member_joins_has_moved(
    told: Told, removed: dict[str, list[str]]
) -> None:
    group = told.cast.upgraded
    tombstone = next(row for row in told.events(group) if row["meaning"] == "group_removed")
    after = [row["type"] for row in told.events(group) if row["source_offset"] > tombstone["source_offset"]]

    assert (tombstone["type"], removed[group]) == ("GroupMetadata", ["moved"])
    assert after
    assert all(each.startswith("ConsumerGroup") for each in after)
    assert told.commits(group) == [(0, 1), (0, 3), (1, 5)]


def test_a_group_that_moves_with_its_members_there_and_back_is_never_told_as_deleted(
    told: Told, removed: dict[str, list[str]]
) -> None:
    group = told.cast.migrated
    tombstones = [row["type"] for row in told.events(group, "group_removed")]

    assert tombstones == ["GroupMetadata", "ConsumerGroupMetadata"]
    assert removed[group] == ["moved", "moved"]
    assert None not in {offset for _, offset in told.commits(group)}


def test_a_group_that_moves_has_rebalances_of_both_protocols_and_whoever_stays_did_not_join(told: Told) -> None:
    rows = by_time(told.rows(REBALANCES, group=told.cast.migrated), "started_at", "generation")
    told_by = {
        protocol: [(row["generation"], row["members_after"]) for row in rows if row["protocol"] == protocol]
        for protocol in ("classic", "consumer")
    }

    joined = [len(row["joined"]) for row in rows if row["protocol"] == "consumer"]
    back = next(row for row in rows if row["protocol"] == "classic" and row["generation"] > 1)

    assert told_by["consumer"][:2] == [(1, 1), (2, 2)]
    assert joined[:2] == [0, 1]
    assert (back["members_before"], back["joined"], len(back["left"])) == (2, [], 1)
    assert told_by["classic"][0] == (1, 1)
    assert told_by["classic"][-1][1] == 0


def test_a_member_that_stays_when_its_group_goes_back_is_counted(
    spark: SparkSession, told: Told, events: DataFrame
) -> None:
    group = told.cast.migrated
    back = told.events(group, "generation")[-1]
    times = spark.createDataFrame(
        [(back["cluster_id"], group, back["record_time"])], "cluster_id string, group string, at_ timestamp"
    )

    (row,) = at_times(times, states(events, memberships(events)), "at_").collect()

    assert len(back["members"]) == 1
    assert (row["state"], row["members"]) == ("Stable", 1)
