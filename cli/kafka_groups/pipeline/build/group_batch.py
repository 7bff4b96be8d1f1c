"""A batch of groups: rows from the partition stage, events, and the state before the first day."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.build.frames import PartitionStatuses
from kafka_groups.pipeline.build.group_events import read_day_events
from kafka_groups.pipeline.build.group_frames import KeyDays
from kafka_groups.pipeline.build.kernels.group_daily import GroupedKeyDays
from kafka_groups.pipeline.build.kernels.group_days import DayEvents
from kafka_groups.pipeline.build.kernels.group_status import StatusesByGroup
from kafka_groups.pipeline.build.kernels.segments import is_segment_start
from kafka_groups.pipeline.build.keyed_tables import sort_rows
from kafka_groups.pipeline.build.packing import columns_of, unpack
from kafka_groups.pipeline.build.stage_rows import GROUP_KEY, RowKind, select_kind, unpack_events
from kafka_groups.pipeline.frames.arrays import Ints, to_codes, to_ints, to_sorted_codes

# The number of idle partitions by cluster, topic and day (days since 1970).
IdlePartitions = Mapping[tuple[str, str, int], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupBatch:
    """All rows of some groups. A group is an index in the Arrow columns `cluster_id` and `group_id`.

    - `states` has by group the state before the first day, as JSON.
    - `events` has the events by group and day (days since 1970).
    - `stage_rows` is a table of StageRows, sorted by group, kind, day, topic and partition.
    """

    cluster_id: Any
    group_id: Any
    states: Mapping[int, str]
    events: Mapping[int, Mapping[int, DayEvents]]
    stage_rows: Any
    group_of_row: Ints

    @classmethod
    def from_rows(cls, rows: Any) -> Self:
        """Return the batch of a table of StageRows with all rows of its groups, in any order.

        Their kinds are GROUP_STATE (at most one for each group), EVENTS, STATUSES and KEY_DAYS.
        """
        stage_rows = sort_rows(rows, (*GROUP_KEY, "kind", "day", "topic", "partition")).combine_chunks()
        is_start = is_segment_start(*(to_codes(stage_rows[name]) for name in GROUP_KEY))
        group_number = np.cumsum(is_start) - 1
        first_rows = stage_rows.take(pa.array(np.flatnonzero(is_start)))
        state_rows, state_indices = select_kind(stage_rows, RowKind.GROUP_STATE)
        states = [payload.decode() for payload in state_rows["payload"].to_pylist()]
        event_rows, event_indices = select_kind(stage_rows, RowKind.EVENTS)
        events, payload_of_event = unpack_events(event_rows["payload"])
        return cls(
            cluster_id=first_rows["cluster_id"].combine_chunks(),
            group_id=first_rows["group"].combine_chunks(),
            states=dict(zip(group_number[state_indices].tolist(), states, strict=True)),
            events=read_day_events(events, group_number[event_indices][payload_of_event]),
            stage_rows=stage_rows,
            group_of_row=group_number,
        )

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.group_id)

    def group_columns(self, groups: Ints) -> dict[str, Any]:
        """Return the columns of GROUP_KEY, as Arrow columns, for these groups."""
        indices = pa.array(groups, pa.int64())
        return {"cluster_id": self.cluster_id.take(indices), "group": self.group_id.take(indices)}

    def read_statuses(self, day: int) -> StatusesByGroup:
        """Return the statuses of partitions that `combine_statuses` takes for a day (days since 1970), in any order.

        A group is its number in this batch; numbers of partitions hold for this result only.
        """
        rows, group = self._select(RowKind.STATUSES, day)
        partition_of_row: Ints = np.cumsum(
            is_segment_start(group, to_codes(rows["topic"]), to_codes(rows["partition"]))
        )
        (unpacked_statuses,) = unpack(rows["payload"], [columns_of(PartitionStatuses, "key")])
        partition = partition_of_row[unpacked_statuses.owner]
        return StatusesByGroup(
            group=group[unpacked_statuses.owner],
            partition=partition,
            statuses=PartitionStatuses(key=partition, **unpacked_statuses.columns),
        )

    def read_key_days(self, day: int, idle_partitions: IdlePartitions) -> tuple[GroupedKeyDays, Any]:
        """Return the rows of KeyDays of a day (days since 1970), and the names of their topics.

        A group is its number in this batch, a topic its index in the names, which are a sorted Arrow column.
        """
        rows, group = self._select(RowKind.KEY_DAYS, day)
        topic_index, topic_names = to_sorted_codes(rows["topic"])
        cluster_ids = self.cluster_id.to_pylist()
        idle_counts = [
            idle_partitions.get((cluster_ids[group_number], topic_names[topic_number], day), 0)
            for group_number, topic_number in zip(group.tolist(), topic_index.tolist(), strict=True)
        ]
        (key_days,) = unpack(rows["payload"], [columns_of(KeyDays)])
        grouped_key_days = GroupedKeyDays(
            group=group,
            topic=topic_index,
            idle_partitions=np.array(idle_counts, np.int64),
            key_days=KeyDays(**key_days.columns),
        )
        return grouped_key_days, pa.array(topic_names, pa.string())

    def _select(self, kind: RowKind, day: int) -> tuple[Any, Ints]:
        """Return the rows of a kind and a day, and the group of each."""
        rows, indices = select_kind(self.stage_rows, kind)
        day_indices = np.flatnonzero(to_ints(rows["day"]) == day)
        return rows.take(pa.array(day_indices)), self.group_of_row[indices][day_indices]
