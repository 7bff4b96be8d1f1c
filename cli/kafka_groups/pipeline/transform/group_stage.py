"""The second stage: groups, day by day."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.schemas import REBALANCES
from kafka_groups.pipeline.transform.columns import nullable, to_codes, to_floats, to_ints
from kafka_groups.pipeline.transform.group_input import (
    EVENT,
    KEY,
    KEY_FLAGS,
    KEY_NUMBERS,
    KEY_WORST,
    STATE,
    STATUS,
    STATUS_NUMBERS,
    TOPIC,
    TOPIC_NUMBERS,
    events_of,
)
from kafka_groups.pipeline.transform.group_rows import (
    MemberDays,
    StateColumns,
    group_daily_rows,
    group_status_rows,
    lags_of,
)
from kafka_groups.pipeline.transform.kernels.group_days import GroupDay, build_group_days
from kafka_groups.pipeline.transform.kernels.group_state import GroupState
from kafka_groups.pipeline.transform.kernels.group_status import Statuses, combine
from kafka_groups.pipeline.transform.kernels.group_totals import GroupDays, KeyRows, add_up
from kafka_groups.pipeline.transform.kernels.segments import DAY_US, NULL, Ints, first_rows, reduce, saturated_sum
from kafka_groups.pipeline.transform.packed_numbers import unpack
from kafka_groups.pipeline.transform.summary import Summary

_EPOCH: Final = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """The days of a build since 1970, and days before one of them, whose rebalances may end on it."""

    days: Sequence[int]
    days_before: Sequence[int]


@dataclass(frozen=True, slots=True)
class GroupBatch:
    """Rows of whole groups; `group` is the number of each row's group, whose names are `cluster_id` and `name`."""

    table: Any
    cluster_id: Any
    name: Any
    group: Ints
    kind: Ints
    day: Ints

    @classmethod
    def of(cls, rows: Any) -> GroupBatch:
        """Return a table of the stage's input, sorted by cluster, name, kind, day, topic, partition and time."""
        table = rows.combine_chunks()
        (cluster,), _ = to_codes(table["cluster_id"])
        (name,), _ = to_codes(table["name"])
        begins = first_rows(cluster, name)
        first = pa.array(np.flatnonzero(begins))
        return cls(
            table,
            table["cluster_id"].combine_chunks().take(first),
            table["name"].combine_chunks().take(first),
            np.cumsum(begins) - 1,
            to_ints(table["kind"]),
            to_ints(table["day"]),
        )

    def rows(self, kind: int, day: int) -> Ints:
        """Return the places of the rows of that kind and day."""
        return np.flatnonzero((self.kind == kind) & (self.day == day))

    def take(self, name: str, rows: Ints) -> Any:
        """Return a column at those rows."""
        return self.table[name].combine_chunks().take(pa.array(rows))


@dataclass(frozen=True, slots=True)
class GroupResult:
    """A day of a batch of groups: record batches of the derived tables, rows of topics, and states as text."""

    day: int
    group_status: Any
    group_daily: Any
    rebalances: Any
    topics: Mapping[tuple[str, str], tuple[int, int]]  # groups that read it, groups that have a commit on it
    named: frozenset[tuple[str, str]]
    states: Sequence[tuple[str, str, str]]


def transform_groups(batch: GroupBatch, settings: GroupSettings, summary: Summary) -> Iterator[GroupResult]:
    """Yield the results of each day, and of a day before one of them the rebalances alone."""
    members = _member_days(batch, settings)
    for day in sorted((*settings.days_before, *settings.days)):
        found = members.get(day, {})
        rebalances = _rebalance_rows(batch, found)
        if day in settings.days_before:
            yield GroupResult(day, None, None, rebalances, {}, frozenset(), ())
            continue
        yield _transform_day(batch, day, found, rebalances, summary)


