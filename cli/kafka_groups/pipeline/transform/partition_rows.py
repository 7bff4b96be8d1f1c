"""What a day of topic partitions becomes: rows of lag_history, rows for the stage of groups, and states."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.schemas import LAG_HISTORY, PARTITION_STATE
from kafka_groups.pipeline.transform.columns import choose, millis_of, pack, to_batch
from kafka_groups.pipeline.transform.group_input import KEY, OUTPUT, STATUS, STATUS_NUMBERS, TOPIC, TOTALS
from kafka_groups.pipeline.transform.kernels.lag import QUALITIES
from kafka_groups.pipeline.transform.kernels.segments import DAY_US, NULL, Flags, Ints
from kafka_groups.pipeline.transform.kernels.verdicts import RULES
from kafka_groups.pipeline.transform.partition_batch import Names
from kafka_groups.pipeline.transform.partition_stage import PartitionDay
from kafka_groups.pipeline.transform.state import KeyStatuses, write_state
from kafka_groups.verdicts import VERDICTS


def _name_columns(names: Names, keys: Ints) -> dict[str, Any]:
    partitions = pa.array(names.partition_of[keys])
    named = {name: getattr(names, name).take(partitions) for name in ("cluster_id", "topic", "partition")}
    return named | {"group": names.group.take(pa.array(keys))}


def verdict_columns(rank: Ints) -> dict[str, Any]:
    """Return the columns of verdicts, which are places in RULES."""
    return {"verdict": choose([VERDICTS[rule] for rule in RULES], rank), "rule": choose(RULES, rank)}


def lag_history_rows(names: Names, found: PartitionDay) -> Any:
    """Return the day's rows of lag_history as a record batch."""
    rows, statuses, ends, place = found.lags, found.statuses, found.ends, found.lags.observation
    columns = {
        **_name_columns(names, rows.key),
        **verdict_columns(statuses.rank),
        "observed_at": rows.at_us,
        "origin": choose(["backfill", "sample"], ends.is_sample[place]),
        "committed_offset": rows.committed,
        "commit_time": rows.commit_us,
        "commit_origin": choose(["sample", "topic"], rows.is_commit_record),
        "log_start_offset": ends.log_start[place],
        "log_end_offset": rows.log_end,
        "last_stable_offset": ends.last_stable[place],
        "lag": rows.lag,
        "time_lag_ms": statuses.time_lag_ms,
        "time_lag_quality": choose(QUALITIES, statuses.quality),
        "consume_rate": statuses.consume,
        "produce_rate": statuses.produce,
        "catch_up_ms": statuses.catch_up_ms,
        "retention_margin": rows.margin,
        "complete": statuses.complete,
        "window_start": millis_of(statuses.window_start_ms),
        "window_end": millis_of(statuses.window_end_ms),
    }
    return to_batch(LAG_HISTORY.arrow(), columns)


def rows_for_groups(names: Names, found: PartitionDay, *, is_read: Flags, with_logs: Flags) -> Iterator[Any]:
    """Yield record batches of OUTPUT from a day of partitions.

    `is_read` says of which partitions' clusters anything was read on the day: the others have no day. `with_logs` says
    for which partitions the log's own rows are wanted: for one that comes in parts, once.
    """

    def batch(kind: int, columns: dict[str, Any]) -> Any:
        return to_batch(OUTPUT, columns | {"name": columns["group"], "kind": kind, "day": found.day})

    # The verdicts of the day, the last ones of the day before, and removals.
    statuses, removals = KeyStatuses.join(found.carried, found.statuses), found.removals
    numbers = {name: getattr(statuses, name) for name in STATUS_NUMBERS}
    yield batch(STATUS, _name_columns(names, statuses.key) | numbers)
    yield batch(STATUS, _name_columns(names, removals.key) | {"at_us": removals.at_us})
    totals = [getattr(found.key_state.totals, name) for name in TOTALS]
    flags = found.is_orphaned, found.is_quiet[names.partition_of]
    of_keys = [*found.keys.columns(), *totals, *flags, *found.worst.columns()]
    present = np.flatnonzero(found.keys.is_present & is_read[names.partition_of])
    payload = pack([values[present] for values in of_keys], (), len(present))
    yield batch(KEY, _name_columns(names, present) | {"payload": payload})
    observed = np.flatnonzero(with_logs & is_read & found.is_observed)
    of_topics = [np.ones(len(observed), np.int64), found.grown[observed], found.sampled_us[observed]]
    cluster_id, topic = (column.take(pa.array(observed)) for column in (names.cluster_id, names.topic))
    yield batch(TOPIC, {"cluster_id": cluster_id, "group": topic, "payload": pack(of_topics, (), len(observed))})


def state_rows(names: Names, found: PartitionDay, with_logs: Flags) -> Iterator[Any]:
    """Yield record batches of partition_state at the end of the day, for logs that are wanted, and for keys."""
    logs = pa.array(np.flatnonzero(with_logs & (found.log_state.totals.fact_day != NULL)))
    keys = np.flatnonzero(found.key_state.totals.fact_day != NULL)
    of_logs = {name: getattr(names, name).take(logs) for name in ("cluster_id", "topic", "partition")}
    for columns, state, rows in (
        (of_logs, found.log_state, logs),
        (_name_columns(names, keys), found.key_state, pa.array(keys)),
    ):
        state_columns = {"day": found.day * DAY_US, "state": write_state(state).take(rows)}
        yield to_batch(PARTITION_STATE.arrow(), columns | state_columns)
