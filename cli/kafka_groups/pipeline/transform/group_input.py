"""What the stage of groups takes: rows of the first stage, events, and the state before them."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.transform.columns import nullable
from kafka_groups.pipeline.transform.kernels.group_events import COLUMNS
from kafka_groups.pipeline.transform.kernels.segments import NULL, Ints
from kafka_groups.pipeline.transform.packed_numbers import pack
from kafka_groups.pipeline.transform.partition_batch import Names
from kafka_groups.pipeline.transform.partition_rows import name_columns
from kafka_groups.pipeline.transform.partition_stage import PartitionDay
from kafka_groups.pipeline.transform.state import KeyStatuses

STATE, EVENT, STATUS, KEY, TOPIC, FILE = range(6)
# Numbers of a KEY row and of a TOPIC row, in the order of their payload.
KEY_NUMBERS: Final = ("consumed", "commits", "moves", "moved_us", "sampled_us", "last_commit_us")
KEY_FLAGS: Final = ("has_records", "lives", "is_orphaned", "is_quiet")
KEY_WORST: Final = ("time_lag_ms", "margin", "last_ms", "last_margin", "left_ms")
TOPIC_NUMBERS: Final = ("partitions", "grown", "sampled_us")
# Of a STATUS row, without a rank if it is the removal of a commit.
STATUS_NUMBERS: Final = (
    *("at_us", "rank", "is_complete", "window_start_ms", "window_end_ms", "lag"),
    *("time_lag_ms", "quality", "consume", "produce", "catch_up_ms"),
)
_REALS: Final = ("consume", "produce")
# `name` is a group, or a topic where the row is of a topic. The payload is packed numbers, a state as JSON, or a file
# as JSON.
OUTPUT: Final = pa.schema(
    [
        ("cluster_id", pa.string()),
        ("name", pa.string()),
        ("kind", pa.int8()),
        ("day", pa.int32()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        *((name, pa.float64() if name in _REALS else pa.int64()) for name in STATUS_NUMBERS),
        ("payload", pa.binary()),
    ]
)
MEMBERS: Final = pa.list_(
    pa.struct(
        [
            ("member_id", pa.string()),
            ("group_instance_id", pa.string()),
            ("rebalance_timeout_ms", pa.int32()),
            ("topics", pa.list_(pa.string())),
            ("assignment", pa.list_(pa.struct([("topic", pa.string())]))),
        ]
    )
)
# And what the kernels of groups read of an event (group_events.COLUMNS); its record time is `at_us`.
GROUP_INPUT: Final = pa.schema(
    [
        *OUTPUT,
        ("origin", pa.string()),
        ("source_partition", pa.int32()),
        ("source_offset", pa.int64()),
        ("type", pa.string()),
        ("event_type", pa.string()),
        ("epoch", pa.int32()),
        ("previous_epoch", pa.int32()),
        ("member_id", pa.string()),
        ("member_state", pa.string()),
        ("state_us", pa.int64()),
        ("topics", pa.list_(pa.string())),
        ("members", MEMBERS),
        ("group_type", pa.string()),
        ("state", pa.string()),
        ("expression", pa.string()),
    ]
)
_TIMES: Final = {"record_time": "at_us", "state_time": "state_us"}


def rows_for_groups(names: Names, found: PartitionDay, *, is_read: Any, with_logs: Any) -> Any:
    """Yield record batches of OUTPUT from a day of partitions.

    `is_read` says of which partitions' clusters anything was read on the day: the others have no day. `with_logs` says
    for which partitions the log's own rows are wanted: for one that comes in parts, once.
    """
    yield _batch(_statuses(names, found))
    present = np.flatnonzero(found.keys.is_present & is_read[names.partition_of])
    yield _batch(_keys(names, found, present))
    yield _batch(_topics(names, found, np.flatnonzero(with_logs & is_read)))


def file_rows(files: Any) -> Any:
    """Return a record batch of OUTPUT with the files that a task wrote (NewFile)."""
    rows = [json.dumps(asdict(file)).encode() for file in files]
    return _batch({"kind": pa.array([FILE] * len(rows), pa.int8()), "payload": pa.array(rows, pa.binary())})


def events_of(rows: Any) -> Any:
    """Return rows of GROUP_INPUT as a record batch of the columns that the kernels of groups take."""
    time = pa.timestamp("us", tz="UTC")
    columns = [
        rows[_TIMES[name]].combine_chunks().view(time) if name in _TIMES else rows[name].combine_chunks()
        for name in COLUMNS
    ]
    return pa.RecordBatch.from_arrays(columns, names=list(COLUMNS))


def _batch(columns: dict[str, Any]) -> Any:
    size = len(columns["kind"])
    arrays = [columns[one.name] if one.name in columns else pa.nulls(size, one.type) for one in OUTPUT]
    return pa.RecordBatch.from_arrays(arrays, schema=OUTPUT)


def _statuses(names: Names, found: PartitionDay) -> dict[str, Any]:
    """Return verdicts of the day, the last ones of the day before, and removals."""
    rows, removed = KeyStatuses.join(found.carried, found.statuses), found.removals
    keys = np.concatenate([rows.key, removed.key])
    columns = name_columns(names, keys)
    columns["name"] = columns.pop("group")
    columns["kind"] = pa.array(np.full(len(keys), STATUS, np.int8))
    columns["day"] = pa.array(np.full(len(keys), found.day, np.int32))
    for name in STATUS_NUMBERS:
        values = getattr(rows, name)
        missing = np.full(len(removed), np.nan if name in _REALS else NULL)
        whole = np.concatenate([values, removed.at_us if name == "at_us" else missing])
        columns[name] = pa.array(whole, mask=np.isnan(whole)) if name in _REALS else nullable(whole)
    return columns


def _keys(names: Names, found: PartitionDay, present: Ints) -> dict[str, Any]:
    days = found.keys
    flags = {"has_records": days.has_records, "lives": days.lives, "is_orphaned": found.is_orphaned}
    flags["is_quiet"] = found.is_quiet[names.partition_of]
    columns = [
        *(getattr(days, name)[present] for name in KEY_NUMBERS),
        *(flags[name][present] for name in KEY_FLAGS),
        *(getattr(found.worst, name)[present] for name in KEY_WORST),
    ]
    named = name_columns(names, present)
    size = len(present)
    return {
        "cluster_id": named["cluster_id"],
        "name": named["group"],
        "topic": named["topic"],
        "partition": named["partition"],
        "kind": pa.array(np.full(size, KEY, np.int8)),
        "day": pa.array(np.full(size, found.day, np.int32)),
        "payload": pack(columns, (), size),
    }


def _topics(names: Names, found: PartitionDay, chosen: Ints) -> dict[str, Any]:
    observed = chosen[found.is_observed[chosen]]
    columns = [np.ones(len(observed), np.int64), found.grown[observed], found.sampled_us[observed]]
    place = pa.array(observed)
    return {
        "cluster_id": names.cluster_id.take(place),
        "name": names.topic.take(place),
        "kind": pa.array(np.full(len(observed), TOPIC, np.int8)),
        "day": pa.array(np.full(len(observed), found.day, np.int32)),
        "payload": pack(columns, (), len(observed)),
    }
