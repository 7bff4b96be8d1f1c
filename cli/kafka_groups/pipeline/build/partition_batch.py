"""What the stage of topic partitions takes, whole partitions with the state before them, and what it hands on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from operator import methodcaller
from typing import Any, Final, Self, get_type_hints

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.build import arrays
from kafka_groups.pipeline.build.group_rows import KEY, OUTPUT, STATUS, TOPIC, status_columns
from kafka_groups.pipeline.build.kernels.lag_rows import LagRows, Points, Recent
from kafka_groups.pipeline.build.kernels.offset_history import Commits, KeyTotals, LogEnds, LogTotals
from kafka_groups.pipeline.build.kernels.segments import DAY_US, NULL, Flags, Ints, first_rows, take
from kafka_groups.pipeline.build.kernels.verdicts import KeyStatuses, Known
from kafka_groups.pipeline.tables import LAG_HISTORY, PARTITION_STATE

LOG_STATE, OBSERVATION, KEY_STATE, COMMIT = range(4)
PARTITION: Final = ("cluster_id", "topic", "partition")
OFFSETS: Final = ("log_start_offset", "log_end_offset", "last_stable_offset", "point_offset")
# The columns of LogEnds and of Commits that are read, after the partition or key.
_OBSERVED: Final = ("at_us", "is_record", *OFFSETS, "point_ms", "topic_id")
_COMMITTED: Final = ("at_us", "source_offset", "is_record", "is_removal", "committed_offset")
# Sorted by the first six and the time: a partition's log comes before its groups (whose name is not null).
INPUT: Final = pa.schema(
    [
        *(("cluster_id", pa.string()), ("topic", pa.string()), ("partition", pa.int32()), ("group", pa.string())),
        *(("kind", pa.int8()), ("day", pa.int32()), ("at_us", pa.int64()), ("source_offset", pa.int64())),
        ("is_record", pa.bool_()),  # of an observation: whether it is a sample
        *(("is_removal", pa.bool_()), ("committed_offset", pa.int64())),
        *((name, pa.int64()) for name in (*OFFSETS, "point_ms")),
        *(("topic_id", pa.string()), ("state", pa.binary())),
    ]
)

# What makes numbers of 64 bits a column, by the type of the field.
_FROM_NUMBERS: Final[Any] = {"Ints": np.asarray, "Flags": np.bool_, "Floats": methodcaller("view", np.float64)}


@dataclass(frozen=True, slots=True)
class _State:
    """The state of owners, whose numbers are the places in the totals; all else is rows by owner.

    It holds what the kernels look back at, so a build reads only the days that changed and the state before them.
    """

    totals: Any

    @classmethod
    def read(cls, size: int, owner: Ints, column: Any) -> Self:
        """Return the state of `size` owners from binary values, which are of `owner`, in ascending order."""
        totals, *others = get_type_hints(cls).values()
        numbers, lists = arrays.unpack(column, len(fields(totals)), [len(fields(other)) - 1 for other in others])
        rows = map(_typed, others, ([owner[place], *columns] for place, columns in lists))
        places = np.full(size, -1)
        places[owner] = np.arange(len(owner))
        return cls(_totals_at(_typed(totals, numbers), places), *rows)

    def write(self) -> Any:
        """Return a column of binary values, one for each owner."""
        totals, *lists = ([*getattr(self, field.name).columns().values()] for field in fields(self))
        return arrays.pack(totals, [(rows[0], rows[1:]) for rows in lists], len(self.totals))

    def without_stale(self, oldest_day: int) -> Self:
        """Return the state without owners that had no fact since that day."""
        is_kept = self.totals.fact_day >= oldest_day
        totals, *lists = (getattr(self, field.name) for field in fields(self))
        rows = [each.where(is_kept[getattr(each, each.names()[0])]) for each in lists]
        return type(self)(_totals_at(totals, np.where(is_kept, np.arange(len(is_kept)), -1)), *rows)


@dataclass(frozen=True, slots=True)
class LogState(_State):
    """The state of partitions."""

    totals: LogTotals
    ends: LogEnds
    points: Points


@dataclass(frozen=True, slots=True)
class KeyState(_State):
    """The state of keys."""

    totals: KeyTotals
    commits: Commits
    entries: Known
    points: Known
    recent: Recent
    status: KeyStatuses


def _typed(kind: Any, columns: Any) -> Any:
    return kind(*(_FROM_NUMBERS[str(field.type)](column) for field, column in zip(fields(kind), columns, strict=True)))


def _totals_at(totals: Any, places: Ints) -> Any:
    """Return the totals at the places; NULL and false where the place is -1."""
    columns = totals.columns().values()
    return type(totals)(*(take(each, places, False if each.dtype == np.bool_ else NULL) for each in columns))


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
    observations: LogEnds
    observed_on: Ints
    commits: Commits
    committed_on: Ints
    logs: LogState
    keys: KeyState

    @classmethod
    def of(cls, rows: Any, *, is_continued: bool = False) -> Self:
        """Return a table of INPUT, sorted as said there, as arrays; `is_continued`: its first log was there before."""
        batch = rows.combine_chunks().to_batches()[0]
        begins = first_rows(*(arrays.to_keys(batch[name]) for name in PARTITION))
        partition, kind = np.cumsum(begins) - 1, arrays.to_ints(batch["kind"])
        new_key = (kind >= KEY_STATE) & first_rows(partition, arrays.to_keys(batch["group"]))
        key = np.cumsum(new_key) - 1

        def rows_of(wanted: int, owner: Ints, names: Iterable[str], *unset: Any) -> list[Any]:
            places = np.flatnonzero(kind == wanted)
            columns = (_numbers(batch[name].take(pa.array(places))) for name in names)
            return [owner[places], *columns, *(np.broadcast_to(type_(0), len(places)) for type_ in unset)]

        first, first_of_key = pa.array(np.flatnonzero(begins)), pa.array(np.flatnonzero(new_key))
        clusters, day = batch["cluster_id"].take(first).dictionary_encode(), arrays.to_ints(batch["day"])
        return cls(
            **{name: batch[name].take(first) for name in PARTITION},
            group=batch["group"].take(first_of_key),
            partition_of=partition[new_key],
            cluster_of=arrays.to_ints(clusters.indices)[partition[new_key]],
            clusters=tuple(clusters.dictionary.to_pylist()),
            with_log=np.arange(len(first)) >= is_continued,
            observations=LogEnds(*rows_of(OBSERVATION, partition, _OBSERVED, np.int64, np.int64, np.bool_, np.bool_)),
            observed_on=day[kind == OBSERVATION],
            commits=Commits(*rows_of(COMMIT, key, _COMMITTED, np.bool_, np.int64)),
            committed_on=day[kind == COMMIT],
            logs=LogState.read(len(first), *rows_of(LOG_STATE, partition, ["state"])),
            keys=KeyState.read(len(first_of_key), *rows_of(KEY_STATE, key, ["state"])),
        )

    def partition_columns(self, places: Any) -> dict[str, Any]:
        """Return the names of the partitions at these places."""
        return {name: getattr(self, name).take(pa.array(places)) for name in PARTITION}

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
    return arrays.to_numbers(column)


def cut_batches(pieces: Iterator[Any], most_rows: int) -> Iterator[PartitionBatch]:
    """Yield whole partitions from sorted record batches: some `most_rows` rows each, more if one has more.

    A partition that has more comes in parts, each of whole groups and with the log before them.
    """
    before: tuple[Any, Any] = None, None

    def to_arrays(table: Any) -> PartitionBatch:
        nonlocal before
        first, last = ([table[name][at] for name in PARTITION] for at in (0, -1))
        is_continued = first == before[0]
        if is_continued:
            table = pa.concat_tables([before[1], table])
        # A table that ends within a partition has no other.
        before = last, table.filter(pc.is_null(table["group"])) if first == last else None
        return PartitionBatch.of(table, is_continued=is_continued)

    return map(to_arrays, arrays.gather_keys(pieces, PARTITION, most_rows, parts=("group",)))


def lag_history_rows(batch: PartitionBatch, found: PartitionDay) -> Any:
    """Return the day's rows of lag_history as a record batch."""
    rows, ends, place = found.lags, found.ends, found.lags.observation
    columns = {
        **batch.key_columns(rows.key),
        **status_columns(found.statuses.columns()),
        "observed_at": rows.at_us,
        "origin": arrays.choose(["backfill", "sample"], ends.is_sample[place]),
        "committed_offset": rows.committed,
        "commit_time": rows.commit_us,
        "commit_origin": arrays.choose(["sample", "topic"], rows.is_commit_record),
        "log_start_offset": ends.log_start[place],
        "log_end_offset": rows.log_end,
        "last_stable_offset": ends.last_stable[place],
        "retention_margin": rows.margin,
    }
    return arrays.to_batch(LAG_HISTORY.arrow(), columns)


