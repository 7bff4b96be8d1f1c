"""Rows that the stage of groups takes, and those of group_status and group_daily: sums over partitions.

Brokers respond at different times, and one may miss a sampling run. So each partition counts with its last row until
its next one, for at most ten minutes, and only until its commit is removed. A partition whose log was truncated below
its commit does not make up for what another has still to read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.build.arrays import choose, millis_of, to_batch, to_lists
from kafka_groups.pipeline.build.kernels import lag_rows, segments
from kafka_groups.pipeline.build.kernels.offset_history import KeyDays
from kafka_groups.pipeline.build.kernels.segments import DAY_US, NULL, Flags, Floats, Ints, first_rows, reduce
from kafka_groups.pipeline.build.kernels.verdicts import RULES, KeyStatuses
from kafka_groups.pipeline.tables import GROUP_DAILY, GROUP_EVENTS, GROUP_STATUS
from kafka_groups.verdicts import VERDICTS

STATE, EVENT, STATUS, KEY, TOPIC, FILE = range(6)
# Numbers of a KEY row, in the order of its payload: what happened to a commit on a day, and the worst of its lag rows.
# `is_quiet`: its partition was observed and did not grow; many clients commit nothing on such a partition.
TOTALS: Final = ("moved_us", "commit_us", "has_records")  # of KeyTotals
KEY_NUMBERS: Final = (*KeyDays.names(), *TOTALS, "is_orphaned", "is_quiet", *lag_rows.Worst.names())
KEY_FLAGS: Final = ("has_records", "lives", "is_orphaned", "is_quiet")
TOPIC_NUMBERS: Final = ("partitions", "grown", "sampled_us")  # of a TOPIC row, which is of a partition
# Of a STATUS row, without a rank if it is the removal of a commit. Rates are records a second.
STATUS_NUMBERS: Final = KeyStatuses.names()[1:]
_REALS: Final = ("complete", "consume", "produce")
# `name` is a group, or a topic where the row is of one. The payload is packed numbers, or a state or a file as JSON.
OUTPUT: Final = pa.schema(
    [
        *(("cluster_id", pa.string()), ("name", pa.string()), ("kind", pa.int8()), ("day", pa.int32())),
        *(("topic", pa.string()), ("partition", pa.int32())),
        *((name, pa.float64() if name in _REALS else pa.int64()) for name in STATUS_NUMBERS),
        ("payload", pa.binary()),
    ]
)
_EVENTS: Final = GROUP_EVENTS.arrow()
_MEMBER: Final = _EVENTS.field("members").type.value_type
_OF_MEMBER: Final = ("member_id", "group_instance_id", "rebalance_timeout_ms", "topics")
_ASSIGNMENT: Final = pa.list_(pa.struct([("topic", pa.string())]))
EVENT_COLUMNS: Final = (  # what is read of an event, as it is in group_events
    *("origin", "source_partition", "source_offset", "type", "event_type", "epoch", "previous_epoch", "member_id"),
    *("member_state", "topics", "group_type", "state"),
)
# The record time of an event is `at_us`; `expression` is `$.regular_expression` of the column `details`.
GROUP_INPUT: Final = pa.schema(
    [
        *(*OUTPUT, *map(_EVENTS.field, EVENT_COLUMNS)),
        *(("state_us", pa.int64()), ("expression", pa.string())),
        ("members", pa.list_(pa.struct([*map(_MEMBER.field, _OF_MEMBER), ("assignment", _ASSIGNMENT)]))),
    ]
)
Columns = dict[str, Any]  # arrays by name; those of rows of a table have one length
_FRESH_MS: Final = 600_000  # a partition that was not observed for longer is not known to be as it was
# Qualities of time lags from the most certain to the least, which stands for a group; it is its own inverse.
_CERTAINTY: Final = np.array(
    [lag_rows.EXACT, lag_rows.INTERPOLATED, lag_rows.LOWER_BOUND, lag_rows.UNKNOWN, lag_rows.DATA_LOSS]
)
_ENOUGH_RECORDS: Final = 1_000  # of fewer a partition may well have most by chance
_LEAST_SECONDS: Final = 60.0  # of a day that has just begun nobody can say more


def combine(rows: Columns, day: int) -> Columns:
    """Return the statuses of groups at the times of a day, by group and time.

    `rows` are those of the day's partitions, and of the ten minutes before: STATUS_NUMBERS, `group` and `partition`.
    `complete` is the share of partitions whose windows are complete, `partitions` the number of those that count.
    """
    early_us = day * DAY_US - 2 * _FRESH_MS * 1_000
    order = np.lexsort((rows["rank"] == NULL, rows["at_us"], rows["partition"], rows["group"]))
    rows = {name: values[order] for name, values in rows.items()}
    group, at_us = rows["group"], rows["at_us"]
    moments, moment = np.unique(segments.merge_key(group, at_us, early_us), return_inverse=True)
    # Until the next row of the partition. A time of the broker counts by its millisecond.
    stale_us = (at_us // 1_000 + _FRESH_MS + 1) * 1_000
    until = np.searchsorted(moments, segments.merge_key(group, stale_us, early_us)) - 1
    following = np.append(moment[1:], 0) - 1
    until = np.where(segments.last_rows(group, rows["partition"]), until, np.minimum(until, following))
    is_verdict = rows["rank"] != NULL
    which, at = segments.expand(moment, np.where(is_verdict, np.maximum(until - moment, 0) + 1, 0))
    time_us = np.zeros(len(moments), np.int64)
    # Times at which commits were removed are not of the table.
    time_us[moment[is_verdict]] = at_us[is_verdict]
    order = np.argsort(at, kind="stable")
    order = order[time_us[at[order]] >= day * DAY_US]
    at, which = at[order], which[order]
    rows, begins = {name: values[which] for name, values in rows.items()}, first_rows(at)
    size = reduce(np.add, np.ones(len(begins), np.int64), begins)
    never = reduce(np.logical_or, (rows["lag"] > 0) & (rows["catch_up_ms"] == NULL), begins)
    return {
        "at_us": time_us[at[begins]],
        "group": rows["group"][begins],
        "partitions": size,
        "complete": reduce(np.add, (rows["complete"] >= 1).astype(np.float64), begins) / size,
        "window_start_ms": _least(rows["window_start_ms"], begins),
        "lag": segments.saturated_sum(np.maximum(rows["lag"], 0), begins),
        "quality": _CERTAINTY[reduce(np.maximum, _CERTAINTY[rows["quality"]], begins)],
        "catch_up_ms": np.where(never, NULL, reduce(np.maximum, rows["catch_up_ms"], begins)),
        **{name: reduce(np.maximum, rows[name], begins) for name in ("rank", "window_end_ms", "time_lag_ms")},
        **{name: reduce(np.add, rows[name], begins) for name in ("consume", "produce")},
    }


def _least(values: Ints, begins: Flags) -> Ints:
    """Return the least known value of each segment; NULL if none is known."""
    found = reduce(np.minimum, np.where(values == NULL, segments.LARGEST, values), begins)
    return np.where(found == segments.LARGEST, NULL, found)


def status_columns(numbers: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that lag_history and group_status have in common, of STATUS_NUMBERS by name."""
    return {
        **{name: numbers[name] for name in ("lag", "time_lag_ms", "catch_up_ms", "complete")},
        **{name: millis_of(numbers[f"{name}_ms"]) for name in ("window_start", "window_end")},
        **{f"{name}_rate": numbers[name] for name in ("consume", "produce")},
        "verdict": choose([VERDICTS[rule] for rule in RULES], numbers["rank"]),
        "rule": choose(RULES, numbers["rank"]),
        "time_lag_quality": choose(lag_rows.QUALITIES, numbers["quality"]),
    }


