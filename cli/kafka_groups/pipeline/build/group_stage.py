"""The second stage: groups, day by day."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.build import group_rows
from kafka_groups.pipeline.build.arrays import to_batch, to_codes, to_ints, to_keys, to_numbers, unpack
from kafka_groups.pipeline.build.fact_rows import Summary
from kafka_groups.pipeline.build.frames import EventRows
from kafka_groups.pipeline.build.group_events import read_day_events
from kafka_groups.pipeline.build.group_rows import Columns, combine, group_daily_rows, group_status_rows
from kafka_groups.pipeline.build.kernels import segments
from kafka_groups.pipeline.build.kernels.group_days import GroupDay, build_group_days
from kafka_groups.pipeline.build.kernels.group_timeline import UNKNOWN
from kafka_groups.pipeline.build.kernels.segments import DAY_US, NULL, Ints, first_rows, reduce
from kafka_groups.pipeline.build.partition_stage import Settings
from kafka_groups.pipeline.tables import GROUP_DAILY, GROUP_STATE, GROUP_STATUS, REBALANCES, Table

# What a task of groups hands to the driver: what its groups and its rows of a topic add up to, or a file (NewFile).
RESULT: Final = pa.schema(
    [
        *(("cluster_id", pa.string()), ("topic", pa.string()), ("day", pa.int32())),
        *((name, pa.int64()) for name in ("readers", "committed", "partitions", "grown", "sampled_us")),
        *(("is_named", pa.bool_()), ("file", pa.binary())),
    ]
)
_SUMS: Final = [(name, "max" if name in {"sampled_us", "is_named"} else "sum") for name in RESULT.names[3:-1]]
_WITHOUT_EVENTS: Final = next(build_group_days(None, {}, [0]))


class GroupBatch:
    """Rows of whole groups; `group` is the number of each row's group, whose names are columns of `names`."""

    def __init__(self, rows: Any) -> None:
        """Take a table of GROUP_INPUT, sorted by cluster, name, kind, day, topic, partition and time."""
        (table,) = rows.combine_chunks().to_batches()
        begins = first_rows(*(to_keys(table[name]) for name in ("cluster_id", "name")))
        first = pa.array(np.flatnonzero(begins))
        self.table, self.group = table, np.cumsum(begins) - 1
        self.kind, self.day = to_ints(table["kind"]), to_ints(table["day"])
        self.names = {"cluster_id": table["cluster_id"].take(first), "group": table["name"].take(first)}
        self.clusters = self.names["cluster_id"].to_pylist()

    def rows(self, kind: int, columns: Sequence[str], day: int | None = None) -> tuple[Ints, Any]:
        """Return the groups of the rows of that kind, and some columns; of a day or of all."""
        places = np.flatnonzero((self.kind == kind) & (True if day is None else self.day == day))
        return self.group[places], self.table.select(columns).take(pa.array(places))


def transform_groups(
    batch: GroupBatch, settings: Settings, summary: Summary
) -> Iterator[tuple[int, dict[Table, Any], Any]]:
    """Yield days with record batches by table, and rows of RESULT: of `days_before` the rebalances alone."""
    names, groups = batch.names, batch.names["group"].to_pylist()
    for day, of_day in _build_group_days(batch, sorted((*settings.days_before, *settings.days))).items():
        rebalances = [
            {"cluster_id": batch.clusters[group], "group": groups[group]} | rebalance._asdict()
            for group, one in of_day.items()
            for rebalance in one.rebalances
        ]
        yield day, {REBALANCES: pa.RecordBatch.from_pylist(rebalances, REBALANCES.arrow())}, RESULT.empty_table()
        if day in settings.days_before:
            continue
        statuses, (keys, topics) = combine(_statuses(batch, day), day), _keys(batch, day, summary)
        counts = _count_members(batch, of_day, day, summary)
        left = {name: column.take(pa.array([*of_day], pa.int64())) for name, column in names.items()}
        left |= {"day": day * DAY_US, "state": pa.array([one.state for one in of_day.values()], pa.string())}
        tables = {
            GROUP_STATUS: group_status_rows(names, statuses, *_states_at(of_day, statuses["group"], statuses["at_us"])),
            GROUP_DAILY: group_daily_rows(names, topics, day, keys, statuses, counts),
            GROUP_STATE: to_batch(GROUP_STATE.arrow(), left),
        }
        yield day, tables, _topic_rows(batch, of_day, day, keys, topics)