def rows_for_groups(batch: PartitionBatch, found: PartitionDay) -> Iterator[Any]:
    """Yield record batches of OUTPUT from a day of partitions."""

    def to_output(kind: int, columns: dict[str, Any], numbers: dict[str, Any]) -> Any:
        return arrays.to_batch(OUTPUT, columns | numbers | {"name": columns["group"], "kind": kind, "day": found.day})

    # The verdicts of the day, the last ones of the day before, and removals.
    statuses, removals = KeyStatuses.join(found.carried, found.statuses), found.removals
    yield to_output(STATUS, batch.key_columns(statuses.key), statuses.columns())
    yield to_output(STATUS, batch.key_columns(removals.key), {"at_us": removals.at_us})
    keys, key_numbers = found.keys
    yield to_output(KEY, batch.key_columns(keys), {"payload": arrays.pack(key_numbers, (), len(keys))})
    partitions, topic_numbers = found.topics
    columns = batch.partition_columns(partitions)
    topics = {"cluster_id": columns["cluster_id"], "group": columns["topic"]}
    yield to_output(TOPIC, topics, {"payload": arrays.pack(topic_numbers, (), len(partitions))})


def state_rows(batch: PartitionBatch, found: PartitionDay) -> Iterator[Any]:
    """Yield record batches of partition_state at the end of the day, of logs and of keys."""
    logs = np.flatnonzero(batch.with_log & (found.log_state.totals.fact_day != NULL))
    keys = np.flatnonzero(found.key_state.totals.fact_day != NULL)
    states = (batch.partition_columns(logs), found.log_state, logs), (batch.key_columns(keys), found.key_state, keys)
    for columns, state, places in states:
        state_columns = {"day": found.day * DAY_US, "state": state.write().take(pa.array(places))}
        yield arrays.to_batch(PARTITION_STATE.arrow(), columns | state_columns)
