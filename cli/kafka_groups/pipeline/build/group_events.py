"""The events of groups by group and day, in the form that the kernels of groups take."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.kinds import STATES_WITHOUT_MEMBERS
from kafka_groups.pipeline.build.kernels.group_days import DayEvents
from kafka_groups.pipeline.build.kernels.group_records import GroupRecord, log_position
from kafka_groups.pipeline.build.kernels.group_timeline import Timeline
from kafka_groups.pipeline.build.kernels.segments import DAY_US, is_segment_start, segment_maximum
from kafka_groups.pipeline.frames.arrays import Ints, to_ints, to_sorted_codes

# A group is its number, and a day is in days since 1970.
_GroupAndDay = tuple[int, int]
# These fields of a GroupRecord are unchanged columns of EventRows.
_SCALARS: Final = (
    "source_partition",
    "source_offset",
    "at_us",
    "record_name",
    "event_type",
    "epoch",
    "previous_epoch",
    "member_id",
    "member_state",
    "state_us",
    "expression",
)


def read_day_events(events: Any, group: Ints) -> dict[int, dict[int, DayEvents]]:
    """Return the events of each group and day, by the number of the group and by days since 1970.

    `events` is a record batch or a table with the columns of EventRows. Its rows may have any order, and may repeat.
    `group` has the number of each row's group.
    """
    if isinstance(events, pa.Table):
        events = (
            events.combine_chunks().to_batches()[0] if len(events) else pa.RecordBatch.from_pylist([], events.schema)
        )
    is_record = np.asarray(pc.equal(events["origin"], "topic"))
    is_sample = ~is_record
    records = _group_records_by_day(events.filter(pa.array(is_record)), group[is_record])
    samples = dict(_group_samples_by_day(events.filter(pa.array(is_sample)), group[is_sample]))
    events_by_group: dict[int, dict[int, DayEvents]] = defaultdict(dict)
    for group_and_day in records.keys() | samples.keys():
        timeline, topics = samples.get(group_and_day, (Timeline(), frozenset()))
        group_number, day = group_and_day
        events_by_group[group_number][day] = DayEvents(
            records=records.get(group_and_day, ()),
            samples=timeline,
            topics=topics,
        )
    return events_by_group


def _group_records_by_day(events: Any, group: Ints) -> dict[_GroupAndDay, list[GroupRecord]]:
    """Return the records of each group and day, in the order of the log, each once.

    `events` has rows of records only; `group` has the number of each row's group. Days are days since 1970.
    """
    member_ids, join_timeouts_ms = _read_members(events["members"])
    columns: dict[str, list[Any]] = {name: events[name].to_pylist() for name in _SCALARS}
    columns["member_ids"] = member_ids
    columns["join_timeout_ms"] = join_timeouts_ms
    columns["topics"] = _read_topics(events)
    rows = zip(*(columns[name] for name in GroupRecord._fields), strict=True)
    # Two ingests may have read the same record.
    distinct_records = dict.fromkeys(zip(group.tolist(), map(GroupRecord._make, rows), strict=True))
    records_by_day: dict[_GroupAndDay, list[GroupRecord]] = defaultdict(list)
    for group_number, record in sorted(
        distinct_records, key=lambda group_and_record: (*log_position(group_and_record[1]), group_and_record[1].at_us)
    ):
        records_by_day[group_number, record.at_us // DAY_US].append(record)
    return records_by_day


def _read_members(members: Any) -> tuple[list[tuple[str, ...] | None], list[int | None]]:
    """Return for each list of members their sorted ids, and their longest rebalance timeout in ms.

    Both are None for a null list. The timeout is 0 for an empty list. It is also None if no member has a timeout, or if
    there is a static member, which may stay away for longer. `members` must be a column that Arrow has filtered or
    taken: its offsets begin at 0, and null lists do not contain values.
    """
    ids_by_list = list[tuple[str, ...] | None]()
    timeout_by_list_ms = list[int | None]()
    flat_members = members.flatten()
    member_fields = [
        pa.ListArray.from_arrays(members.offsets, flat_members.field(name), mask=members.is_null()).to_pylist()
        for name in ("member_id", "group_instance_id", "rebalance_timeout_ms")
    ]
    for member_ids, instance_ids, member_timeouts_ms in zip(*member_fields, strict=True):
        if member_ids is None:
            ids_by_list.append(None)
            timeout_by_list_ms.append(None)
            continue
        ids_by_list.append(tuple(sorted(member_ids)))
        has_static = any(instance_id is not None for instance_id in instance_ids)
        known_timeouts_ms = [timeout_ms for timeout_ms in member_timeouts_ms if timeout_ms is not None]
        if member_ids and (has_static or not known_timeouts_ms):
            timeout_by_list_ms.append(None)
        else:
            timeout_by_list_ms.append(max(known_timeouts_ms, default=0))
    return ids_by_list, timeout_by_list_ms


def _read_topics(events: Any) -> list[tuple[str, ...]]:
    """Return the sorted topics that each row names: its own topics, and those that its members subscribe to or own.

    A tombstone has no value, so it names no topics. Some brokers write only the ids of topics; their names are null.
    Null lists must not contain values, which holds for rows that Arrow has filtered or taken.
    """
    event_row = pc.list_parent_indices(events["topics"])
    flat_members = events["members"].flatten()
    member_row = pc.list_parent_indices(events["members"])
    subscriptions = flat_members.field("topics")
    assignments = flat_members.field("assignment")
    row_of_name = pa.concat_arrays(
        [
            event_row,
            member_row.take(pc.list_parent_indices(subscriptions)),
            member_row.take(pc.list_parent_indices(assignments)),
        ]
    )
    topic_names = pa.concat_arrays(
        [
            events["topics"].flatten(),
            subscriptions.flatten(),
            assignments.flatten().field("topic"),
        ]
    )
    named_topics = pa.table({"row": row_of_name, "topic": topic_names}).drop_null()
    topics_by_row = [set[str]() for _ in range(len(events))]
    for row, topic in zip(named_topics["row"].to_pylist(), named_topics["topic"].to_pylist(), strict=True):
        topics_by_row[row].add(topic)
    return [tuple(sorted(row_topics)) for row_topics in topics_by_row]


def _group_samples_by_day(events: Any, group: Ints) -> Iterator[tuple[_GroupAndDay, tuple[Timeline, frozenset[str]]]]:
    """Yield for each group and day its sampled states, and the topics assigned in the day's last sample.

    Samples of one time with the same state and number of members count once.
    """
    state_codes, state_names = to_sorted_codes(events["state"])
    at_us = to_ints(events["at_us"])
    # The code of a null state is NULL, which is below 0: it takes the last value, None.
    states = np.array([*state_names, None], np.object_)[np.where(state_codes >= 0, state_codes, -1)]
    # A sample of a group without members has no list of members either.
    listed_counts = to_ints(pc.list_value_length(events["members"]))
    member_counts = np.where(np.isin(states, STATES_WITHOUT_MEMBERS), 0, listed_counts)
    order = np.lexsort((member_counts, state_codes, at_us, group))
    order = order[is_segment_start(group[order], at_us[order], state_codes[order], member_counts[order])]
    group = group[order]
    at_us = at_us[order]
    days = at_us // DAY_US
    timeline = Timeline(at_us, states[order], member_counts[order])
    topics = defaultdict[_GroupAndDay, set[str]](set)
    newest_samples = np.flatnonzero(at_us == segment_maximum(at_us, group, days))
    for index, assigned_topics in zip(
        newest_samples.tolist(), _read_topics(events.take(pa.array(order[newest_samples]))), strict=True
    ):
        topics[int(group[index]), int(days[index])].update(assigned_topics)
    first_samples = np.flatnonzero(is_segment_start(group, days)).tolist()
    for first, end in pairwise([*first_samples, len(group)]):
        group_and_day = int(group[first]), int(days[first])
        day_rows = slice(first, end)
        samples = Timeline(timeline.times[day_rows], timeline.states[day_rows], timeline.member_counts[day_rows])
        yield group_and_day, (samples, frozenset(topics[group_and_day]))