def _member_days(batch: GroupBatch, settings: GroupSettings) -> dict[int, dict[int, GroupDay]]:
    """Return by day what events say of each group that has events or a state."""
    found: dict[int, dict[int, GroupDay]] = {}
    wanted = [_EPOCH + timedelta(days=day) for day in sorted((*settings.days_before, *settings.days))]
    of_events, of_states = (np.flatnonzero(batch.kind == kind) for kind in (EVENT, STATE))
    events = events_of(batch.table.take(pa.array(of_events)))
    states = dict(zip(batch.group[of_states].tolist(), batch.take("payload", of_states).to_pylist(), strict=True))
    groups = batch.group[of_events]
    for group in sorted({*np.unique(groups).tolist(), *states}):
        first, last = np.searchsorted(groups, [group, group + 1])
        mine = events.slice(first, last - first)
        state = GroupState.from_json(states[group]) if group in states else GroupState()
        for one in build_group_days(state, mine, wanted):
            found.setdefault((one.date - _EPOCH).days, {})[group] = one
    return found


def _rebalance_rows(batch: GroupBatch, found: Mapping[int, GroupDay]) -> Any:
    schema = REBALANCES.arrow()
    names = [(batch.cluster_id[group].as_py(), batch.name[group].as_py(), one) for group, one in found.items()]
    rows = [
        {"cluster_id": cluster, "group": group, **rebalance._asdict()}
        for cluster, group, one in names
        for rebalance in one.rebalances
    ]
    columns = []
    for field in schema:
        values = [row[field.name] for row in rows]
        is_time = pa.types.is_timestamp(field.type)
        columns.append(pa.array(values, pa.int64()).view(field.type) if is_time else pa.array(values, field.type))
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _transform_day(
    batch: GroupBatch, day: int, found: Mapping[int, GroupDay], rebalances: Any, summary: Summary
) -> GroupResult:
    whole = combine(_statuses(batch, day), day * DAY_US)
    names = (batch.cluster_id, batch.name)
    status = group_status_rows(names, whole, _states_at(found, whole.group, whole.at_us))
    keys, topics, texts = _key_rows(batch, day, summary)
    days = add_up(keys)
    clusters = batch.cluster_id.take(pa.array(days.group)).to_pylist()
    read_us = np.array([summary.days[cluster, day].record_us for cluster in clusters], np.int64)
    daily = group_daily_rows(
        names,
        pa.array(texts, pa.string()),
        day,
        days,
        lags_of(days.group, whole),
        _members(days, found, read_us),
        read_us,
    )
    states = [
        (batch.cluster_id[group].as_py(), batch.name[group].as_py(), one.state.to_json())
        for group, one in found.items()
    ]
    named = frozenset((batch.cluster_id[group].as_py(), topic) for group, one in found.items() for topic in one.topics)
    return GroupResult(day, status, daily, rebalances, _readers(batch, keys, topics, texts), named, states)


def _statuses(batch: GroupBatch, day: int) -> Statuses:
    rows = batch.rows(STATUS, day)
    (topic,), _ = to_codes(batch.take("topic", rows))
    code = np.cumsum(first_rows(batch.group[rows], topic, to_ints(batch.take("partition", rows))), dtype=np.int64)
    numbers: dict[str, Any] = {}
    for name in STATUS_NUMBERS:
        column = batch.take(name, rows)
        numbers[name] = to_floats(column) if pa.types.is_floating(column.type) else to_ints(column)
    numbers["is_complete"] = numbers["is_complete"] == 1
    return Statuses(group=batch.group[rows], partition=code, **numbers)


def _states_at(found: Mapping[int, GroupDay], group: Ints, at_us: Ints) -> StateColumns:
    """Return states and members of the groups at those times; rows of a group lie together."""
    if not len(group):
        return StateColumns(pa.nulls(0, pa.string()), pa.nulls(0, pa.int32()))
    limits = [*np.flatnonzero(first_rows(group)).tolist(), len(group)]
    states, members = [], []
    for first, last in pairwise(limits):
        one = found.get(int(group[first]))
        if one is None:
            states.append(pa.nulls(last - first, pa.string()))
            members.append(pa.nulls(last - first, pa.int32()))
            continue
        of_group, number = one.timeline.at_times(at_us[first:last])
        states.append(of_group)
        members.append(number)
    return StateColumns(pa.concat_arrays(states), pa.concat_arrays(members))


