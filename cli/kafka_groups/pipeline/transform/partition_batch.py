"""What the stage of topic partitions takes, whole partitions with the state before them, and what it hands on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.schemas import LAG_HISTORY, PARTITION_STATE
from kafka_groups.pipeline.transform.columns import (
    choose,
    gather_keys,
    millis_of,
    pack,
    to_batch,
    to_ints,
    to_keys,
    to_numbers,
)
from kafka_groups.pipeline.transform.group_rows import KEY, OUTPUT, STATUS, STATUS_NUMBERS, TOPIC, verdict_columns
from kafka_groups.pipeline.transform.kernels.commits import Commits
from kafka_groups.pipeline.transform.kernels.lag import QUALITIES, LagRows
from kafka_groups.pipeline.transform.kernels.log_ends import LogEnds, Observations
from kafka_groups.pipeline.transform.kernels.segments import DAY_US, NULL, Flags, Ints, first_rows
from kafka_groups.pipeline.transform.state import KeyState, KeyStatuses, LogState, read_state, write_state

LOG_STATE, OBSERVATION, KEY_STATE, COMMIT = range(4)
_PARTITION: Final = ("cluster_id", "topic", "partition")
_OFFSETS: Final = ("log_start_offset", "log_end_offset", "last_stable_offset", "point_offset", "point_ms")
# The columns of Observations and of Commits, after the partition or key.
_OBSERVED: Final = ("at_us", "is_record", *_OFFSETS, "topic_id")
_COMMITTED: Final = ("at_us", "source_offset", "is_record", "is_removal", "committed_offset")
# Sorted by the first six and the time: a partition's log comes before its groups (whose name is not null).
INPUT: Final = pa.schema(
    [
        ("cluster_id", pa.string()),
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("group", pa.string()),
        ("kind", pa.int8()),
        ("day", pa.int32()),
        ("at_us", pa.int64()),
        ("source_offset", pa.int64()),
        ("is_record", pa.bool_()),  # of an observation: whether it is a sample
        ("is_removal", pa.bool_()),
        ("committed_offset", pa.int64()),
        *((name, pa.int64()) for name in _OFFSETS),
        ("topic_id", pa.string()),
        ("state", pa.binary()),
    ]
)


@dataclass(frozen=True, slots=True)
class PartitionBatch:
    """Facts by partition and key, each with the number of its day since 1970, and the state before the first one."""

    cluster_id: Any
    topic: Any
    partition: Any
    group: Any  # of each key, as the next two
    partition_of: Ints
    cluster_of: Ints  # the place in `clusters`
    clusters: tuple[str, ...]
    with_log: Flags  # of each partition: false where its log was in the batch before, too
    observations: Observations
    observed_on: Ints
    commits: Commits
    committed_on: Ints
    logs: LogState
    keys: KeyState

    @classmethod
    def of(cls, rows: Any, *, is_continued: bool = False) -> Self:
        """Return a table of INPUT, sorted as said there, as arrays; `is_continued`: its first log was there before."""
        batch = rows.combine_chunks().to_batches()[0]
        begins = first_rows(*(to_keys(batch[name]) for name in _PARTITION))
        partition, kind = np.cumsum(begins) - 1, to_ints(batch["kind"])
        new_key = (kind >= KEY_STATE) & first_rows(partition, to_keys(batch["group"]))
        key = np.cumsum(new_key) - 1

        def columns(wanted: int, owner: Ints, *names: str) -> list[Any]:
            places = np.flatnonzero(kind == wanted)
            return [owner[places], *(_numbers(batch[name].take(pa.array(places))) for name in names)]

        first, first_of_key = pa.array(np.flatnonzero(begins)), pa.array(np.flatnonzero(new_key))
        clusters = batch["cluster_id"].take(first).dictionary_encode()
        *observed, observed_on = columns(OBSERVATION, partition, *_OBSERVED, "day")
        *committed, committed_on = columns(COMMIT, key, *_COMMITTED, "day")
        log_owners, log_states = columns(LOG_STATE, partition, "state")
        key_owners, key_states = columns(KEY_STATE, key, "state")
        nothing = np.zeros(len(committed_on), np.int64)
        return cls(
            **{name: batch[name].take(first) for name in _PARTITION},
            group=batch["group"].take(first_of_key),
            partition_of=partition[new_key],
            cluster_of=to_ints(clusters.indices)[partition[new_key]],
            clusters=tuple(clusters.dictionary.to_pylist()),
            with_log=np.arange(len(first)) >= is_continued,
            observations=Observations(*observed),
            observed_on=observed_on,
            commits=Commits.of([*committed, nothing.astype(np.bool_), nothing]),
            committed_on=committed_on,
            logs=read_state(LogState, log_states, log_owners, len(first)),
            keys=read_state(KeyState, key_states, key_owners, len(first_of_key)),
        )

    def partition_columns(self, places: Any) -> dict[str, Any]:
        """Return the names of the partitions at these places."""
        return {name: getattr(self, name).take(pa.array(places)) for name in _PARTITION}

    def key_columns(self, places: Ints) -> dict[str, Any]:
        """Return the names of the keys at these places."""
        return self.partition_columns(self.partition_of[places]) | {"group": self.group.take(pa.array(places))}


@dataclass(frozen=True, slots=True)
class PartitionDay:
    """The results of a day, and the state at its end."""

    day: int
    ends: LogEnds
    lags: LagRows
    statuses: KeyStatuses
    carried: KeyStatuses  # those that the day before handed on
    removals: Commits
    keys: tuple[Ints, Sequence[Any]]  # the places of those that have a commit, and KEY_NUMBERS of each
    topics: tuple[Ints, Sequence[Any]]  # the places of partitions that were observed, and TOPIC_NUMBERS of each
    log_state: LogState
    key_state: KeyState


def _numbers(column: Any) -> Any:
    """Return a column as a kernel takes it; ids as numbers, which are the same in every batch: states hold them."""
    if pa.types.is_binary(column.type):
        return column
    if pa.types.is_string(column.type):
        encoded = column.dictionary_encode()
        hashes = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in encoded.dictionary.to_pylist()]
        column = pa.array([int.from_bytes(found) >> 1 for found in hashes], pa.int64()).take(encoded.indices)
    return to_numbers(column)


def cut_batches(pieces: Iterator[Any], most_rows: int) -> Iterator[PartitionBatch]:
    """Yield whole partitions from sorted record batches: some `most_rows` rows each, more if one has more.

    A partition that has more comes in parts, each of whole groups and with the log before them.
    """
    before: tuple[Any, Any] = None, None

    def to_arrays(table: Any) -> PartitionBatch:
        nonlocal before
        first, last = ([table[name][at] for name in _PARTITION] for at in (0, -1))
        is_continued = first == before[0]
        if is_continued:
            table = pa.concat_tables([before[1], table])
        # A table that ends within a partition has no other.
        before = last, table.filter(pc.is_null(table["group"])) if first == last else None
        return PartitionBatch.of(table, is_continued=is_continued)

    return map(to_arrays, gather_keys(pieces, _PARTITION, most_rows, parts=("group",)))


def lag_history_rows(batch: PartitionBatch, found: PartitionDay) -> Any:
    """Return the day's rows of lag_history as a record batch."""
    rows, statuses, ends, place = found.lags, found.statuses, found.ends, found.lags.observation
    columns = {
        **batch.key_columns(rows.key),
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


def rows_for_groups(batch: PartitionBatch, found: PartitionDay) -> Iterator[Any]:
    """Yield record batches of OUTPUT from a day of partitions."""

    def to_output(kind: int, columns: dict[str, Any], numbers: dict[str, Any]) -> Any:
        return to_batch(OUTPUT, columns | numbers | {"name": columns["group"], "kind": kind, "day": found.day})

    # The verdicts of the day, the last ones of the day before, and removals.
    statuses, removals = KeyStatuses.join(found.carried, found.statuses), found.removals
    numbers = {name: getattr(statuses, name) for name in STATUS_NUMBERS}
    yield to_output(STATUS, batch.key_columns(statuses.key), numbers)
    yield to_output(STATUS, batch.key_columns(removals.key), {"at_us": removals.at_us})
    keys, key_numbers = found.keys
    yield to_output(KEY, batch.key_columns(keys), {"payload": pack(key_numbers, (), len(keys))})
    partitions, topic_numbers = found.topics
    columns = batch.partition_columns(partitions)
    topics = {"cluster_id": columns["cluster_id"], "group": columns["topic"]}
    yield to_output(TOPIC, topics, {"payload": pack(topic_numbers, (), len(partitions))})


def state_rows(batch: PartitionBatch, found: PartitionDay) -> Iterator[Any]:
    """Yield record batches of partition_state at the end of the day, of logs and of keys."""
    logs = np.flatnonzero(batch.with_log & (found.log_state.totals.fact_day != NULL))
    keys = np.flatnonzero(found.key_state.totals.fact_day != NULL)
    states = (batch.partition_columns(logs), found.log_state, logs), (batch.key_columns(keys), found.key_state, keys)
    for columns, state, places in states:
        state_columns = {"day": found.day * DAY_US, "state": write_state(state).take(pa.array(places))}
        yield to_batch(PARTITION_STATE.arrow(), columns | state_columns)
