"""The second stage: groups, day by day."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.schemas import GROUP_DAILY, GROUP_STATE, GROUP_STATUS, REBALANCES, Table
from kafka_groups.pipeline.transform import group_input
from kafka_groups.pipeline.transform.columns import to_batch, to_codes, to_ints, to_keys, to_numbers, unpack
from kafka_groups.pipeline.transform.group_rows import Columns, combine, group_daily_rows, group_status_rows
from kafka_groups.pipeline.transform.kernels.group_days import GroupDay, build_group_days
from kafka_groups.pipeline.transform.kernels.group_events import UNKNOWN, split_days
from kafka_groups.pipeline.transform.kernels.segments import DAY_US, NULL, Ints, first_rows, reduce, saturated_sum
from kafka_groups.pipeline.transform.partition_stage import Settings
from kafka_groups.pipeline.transform.summary import Summary

# What a task of groups hands to the driver: what its groups and its rows of a topic add up to, or a file (NewFile).
RESULT: Final = pa.schema(
    [
        *(("cluster_id", pa.string()), ("topic", pa.string()), ("day", pa.int32())),
        *((name, pa.int64()) for name in ("readers", "committed", "partitions", "grown", "sampled_us")),
        *(("is_named", pa.bool_()), ("file", pa.binary())),
    ]
)
_SUMS: Final = (
    *((name, "sum") for name in ("readers", "committed", "partitions", "grown")),
    *((name, "max") for name in ("sampled_us", "is_named")),
)
_WITHOUT_EVENTS: Final = next(build_group_days(None, {}, [0]))


@dataclass(frozen=True, slots=True)
class GroupBatch:
    """Rows of whole groups; `group` is the number of each row's group, whose names are columns of `names`."""

    table: Any
    names: dict[str, Any]
    clusters: Sequence[str]
    group: Ints
    kind: Ints
    day: Ints

    @classmethod
    def of(cls, rows: Any) -> GroupBatch:
        """Return a table of the stage's input, sorted by cluster, name, kind, day, topic, partition and time."""
        (table,) = rows.combine_chunks().to_batches()
        begins = first_rows(*(to_keys(table[name]) for name in ("cluster_id", "name")))
        first = pa.array(np.flatnonzero(begins))
        names = {"cluster_id": table["cluster_id"].take(first), "group": table["name"].take(first)}
        clusters = names["cluster_id"].to_pylist()
        return cls(table, names, clusters, np.cumsum(begins) - 1, to_ints(table["kind"]), to_ints(table["day"]))

    def rows(self, kind: int, day: int) -> Ints:
        """Return the places of the rows of that kind and day."""
        return np.flatnonzero((self.kind == kind) & (self.day == day))

    def take(self, name: str, rows: Ints) -> Any:
        """Return a column at those rows."""
        return self.table[name].take(pa.array(rows))


def transform_groups(
    batch: GroupBatch, settings: Settings, summary: Summary
) -> Iterator[tuple[int, dict[Table, Any], Any]]:
    """Yield each day with its record batches by table, and rows of RESULT: of `days_before` the rebalances alone."""
    days = sorted((*settings.days_before, *settings.days))
    found = _build_group_days(batch, days)
    for day in days:
        tables, topics = {REBALANCES: _rebalance_rows(batch, found[day])}, RESULT.empty_table()
        if day not in settings.days_before:
            others, topics = _transform_day(batch, day, found[day], summary)
            tables |= others
        yield day, tables, topics


def _build_group_days(batch: GroupBatch, days: Sequence[int]) -> dict[int, dict[int, GroupDay]]:
    """Return by day what events say of each group that has events or a state."""
    found: dict[int, dict[int, GroupDay]] = {day: {} for day in days}
    of_events, of_states = (np.flatnonzero(batch.kind == kind) for kind in (group_input.EVENT, group_input.STATE))
    states = dict(zip(batch.group[of_states].tolist(), batch.take("payload", of_states).to_pylist(), strict=True))
    events = split_days(batch.table.take(pa.array(of_events)), batch.group[of_events])
    for group in sorted({*events, *states}):
        for one in build_group_days(states.get(group), events.get(group, {}), days):
            found[one.day][group] = one
    return found


def _rebalance_rows(batch: GroupBatch, found: Mapping[int, GroupDay]) -> Any:
    names = {name: column.to_pylist() for name, column in batch.names.items()}
    rows = [
        {name: column[group] for name, column in names.items()} | rebalance._asdict()
        for group, one in found.items()
        for rebalance in one.rebalances
    ]
    return pa.RecordBatch.from_pylist(rows, REBALANCES.arrow())


def _transform_day(
    batch: GroupBatch, day: int, found: Mapping[int, GroupDay], summary: Summary
) -> tuple[dict[Table, Any], Any]:
    statuses = combine(_statuses(batch, day), day)
    states, members = _states_at(found, statuses["group"], statuses["at_us"])
    keys, topics = _keys(batch, day, summary)
    groups = _count_members(batch, found, day, summary)
    left = {name: column.take(pa.array([*found], pa.int64())) for name, column in batch.names.items()}
    left |= {"day": day * DAY_US, "state": pa.array([one.state for one in found.values()], pa.string())}
    tables = {
        GROUP_STATUS: group_status_rows(batch.names, statuses, states, members),
        GROUP_DAILY: group_daily_rows(batch.names, topics, day, keys, statuses, groups),
        GROUP_STATE: to_batch(GROUP_STATE.arrow(), left),
    }
    of_topics = _read_topics(batch, keys, topics), _named_topics(batch, found), _topic_parts(batch, day)
    return tables, add_up(pa.Table.from_batches([to_batch(RESULT, columns | {"day": day}) for columns in of_topics]))