def _key_rows(batch: GroupBatch, day: int, summary: Summary) -> tuple[KeyRows, Ints, list[str]]:
    rows = batch.rows(KEY, day)
    (topic,), texts = to_codes(batch.take("topic", rows))
    group = batch.group[rows]
    begins = first_rows(group, topic)
    clusters = batch.cluster_id.take(pa.array(group[begins])).to_pylist()
    each = [
        summary.quiet.get((cluster, texts[place], day), 0)
        for cluster, place in zip(clusters, topic[begins].tolist(), strict=True)
    ]
    quiet = np.array(each, np.int64)[np.cumsum(begins) - 1]
    found: dict[str, Any] = {"group": group, "topic": topic, "quiet": quiet}
    names = (*KEY_NUMBERS, *KEY_FLAGS, *KEY_WORST)
    for name, values in zip(names, unpack(batch.take("payload", rows), len(names), ())[0], strict=True):
        found[name] = values.astype(np.bool_) if name in KEY_FLAGS else values
    return KeyRows(**found), topic, texts


def _members(days: GroupDays, found: Mapping[int, GroupDay], read_us: Ints) -> MemberDays:
    size = len(days.group)
    most, count, taken = (np.full(size, NULL) for _ in range(3))
    has = np.zeros(size, np.bool_)
    for place, group in enumerate(days.group.tolist()):
        one = found.get(group)
        # Samples show no rebalance, so their absence says nothing.
        is_told = read_us[place] != NULL and (one is None or not one.has_no_rebalances)
        count[place], taken[place] = (0, 0) if is_told else (NULL, NULL)
        if one is None:
            continue
        most[place] = NULL if one.timeline.members_max is None else one.timeline.members_max
        has[place] = one.timeline.has_members
        if one.rebalances:
            count[place] = len(one.rebalances)
            known = [each.duration_ms for each in one.rebalances if each.duration_ms is not None]
            taken[place] = sum(known) if known else taken[place]
    return MemberDays(most, has, count, taken)


def _readers(
    batch: GroupBatch, keys: KeyRows, topic: Ints, texts: Sequence[str]
) -> dict[tuple[str, str], tuple[int, int]]:
    """Return for each (cluster, topic) how many of the batch's groups read it that day, and how many have a commit."""
    found: dict[tuple[str, str], tuple[int, int]] = {}
    if not len(topic):
        return found
    begins = first_rows(keys.group, topic)
    has_read = np.logical_or.reduceat(keys.consumed > 0, np.flatnonzero(begins))
    lives = np.logical_or.reduceat(keys.lives, np.flatnonzero(begins))
    clusters = batch.cluster_id.take(pa.array(keys.group[begins])).to_pylist()
    for cluster, place, reads, has in zip(clusters, topic[begins].tolist(), has_read, lives, strict=True):
        name = cluster, texts[place]
        before = found.get(name, (0, 0))
        found[name] = before[0] + int(reads), before[1] + int(has)
    return found


def topic_parts(batch: GroupBatch, day: int) -> Any:
    """Return (cluster, topic, partitions, grown, last sample) of the topics whose own rows are in the batch."""
    rows = batch.rows(TOPIC, day)
    partitions, grown, sampled_us = unpack(batch.take("payload", rows), len(TOPIC_NUMBERS), ())[0]
    begins = first_rows(batch.group[rows])
    place = pa.array(batch.group[rows][begins])
    is_known = reduce(np.maximum, grown, begins) != NULL
    numbers = (
        reduce(np.add, partitions, begins),
        np.where(is_known, saturated_sum(np.maximum(grown, 0), begins), NULL),
        reduce(np.maximum, sampled_us, begins),
    )
    return [batch.cluster_id.take(place), batch.name.take(place), *map(nullable, numbers)]
