"""Groups of every kind, as they are in the tables."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from kafka_groups.pipeline.tables import GROUP_EVENTS, INGEST_GAPS, OFFSET_COMMITS, REBALANCES, UNKNOWN_RECORDS
from tests.live.pipeline.filled_tables import Row, by_time
from tests.live.pipeline.group_kinds import LONG_METADATA, SHORT_METADATA

if TYPE_CHECKING:
    from tests.live.pipeline.filled_tables import FilledTables

pytestmark = [pytest.mark.live, pytest.mark.spark]

KINDS = ("GroupMetadata", "ConsumerGroup", "ShareGroup", "StreamsGroup")


def _assigned(event: Row, topic_id: str) -> list[int]:
    assert {each["topic_id"] for each in event["assignment"]} <= {topic_id}
    return sorted(partition for each in event["assignment"] for partition in each["partitions"])


def _client_ids(filled: FilledTables, group: str) -> dict[str, str]:
    return {row["member_id"]: row["client_id"] for row in filled.events(group, "member_metadata")}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_group_writes_records_of_its_own(filled: FilledTables, kind: str) -> None:
    assert any(row["record_name"].startswith(kind) for row in filled.rows(GROUP_EVENTS, origin="topic"))


def test_no_record_of_any_kind_of_group_is_unknown_or_lost(filled: FilledTables) -> None:
    facts = [row for table in (OFFSET_COMMITS, GROUP_EVENTS) for row in filled.rows(table, origin="topic")]

    assert filled.rows(UNKNOWN_RECORDS) == []
    assert filled.ingested.records == len(facts) > 100
    assert len({(row["source_partition"], row["source_offset"]) for row in facts}) == len(facts)


def test_a_classic_group_has_its_generations_members_and_commits(filled: FilledTables) -> None:
    group = filled.kinds.classic
    last = filled.events(group, "generation")[-1]

    assert {member["client_id"] for member in last["members"]} == {f"{group}-c1", f"{group}-c2"}
    assert [member["topics"] for member in last["members"]] == [[filled.kinds.topic]] * 2
    assert sorted(
        (each["topic"], number) for m in last["members"] for each in m["assignment"] for number in each["partitions"]
    ) == [(filled.kinds.topic, 0), (filled.kinds.topic, 1)]
    assert (last["protocol_type"], last["protocol"]) == ("consumer", "range")
    assert filled.events(group)[-1]["event_type"] == "group_emptied"
    assert filled.commits(group) == [(0, 3), (1, 5)] * 2


def test_a_classic_group_rebalances_once_for_each_member_that_comes(filled: FilledTables) -> None:
    rows = by_time(filled.rows(REBALANCES, group=filled.kinds.classic), "started_at", "generation")

    assert [(row["generation"], row["members_before"], row["members_after"]) for row in rows[:2]] == [
        (1, 0, 1),
        (2, 1, 2),
    ]
    assert (rows[-1]["members_after"], {row["duration_quality"] for row in rows}) == (0, {"bound"})


def test_a_kip_848_group_has_its_epochs_members_and_commits(filled: FilledTables) -> None:
    group = filled.kinds.consumer
    epochs = [row["epoch"] for row in filled.events(group, "group_epoch")]
    stable = [row for row in filled.events(group, "member_assignment") if row["member_state"] == "STABLE"]
    last = {row["member_id"]: _assigned(row, filled.topic_id) for row in stable}

    assert epochs == sorted(set(epochs))
    assert sorted(last.values()) == [[0], [1]]
    assert sorted(_client_ids(filled, group).values()) == [f"{group}-c1", f"{group}-c2"]
    assert {row["member_id"] for row in filled.events(group, "member_left")} == set(last)
    assert filled.events(group)[-1]["event_type"] == "group_epoch"
    assert filled.commits(group) == [(0, 3), (1, 5)] * 2


def test_a_kip_848_group_rebalances_exactly_once_for_each_member_that_comes(filled: FilledTables) -> None:
    group = filled.kinds.consumer
    clients = _client_ids(filled, group)
    first, second, *_ = by_time(filled.rows(REBALANCES, group=group), "started_at", "generation")

    assert [(row["members_before"], row["members_after"]) for row in (first, second)] == [(0, 1), (1, 2)]
    assert [[clients[member] for member in row["joined"]] for row in (first, second)] == [
        [f"{group}-c1"],
        [f"{group}-c2"],
    ]
    assert {row["duration_quality"] for row in (first, second)} == {"exact"}
    assert second["duration_ms"] > 0  # the first member has to give a partition up


def test_an_expression_has_a_row_with_the_topics_that_it_stands_for(filled: FilledTables) -> None:
    last = filled.events(filled.kinds.matching, "regex_resolved")[-1]

    assert f"^{filled.kinds.topic}$" in json.loads(last["details"])["regular_expression"]
    assert last["topics"] == [filled.kinds.topic]


def test_a_share_group_has_members_and_assignments_and_no_commits(filled: FilledTables) -> None:
    group = filled.kinds.share
    (member,) = {row["member_id"] for row in filled.events(group, "member_metadata")}
    last = filled.events(group, "member_assignment")[-1]

    assert (last["member_id"], _assigned(last, filled.topic_id)) == (member, [0, 1])
    assert filled.events(group, "share_partitions")[-1]["topics"] == [filled.kinds.topic]
    assert [row["member_id"] for row in filled.events(group, "member_left")] == [member]
    assert filled.commits(group) == []
    assert {row["group_type"] for row in filled.rows(GROUP_EVENTS, group=group, origin="sample")} == {"Share"}


def test_a_streams_group_has_a_topology_and_members_and_no_commits(filled: FilledTables) -> None:
    group = filled.kinds.streams

    assert [row["topics"] for row in filled.events(group, "topology")] == [[filled.kinds.topic]]
    assert len(filled.events(group, "member_metadata")) == len(filled.events(group, "member_left")) == 1
    assert filled.commits(group) == []


def test_a_group_that_assigns_partitions_itself_has_commits_and_no_event(filled: FilledTables) -> None:
    assert filled.commits(filled.kinds.assigned) == [(0, 5)]
    assert filled.events(filled.kinds.assigned) == []


def test_only_the_commit_of_a_committed_transaction_is_read(filled: FilledTables) -> None:
    group = filled.kinds.transactional
    (row,) = filled.rows(OFFSET_COMMITS, group=group, origin="topic")

    assert filled.commits(group) == [(0, 4)]
    # The two marks and the aborted commit are offsets without a record.
    gaps = filled.rows(INGEST_GAPS, source_partition=row["source_partition"])
    assert sum(gap["missing"] for gap in gaps if gap["last_offset"] > row["source_offset"]) >= 3


def test_metadata_is_whole_whatever_its_length(filled: FilledTables) -> None:
    rows = filled.rows(OFFSET_COMMITS, group=filled.kinds.annotated, origin="topic")

    assert {row["partition"]: row["metadata"] for row in rows} == {0: SHORT_METADATA, 1: LONG_METADATA}
    assert [len(text.encode()) for text in (SHORT_METADATA, LONG_METADATA)] == [127, 4_000]
    assert {(row["partition"], row["committed_offset"], row["leader_epoch"]) for row in rows} == {(0, 1, 0), (1, 2, 0)}


def test_a_reset_is_a_commit_after_the_others(filled: FilledTables) -> None:
    assert filled.commits(filled.kinds.reset) == [(0, 6), (0, 2)]
