"""Groups of every kind, as they are in the tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kafka_groups.pipeline.schemas import GROUP_EVENTS, INGEST_GAPS, OFFSET_COMMITS, REBALANCES, UNKNOWN_RECORDS
from tests.live.pipeline.cast import LONG_METADATA, SHORT_METADATA
from tests.live.pipeline.told import Row, by_time

if TYPE_CHECKING:
    from tests.live.pipeline.told import Told

pytestmark = [pytest.mark.live, pytest.mark.spark]

KINDS = ("GroupMetadata", "ConsumerGroup", "ShareGroup", "StreamsGroup")


def _assigned(event: Row, topic_id: str) -> list[int]:
    assert {each["topic_id"] for each in event["assignment"]} <= {topic_id}
    return sorted(partition for each in event["assignment"] for partition in each["partitions"])


def _client_ids(told: Told, group: str) -> dict[str, str]:
    return {row["member_id"]: row["client_id"] for row in told.events(group, "member_metadata")}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_group_writes_records_of_its_own(told: Told, kind: str) -> None:
    assert any(row["type"].startswith(kind) for row in told.rows(GROUP_EVENTS, origin="topic"))


def test_no_record_of_any_of_them_is_unknown_and_none_is_lost(told: Told) -> None:
    facts = [row for table in (OFFSET_COMMITS, GROUP_EVENTS) for row in told.rows(table, origin="topic")]

    assert told.rows(UNKNOWN_RECORDS) == []
    assert told.ingested.records == len(facts) > 100
    assert len({(row["source_partition"], row["source_offset"]) for row in facts}) == len(facts)


def test_a_classic_group_has_its_generations_members_and_commits(told: Told) -> None:
    group = told.cast.classic
    last = told.events(group, "generation")[-1]

    assert {member["client_id"] for member in last["members"]} == {f"{group}-c1", f"{group}-c2"}
    assert [member["topics"] for member in last["members"]] == [[told.cast.topic]] * 2
    assert sorted(
        (each["topic"], number) for m in last["members"] for each in m["assignment"] for number in each["partitions"]
    ) == [(told.cast.topic, 0), (told.cast.topic, 1)]
    assert (last["protocol_type"], last["protocol"]) == ("consumer", "range")
    assert told.events(group)[-1]["event_type"] == "group_emptied"
    assert told.commits(group) == [(0, 3), (1, 5)] * 2


def test_a_classic_group_rebalances_once_for_each_member_that_comes(told: Told) -> None:
    rows = by_time(told.rows(REBALANCES, group=told.cast.classic), "started_at", "generation")

    assert [(row["generation"], row["members_before"], row["members_after"]) for row in rows[:2]] == [
        (1, 0, 1),
        (2, 1, 2),
    ]
    assert (rows[-1]["members_after"], {row["duration_quality"] for row in rows}) == (0, {"bound"})


def test_a_kip_848_group_has_its_epochs_members_and_commits(told: Told) -> None:
    group = told.cast.consumer
    epochs = [row["epoch"] for row in told.events(group, "group_epoch")]
    stable = [row for row in told.events(group, "member_assignment") if row["member_state"] == "STABLE"]
    last = {row["member_id"]: _assigned(row, told.topic_id) for row in stable}

    assert epochs == sorted(set(epochs))
    assert sorted(last.values()) == [[0], [1]]
    assert sorted(_client_ids(told, group).values()) == [f"{group}-c1", f"{group}-c2"]
    assert {row["member_id"] for row in told.events(group, "member_left")} == set(last)
    assert told.events(group)[-1]["event_type"] == "group_epoch"
    assert told.commits(group) == [(0, 3), (1, 5)] * 2


def test_a_kip_848_group_rebalances_exactly_once_for_each_member_that_comes(told: Told) -> None:
    group = told.cast.consumer
    clients = _client_ids(told, group)
    first, second, *_ = by_time(told.rows(REBALANCES, group=group), "started_at", "generation")

    assert [(row["members_before"], row["members_after"]) for row in (first, second)] == [(0, 1), (1, 2)]
    assert [[clients[member] for member in row["joined"]] for row in (first, second)] == [
        [f"{group}-c1"],
        [f"{group}-c2"],
    ]
    assert {row["duration_quality"] for row in (first, second)} == {"exact"}
    assert second["duration_ms"] > 0  # the first member has to give a partition up


def test_an_expression_has_a_row_with_the_topics_that_it_stands_for(told: Told) -> None:
    last = told.events(told.cast.matching, "regex_resolved")[-1]

    assert f"^{told.cast.topic}$" in json.loads(last["details"])["regular_expression"]
    assert last["topics"] == [told.cast.topic]


def test_a_share_group_has_members_and_assignments_and_no_commits(told: Told) -> None:
    group = told.cast.share
    (member,) = {row["member_id"] for row in told.events(group, "member_metadata")}
    last = told.events(group, "member_assignment")[-1]

    assert (last["member_id"], _assigned(last, told.topic_id)) == (member, [0, 1])
    assert told.events(group, "share_partitions")[-1]["topics"] == [told.cast.topic]
    assert [row["member_id"] for row in told.events(group, "member_left")] == [member]
    assert told.commits(group) == []
    assert {row["group_type"] for row in told.rows(GROUP_EVENTS, group=group, origin="sample")} == {"Share"}


def test_a_streams_group_has_a_topology_and_members_and_no_commits(told: Told) -> None:
    group = told.cast.streams

    assert [row["topics"] for row in told.events(group, "topology")] == [[told.cast.topic]]
    assert len(told.events(group, "member_metadata")) == len(told.events(group, "member_left")) == 1
    assert told.commits(group) == []


def test_a_group_that_assigns_partitions_itself_has_commits_and_no_event(told: Told) -> None:
    assert told.commits(told.cast.assigned) == [(0, 5)]
    assert told.events(told.cast.assigned) == []


def test_a_transactions_commit_is_there_if_it_was_committed_and_not_if_it_was_aborted(told: Told) -> None:
    group = told.cast.transactional
    (row,) = told.rows(OFFSET_COMMITS, group=group, origin="topic")

    assert told.commits(group) == [(0, 4)]
    # The two marks and the aborted commit are offsets without a record.
    gaps = told.rows(INGEST_GAPS, source_partition=row["source_partition"])
    assert sum(gap["missing"] for gap in gaps if gap["until_offset"] > row["source_offset"]) >= 3


def test_metadata_is_whole_whatever_its_length(told: Told) -> None:
    rows = told.rows(OFFSET_COMMITS, group=told.cast.annotated, origin="topic")

    assert {row["partition"]: row["metadata"] for row in rows} == {0: SHORT_METADATA, 1: LONG_METADATA}
    assert [len(text.encode()) for text in (SHORT_METADATA, LONG_METADATA)] == [127, 4_000]
    assert {(row["partition"], row["committed_offset"], row["leader_epoch"]) for row in rows} == {(0, 1, 0), (1, 2, 0)}


def test_a_reset_is_one_more_commit(told: Told) -> None:
    assert told.commits(told.cast.reset) == [(0, 6), (0, 2)]