def group_status_rows(names: Columns, rows: Columns, states: Any, members: Ints) -> Any:
    """Return the rows of group_status from what `combine` returned, and the group's state and members at its times."""
    columns = {
        **rows,
        **{name: column.take(pa.array(rows["group"])) for name, column in names.items()},
        **status_columns(rows),
        "evaluated_at": rows["at_us"],
        "state": pa.array(states, pa.string()),
        "members": np.where(members < 0, NULL, members),
    }
    return to_batch(GROUP_STATUS.arrow(), columns)


def group_daily_rows(names: Columns, topics: Any, day: int, keys: Columns, statuses: Columns, groups: Columns) -> Any:
    """Return the rows of group_daily of a day: of groups that have a commit at its end, or had one that day.

    `keys` are the day's commits by group, topic and partition: KEY_NUMBERS, `group`, `topic` (a place in `topics`) and
    `quiet`, how many partitions of the topic are. `statuses` is what `combine` returned. `groups` has arrays of all
    groups of `names`: the cluster's last record (`read_us`), `Timeline.members_max`, rebalances and their time.
    """
    chosen = {name: values[keys["lives"] | (keys["moves"] > 0)] for name, values in keys.items()}
    begins, of_topic = first_rows(chosen["group"]), first_rows(chosen["group"], chosen["topic"])
    by_topic = first_rows(chosen["group"][of_topic])
    group = chosen["group"][begins]
    mine = {name: values[group] for name, values in (groups | _worst(keys, statuses, len(names["group"]))).items()}
    living = reduce(np.add, chosen["lives"].astype(np.int64), of_topic)
    topic, owner = (chosen[name][of_topic][living > 0] for name in ("topic", "group"))
    last = {name: reduce(np.maximum, chosen[name], begins) for name in ("moved_us", "sampled_us", "commit_us")}
    commits = reduce(np.add, chosen["commits"], begins)
    has_records = reduce(np.logical_or, chosen["has_records"], begins)
    read_us, members = mine["read_us"], mine["members_max"]
    seconds = (read_us // 1_000 - day * DAY_US // 1_000) / 1_000
    looked_us, moved_us = np.maximum(last["sampled_us"], read_us), last["moved_us"]
    has_stood = (looked_us != NULL) & (moved_us != NULL) & (looked_us // 1_000 - moved_us // 1_000 >= DAY_US // 1_000)
    columns = {
        **mine,
        **{name: column.take(pa.array(group)) for name, column in names.items()},
        "day": day * DAY_US,
        "members_max": np.where(members < 0, NULL, members),
        "commits": np.where(has_records, commits, NULL),
        "commit_rate": np.where(has_records & (read_us != NULL), commits / np.maximum(_LEAST_SECONDS, seconds), np.nan),
        "partitions": reduce(np.add, living, by_topic),
        "topics": to_lists(topics.take(pa.array(topic)), np.searchsorted(group, owner), len(group)),
        "messages_consumed": segments.saturated_sum(chosen["consumed"], begins),
        "worst_verdict": choose([VERDICTS[rule] for rule in RULES], mine["rank"]),
        "skew": reduce(np.fmax, _skew(chosen, of_topic), by_topic),
        "last_commit_time": last["commit_us"],
        "is_idle": has_stood & np.isin(members, (0, NULL)),
    }
    return to_batch(GROUP_DAILY.arrow(), columns)


def _worst(keys: Columns, statuses: Columns, size: int) -> dict[str, Ints]:
    """Return what all partitions of each group say, also those whose commits were removed.

    What was last is of partitions that were observed within ten minutes before the group's last observation.
    """
    begins, last_ms = first_rows(keys["group"]), keys["last_ms"]
    is_fresh = (last_ms != NULL) & (segments.highest(last_ms, keys["group"]) - last_ms <= _FRESH_MS)
    of_keys = {
        "max_time_lag_ms": reduce(np.maximum, keys["time_lag_ms"], begins),
        "retention_margin": _least(keys["margin"], begins),
        "last_retention_margin": _least(np.where(is_fresh, keys["last_margin"], NULL), begins),
        "retention_left_ms": _least(np.where(is_fresh, keys["left_ms"], NULL), begins),
        "orphaned_partitions": reduce(np.add, keys["is_orphaned"].astype(np.int64), begins),
    }
    evaluated = first_rows(statuses["group"])
    of_statuses = {
        "max_lag": reduce(np.maximum, statuses["lag"], evaluated),
        "last_lag": statuses["lag"][segments.last_rows(statuses["group"])],
        "rank": reduce(np.maximum, statuses["rank"], evaluated),
    }
    found = {name: np.full(size, NULL) for name in (*of_keys, *of_statuses)}
    for group, columns in ((keys["group"][begins], of_keys), (statuses["group"][evaluated], of_statuses)):
        for name, values in columns.items():
            found[name][group] = values
    return found


def _skew(rows: Columns, of_topic: Flags) -> Floats:
    """Return the largest partition's share of each topic's consumption over the mean share; NaN for small topics."""
    amount = rows["consumed"].astype(np.float64)
    total, largest = reduce(np.add, amount, of_topic), reduce(np.maximum, amount, of_topic)
    quiet = reduce(np.maximum, rows["quiet"], of_topic)
    read = quiet + reduce(np.add, (~rows["is_quiet"]).astype(np.float64), of_topic)
    is_enough = total >= _ENOUGH_RECORDS
    return np.where(is_enough, largest * read / np.where(is_enough, total, 1.0), np.nan)
