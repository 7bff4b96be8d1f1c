"""What the stage of groups takes: rows of the first stage, events, and the state before them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any, Final

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.schemas import GROUP_EVENTS
from kafka_groups.pipeline.storage import NewFile
from kafka_groups.pipeline.transform.columns import nullable, reals_of
from kafka_groups.pipeline.transform.kernels.segments import Flags
from kafka_groups.pipeline.transform.packed_numbers import pack
from kafka_groups.pipeline.transform.partition_batch import Names
from kafka_groups.pipeline.transform.partition_rows import name_columns
from kafka_groups.pipeline.transform.partition_stage import PartitionDay
from kafka_groups.pipeline.transform.state import KeyStatuses

STATE, EVENT, STATUS, KEY, TOPIC, FILE = range(6)
# Numbers of a KEY row, in the order of its payload: what happened to a commit on a day, and the worst of its lag rows.
# `is_quiet`: its partition was observed and did not grow; many clients commit nothing on such a partition.
_OF_DAY: Final = ("consumed", "commits", "moves", "moved_us", "sampled_us", "last_commit_us")
_WORST: Final = ("time_lag_ms", "margin", "last_ms", "last_margin", "left_ms")
KEY_FLAGS: Final = ("has_records", "lives", "is_orphaned", "is_quiet")
KEY_NUMBERS: Final = (*_OF_DAY, *KEY_FLAGS, *_WORST)
# And of a TOPIC row, which is of a partition.
TOPIC_NUMBERS: Final = ("partitions", "grown", "sampled_us")
# Of a STATUS row, without a rank if it is the removal of a commit. Rates are records a second.
STATUS_NUMBERS: Final = (
    *("at_us", "rank", "is_complete", "window_start_ms", "window_end_ms", "lag"),
    *("time_lag_ms", "quality", "consume", "produce", "catch_up_ms"),
)
REALS: Final = ("consume", "produce")
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
        *((name, pa.float64() if name in REALS else pa.int64()) for name in STATUS_NUMBERS),
        ("payload", pa.binary()),
    ]
)
_EVENTS: Final = GROUP_EVENTS.arrow()
_MEMBER: Final = _EVENTS.field("members").type.value_type
_MEMBER_COLUMNS: Final = ("member_id", "group_instance_id", "rebalance_timeout_ms", "topics")
MEMBERS: Final = pa.list_(
    pa.struct([*map(_MEMBER.field, _MEMBER_COLUMNS), ("assignment", pa.list_(pa.struct([("topic", pa.string())])))])
)
# What is read of an event, as it is in group_events.
_EVENT_COLUMNS: Final = (
    *("origin", "source_partition", "source_offset", "type", "event_type", "epoch", "previous_epoch", "member_id"),
    *("member_state", "topics", "group_type", "state"),
)
# The record time of an event is `at_us`; `expression` is `$.regular_expression` of the column `details`.
GROUP_INPUT: Final = pa.schema(
    [
        *OUTPUT,
        *map(_EVENTS.field, _EVENT_COLUMNS),
        ("state_us", pa.int64()),
        ("members", MEMBERS),
        ("expression", pa.string()),
    ]
)


def rows_for_groups(names: Names, found: PartitionDay, *, is_read: Flags, with_logs: Flags) -> Iterator[Any]:
    """Yield record batches of OUTPUT from a day of partitions.

    `is_read` says of which partitions' clusters anything was read on the day: the others have no day. `with_logs` says
    for which partitions the log's own rows are wanted: for one that comes in parts, once.
    """
    # The verdicts of the day, the last ones of the day before, and removals.
    statuses, removals = KeyStatuses.join(found.carried, found.statuses), found.removals
    columns = name_columns(names, statuses.key)
    for name in STATUS_NUMBERS:
        values = getattr(statuses, name)
        columns[name] = reals_of(values) if name in REALS else nullable(values.astype(np.int64))
    yield _batch(STATUS, found.day, columns)
    yield _batch(STATUS, found.day, name_columns(names, removals.key) | {"at_us": pa.array(removals.at_us)})
    keys, worst = found.keys, found.worst
    flags = (keys.has_records, keys.lives, found.is_orphaned, found.is_quiet[names.partition_of])
    numbers = [*(getattr(keys, name) for name in _OF_DAY), *flags, *(getattr(worst, name) for name in _WORST)]
    present = np.flatnonzero(keys.is_present & is_read[names.partition_of])
    payload = pack([values[present] for values in numbers], (), len(present))
    yield _batch(KEY, found.day, name_columns(names, present) | {"payload": payload})
    observed = np.flatnonzero(with_logs & is_read & found.is_observed)
    numbers = [np.ones(len(observed), np.int64), found.grown[observed], found.sampled_us[observed]]
    cluster_id, topic = (column.take(pa.array(observed)) for column in (names.cluster_id, names.topic))
    payload = pack(numbers, (), len(observed))
    yield _batch(TOPIC, found.day, {"cluster_id": cluster_id, "group": topic, "payload": payload})


def file_rows(files: Iterable[NewFile]) -> Any:
    """Return a record batch of OUTPUT with the files that a task wrote."""
    rows = [json.dumps(asdict(file)).encode() for file in files]
    return _batch(FILE, None, {"payload": pa.array(rows, pa.binary())})


def _batch(kind: int, day: int | None, columns: dict[str, Any]) -> Any:
    size = len(next(iter(columns.values())))
    others = {"name": columns.get("group"), "kind": kind, "day": day} | columns
    arrays = []
    for field in OUTPUT:
        found = others.get(field.name)
        arrays.append(found if isinstance(found, pa.Array) else pa.repeat(pa.scalar(found, field.type), size))
    return pa.RecordBatch.from_arrays(arrays, schema=OUTPUT)
