"""What goes: offsets, topics and groups that are deleted, and groups that only change their protocol."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from kafka_groups.pipeline.build.fact_files import read_facts
from kafka_groups.pipeline.build.group_events import read_day_events
from kafka_groups.pipeline.build.kernels.group_days import build_group_days
from kafka_groups.pipeline.build.kernels.segments import DAY_US
from kafka_groups.pipeline.build.stage_rows import RowKind, StageRows, select_kind, unpack_events
from kafka_groups.pipeline.tables import GROUP_EVENTS, GROUP_STATUS, LAG_HISTORY, OFFSET_COMMITS, REBALANCES
from tests.live.pipeline.filled_tables import by_time

if TYPE_CHECKING:
    from tests.live.pipeline.filled_tables import FilledTables

pytestmark = [pytest.mark.live, pytest.mark.spark]

DELETED = ("deleted_classic", "deleted_consumer", "deleted_simple")
_EPOCH = datetime.fromisoformat("1970-01-01T00:00:00+00:00")
# The state and the number of members of a group at a time.
StateAt = Callable[[str, datetime], tuple[str | None, int | None]]


@pytest.fixture(scope="module")
def state_at(filled: FilledTables) -> StateAt:
    files = filled.storage.files(GROUP_EVENTS)
    packed, _ = select_kind(pa.Table.from_batches(read_facts(files), schema=StageRows.schema()), RowKind.EVENTS)

    def find(group: str, time: datetime) -> tuple[str | None, int | None]:
        events, _ = unpack_events(packed.filter(pc.equal(packed["group"], group))["payload"])
        by_day = read_day_events(events, np.zeros(len(events), np.int64))[0]
        at_us = (time - _EPOCH) // timedelta(microseconds=1)
        (*_, day) = build_group_days(None, by_day, [day for day in by_day if day * DAY_US <= at_us])
        states, members = day.timeline.at_times(np.array([at_us]))
        return states[0], int(members[0]) if members[0] >= 0 else None

    return find


def test_one_deleted_offset_is_reported_as_removed_and_has_no_lag_any_more(filled: FilledTables) -> None:
    group = filled.kinds.trimmed

    assert filled.commits(group) == [(0, 1), (1, 2), (1, None)]
    assert {row["partition"] for row in filled.rows(LAG_HISTORY, group=group)} == {0}
    assert filled.events(group) == []


def test_offsets_of_a_deleted_topic_are_reported_as_removed(filled: FilledTables) -> None:
    group = filled.kinds.bereft
    rows = filled.rows(OFFSET_COMMITS, group=group, origin="topic")

    assert filled.commits(group) == [(0, 7), (0, None)]
    assert {row["topic"] for row in rows} == {filled.kinds.gone_topic}
    assert filled.rows(LAG_HISTORY, group=group) == []


@pytest.mark.parametrize("name", DELETED)
def test_a_deleted_group_is_reported_as_deleted_with_all_its_offsets(
    filled: FilledTables, state_at: StateAt, name: str
) -> None:
    group = getattr(filled.kinds, name)
    commits = filled.commits(group)

    last = filled.events(group)[-1]
    assert last["event_type"] == "group_removed"
    assert state_at(group, last["record_time"]) == ("Dead", 0)
    assert {partition for partition, _ in commits} == {partition for partition, offset in commits if offset is None}
    assert filled.rows(LAG_HISTORY, group=group) == filled.rows(GROUP_STATUS, group=group) == []


def test_no_existing_group_is_reported_as_deleted(filled: FilledTables, state_at: StateAt) -> None:
    removals = filled.rows(GROUP_EVENTS, event_type="group_removed")
    deleted = {row["group"] for row in removals if state_at(row["group"], row["record_time"])[0] == "Dead"}

    assert deleted & {row["group"] for row in filled.rows(GROUP_EVENTS, origin="sample")} == set()
    assert deleted >= {getattr(filled.kinds, name) for name in DELETED}
    assert "Dead" not in {row["state"] for row in filled.rows(GROUP_STATUS)}


def test_an_empty_classic_group_that_a_kip_848_member_joins_has_moved(filled: FilledTables, state_at: StateAt) -> None:
    group = filled.kinds.upgraded
    tombstone = next(row for row in filled.events(group) if row["event_type"] == "group_removed")
    after = [row["record_name"] for row in filled.events(group) if row["source_offset"] > tombstone["source_offset"]]

    assert tombstone["record_name"] == "GroupMetadata"
    assert state_at(group, tombstone["record_time"])[0] != "Dead"
    assert after
    assert all(each.startswith("ConsumerGroup") for each in after)
    assert filled.commits(group) == [(0, 1), (0, 3), (1, 5)]


def test_a_group_that_is_upgraded_and_downgraded_is_never_deleted(filled: FilledTables, state_at: StateAt) -> None:
    group = filled.kinds.migrated
    tombstones = filled.events(group, "group_removed")

    assert [row["record_name"] for row in tombstones] == ["GroupMetadata", "ConsumerGroupMetadata"]
    assert "Dead" not in {state_at(group, row["record_time"])[0] for row in tombstones}
    assert None not in {offset for _, offset in filled.commits(group)}


def test_a_migrated_group_has_rebalances_of_both_protocols(
    filled: FilledTables,
) -> None:
    rows = by_time(filled.rows(REBALANCES, group=filled.kinds.migrated), "started_at", "generation")
    told_by = {
        protocol: [(row["generation"], row["members_after"]) for row in rows if row["group_protocol"] == protocol]
        for protocol in ("classic", "consumer")
    }

    joined = [len(row["joined"]) for row in rows if row["group_protocol"] == "consumer"]
    back = next(row for row in rows if row["group_protocol"] == "classic" and row["generation"] > 1)

    assert told_by["consumer"][:2] == [(1, 1), (2, 2)]
    assert joined[:2] == [0, 1]
    assert (back["members_before"], back["joined"], len(back["left"])) == (2, [], 1)
    assert told_by["classic"][0] == (1, 1)
    assert told_by["classic"][-1][1] == 0


def test_a_member_that_stays_when_its_group_goes_back_is_counted(filled: FilledTables, state_at: StateAt) -> None:
    back = filled.events(filled.kinds.migrated, "generation")[-1]

    assert len(back["members"]) == 1
    assert state_at(filled.kinds.migrated, back["record_time"]) == ("Stable", 1)