def _build_group_days(batch: GroupBatch, days: Sequence[int]) -> dict[int, dict[int, GroupDay]]:
    """Return by day what events say of each group that has events or a state."""
    found: dict[int, dict[int, GroupDay]] = {day: {} for day in days}
    owner, rows = batch.rows(group_rows.STATE, ["payload"])
    states = dict(zip(owner.tolist(), rows["payload"].to_pylist(), strict=True))
    owner, rows = batch.rows(group_rows.EVENT, EventRows.names())
    events = read_day_events(rows, owner)
    for group in sorted({*events, *states}):
        for one in build_group_days(states.get(group), events.get(group, {}), days):
            found[one.day][group] = one
    return found


def _statuses(batch: GroupBatch, day: int) -> Columns:
    group, rows = batch.rows(group_rows.STATUS, ["topic", "partition", *group_rows.STATUS_NUMBERS], day)
    partition = np.cumsum(first_rows(group, to_keys(rows["topic"]), to_keys(rows["partition"])))
    numbers = {name: to_numbers(rows[name]) for name in group_rows.STATUS_NUMBERS}
    return numbers | {"group": group, "partition": partition}


def _states_at(found: Mapping[int, GroupDay], group: Ints, at_us: Ints) -> tuple[Any, Ints]:
    """Return states and members of the groups at those times; rows of a group lie together."""
    states, members = np.full(len(group), None, np.object_), np.full(len(group), UNKNOWN)
    for first, last in pairwise([*np.flatnonzero(first_rows(group)).tolist(), len(group)]):
        timeline = found.get(int(group[first]), _WITHOUT_EVENTS).timeline
        states[first:last], members[first:last] = timeline.at_times(at_us[first:last])
    return states, members


def _keys(batch: GroupBatch, day: int, summary: Summary) -> tuple[Columns, Any]:
    """Return the commits of a day, as `group_daily_rows` takes them, and the texts of their topics."""
    group, rows = batch.rows(group_rows.KEY, ["topic", "payload"], day)
    topic, texts = to_codes(rows["topic"])
    of_rows = zip(group.tolist(), topic.tolist(), strict=True)
    quiet = [summary.quiet.get((batch.clusters[owner], texts[place], day), 0) for owner, place in of_rows]
    keys = {"group": group, "topic": topic, "quiet": np.array(quiet, np.int64)}
    keys |= zip(group_rows.KEY_NUMBERS, unpack(rows["payload"], len(group_rows.KEY_NUMBERS), ())[0], strict=True)
    return keys | {name: keys[name] == 1 for name in group_rows.KEY_FLAGS}, pa.array(texts, pa.string())


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
        counts.append((read_us, one.timeline.members_max, *rebalances))
    names = ("read_us", "members_max", "rebalances", "rebalance_ms")
    return dict(zip(names, map(np.array, zip(*counts, strict=True)), strict=True))


def _topic_rows(batch: GroupBatch, found: Mapping[int, GroupDay], day: int, keys: Columns, topics: Any) -> Any:
    """Return rows of RESULT, of topics that groups read or have commits on, that members name, and that are known."""
    cluster_id = batch.names["cluster_id"]
    begins = first_rows(keys["group"], keys["topic"])
    of_keys = {
        "cluster_id": cluster_id.take(pa.array(keys["group"][begins])),
        "topic": topics.take(pa.array(keys["topic"][begins])),
        "readers": reduce(np.logical_or, keys["consumed"] > 0, begins),
        "committed": reduce(np.logical_or, keys["lives"], begins),
    }
    named = [(group, topic) for group, one in found.items() for topic in one.topics]
    of_members = {
        "cluster_id": cluster_id.take(pa.array([group for group, _ in named], pa.int64())),
        "topic": pa.array([topic for _, topic in named], pa.string()),
        "is_named": True,
    }
    owner, rows = batch.rows(group_rows.TOPIC, ["payload"], day)
    partitions, grown, sampled_us = unpack(rows["payload"], len(group_rows.TOPIC_NUMBERS), ())[0]
    begins = first_rows(owner)
    is_known = reduce(np.maximum, grown, begins) != NULL
    of_topics = {
        "cluster_id": cluster_id.take(pa.array(owner[begins])),
        "topic": batch.names["group"].take(pa.array(owner[begins])),
        "partitions": reduce(np.add, partitions, begins),
        "grown": np.where(is_known, segments.saturated_sum(np.maximum(grown, 0), begins), NULL),
        "sampled_us": reduce(np.maximum, sampled_us, begins),
    }
    parts = (to_batch(RESULT, columns | {"day": day}) for columns in (of_keys, of_members, of_topics))
    return add_up(pa.Table.from_batches(parts))


def add_up(rows: Any) -> Any:
    """Return a table of RESULT without files, with one row for each topic and day."""
    found = rows.group_by(["cluster_id", "topic", "day"]).aggregate(_SUMS)
    return found.rename_columns(RESULT.names[:-1]).append_column("file", pa.nulls(len(found), pa.binary()))