def _statuses(batch: GroupBatch, day: int) -> Columns:
    rows = batch.rows(group_input.STATUS, day)
    names = [to_keys(batch.take(name, rows)) for name in ("topic", "partition")]
    numbers = {name: to_numbers(batch.take(name, rows)) for name in group_input.STATUS_NUMBERS}
    group = batch.group[rows]
    return numbers | {"group": group, "partition": np.cumsum(first_rows(group, *names))}


def _states_at(found: Mapping[int, GroupDay], group: Ints, at_us: Ints) -> tuple[Any, Ints]:
    """Return states and members of the groups at those times; rows of a group lie together."""
    states, members = np.full(len(group), None, np.object_), np.full(len(group), UNKNOWN)
    for first, last in pairwise([*np.flatnonzero(first_rows(group)).tolist(), len(group)]):
        timeline = found.get(int(group[first]), _WITHOUT_EVENTS).timeline
        states[first:last], members[first:last] = timeline.at_times(at_us[first:last])
    return states, members


def _keys(batch: GroupBatch, day: int, summary: Summary) -> tuple[Columns, Any]:
    """Return the commits of a day, as `group_daily_rows` takes them, and the texts of their topics."""
    rows = batch.rows(group_input.KEY, day)
    topic, texts = to_codes(batch.take("topic", rows))
    group = batch.group[rows]
    begins = first_rows(group, topic)
    quiet = [
        summary.quiet.get((batch.clusters[owner], texts[place], day), 0)
        for owner, place in zip(group[begins].tolist(), topic[begins].tolist(), strict=True)
    ]
    numbers = unpack(batch.take("payload", rows), len(group_input.KEY_NUMBERS), ())[0]
    keys = {"group": group, "topic": topic, "quiet": np.array(quiet, np.int64)[np.cumsum(begins) - 1]}
    keys |= zip(group_input.KEY_NUMBERS, numbers, strict=True)
    return keys | {name: keys[name] == 1 for name in group_input.KEY_FLAGS}, pa.array(texts, pa.string())


def _count_members(batch: GroupBatch, found: Mapping[int, GroupDay], day: int, summary: Summary) -> dict[str, Ints]:
    """Return for each group of the batch what `group_daily_rows` takes of its cluster, members and rebalances."""
    counts = []
    for group, cluster in enumerate(batch.clusters):
        one, read = found.get(group, _WITHOUT_EVENTS), summary.clusters.get((cluster, day))
        read_us = NULL if read is None else read.record_us
        # Samples show no rebalance, so their absence says nothing.
        nothing = NULL if read_us == NULL or one.has_no_rebalances else 0
        durations = [each.duration_ms for each in one.rebalances if each.duration_ms is not None]
        rebalances = len(one.rebalances) or nothing, sum(durations) if durations else nothing
        counts.append((read_us, one.timeline.members_max, one.timeline.has_members, *rebalances))
    names = ("read_us", "members_max", "has_members", "rebalances", "rebalance_ms")
    return dict(zip(names, map(np.array, zip(*counts, strict=True)), strict=True))


def _read_topics(batch: GroupBatch, keys: Columns, topics: Any) -> dict[str, Any]:
    """Return which topics each of the batch's groups reads that day, and on which it has a commit."""
    begins = first_rows(keys["group"], keys["topic"])
    return {
        "cluster_id": batch.names["cluster_id"].take(pa.array(keys["group"][begins])),
        "topic": topics.take(pa.array(keys["topic"][begins])),
        "readers": reduce(np.logical_or, keys["consumed"] > 0, begins),
        "committed": reduce(np.logical_or, keys["lives"], begins),
    }


def _named_topics(batch: GroupBatch, found: Mapping[int, GroupDay]) -> dict[str, Any]:
    """Return the topics that members of each group subscribe to, or have."""
    group = np.repeat(np.array([*found], np.int64), [len(one.topics) for one in found.values()])
    topics = [topic for one in found.values() for topic in one.topics]
    cluster_id = batch.names["cluster_id"].take(pa.array(group))
    return {"cluster_id": cluster_id, "topic": pa.array(topics, pa.string()), "is_named": True}


def _topic_parts(batch: GroupBatch, day: int) -> dict[str, Any]:
    """Return what is known of the topics whose own rows are in the batch."""
    rows = batch.rows(group_input.TOPIC, day)
    partitions, grown, sampled_us = unpack(batch.take("payload", rows), len(group_input.TOPIC_NUMBERS), ())[0]
    begins = first_rows(batch.group[rows])
    is_known = reduce(np.maximum, grown, begins) != NULL
    place = pa.array(batch.group[rows][begins])
    return {
        "cluster_id": batch.names["cluster_id"].take(place),
        "topic": batch.names["group"].take(place),
        "partitions": reduce(np.add, partitions, begins),
        "grown": np.where(is_known, saturated_sum(np.maximum(grown, 0), begins), NULL),
        "sampled_us": reduce(np.maximum, sampled_us, begins),
    }


def add_up(rows: Any) -> Any:
    """Return a table of RESULT without files, with one row for each topic and day."""
    found = rows.group_by(["cluster_id", "topic", "day"]).aggregate([*_SUMS])
    return found.rename_columns(RESULT.names[:-1]).append_column("file", pa.nulls(len(found), pa.binary()))
