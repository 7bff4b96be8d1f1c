"""Facts of whole topic partitions, with the state before them, as arrays: what one call of the kernels works on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.transform.columns import to_flags, to_ints
from kafka_groups.pipeline.transform.kernels.commits import Commits
from kafka_groups.pipeline.transform.kernels.log_ends import Observations
from kafka_groups.pipeline.transform.kernels.segments import NULL, Ints, first_rows
from kafka_groups.pipeline.transform.state import (
    KeyState,
    LogState,
    read_key_state,
    read_log_state,
)

LOG_STATE, OBSERVATION, KEY_STATE, COMMIT = range(4)
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
        ("is_record", pa.bool_()),
        ("is_removal", pa.bool_()),
        ("committed_offset", pa.int64()),
        ("log_start_offset", pa.int64()),
        ("log_end_offset", pa.int64()),
        ("last_stable_offset", pa.int64()),
        ("point_offset", pa.int64()),
        ("point_ms", pa.int64()),
        ("topic_id", pa.string()),
        ("state", pa.binary()),
    ]
)
_OBSERVED: Final = (
    *("day", "at_us", "is_record", "log_start_offset", "log_end_offset", "last_stable_offset"),
    *("point_offset", "point_ms", "topic_id"),
)
_COMMITTED: Final = ("day", "at_us", "source_offset", "is_record", "is_removal", "committed_offset")


@dataclass(frozen=True, slots=True)
class Names:
    """Names of partitions, and of keys: the group, and the place of the partition."""

    cluster_id: Any
    topic: Any
    partition: Any
    group: Any
    partition_of: Ints
    cluster_of: Ints  # of each partition: the place in `clusters`
    clusters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PartitionBatch:
    """Facts by partition and key, each with the number of its day since 1970, and the state before the first one."""

    names: Names
    observations: Observations
    observed_on: Ints
    commits: Commits
    committed_on: Ints
    logs: LogState
    keys: KeyState

    @classmethod
    def of(cls, rows: Any) -> Self:
        """Return a table of INPUT, sorted as said there and holding whole partitions, as arrays."""
        table = rows.combine_chunks()
        kind = to_ints(table["kind"])
        codes = [_codes(table[name]) for name in ("cluster_id", "topic", "group")]
        begins = first_rows(codes[0], codes[1], to_ints(table["partition"]))
        partition = np.cumsum(begins) - 1
        is_key = kind >= KEY_STATE
        of_keys = np.flatnonzero(is_key)
        new_key = first_rows(partition[of_keys], codes[2][of_keys])
        key = np.full(len(kind), -1)
        key[of_keys] = np.cumsum(new_key) - 1
        places = {each: np.flatnonzero(kind == each) for each in range(4)}
        names = _names(table, begins, of_keys[new_key], partition)
        observed, committed = (
            table.select(columns).take(pa.array(places[each]))
            for each, columns in ((OBSERVATION, _OBSERVED), (COMMIT, _COMMITTED))
        )
        states = [table["state"].take(pa.array(places[each])) for each in (LOG_STATE, KEY_STATE)]
        return cls(
            names,
            _observations(observed, partition[places[OBSERVATION]]),
            to_ints(observed["day"]),
            _commits(committed, key[places[COMMIT]]),
            to_ints(committed["day"]),
            read_log_state(states[0], partition[places[LOG_STATE]], len(names.partition)),
            read_key_state(states[1], key[places[KEY_STATE]], len(names.group)),
        )


def _one(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _codes(column: Any) -> Ints:
    encoded = _one(column).dictionary_encode()
    return to_ints(encoded.indices)


def _names(table: Any, begins: Any, key_rows: Ints, partition: Ints) -> Names:
    rows = table.select(["cluster_id", "topic", "partition"]).take(pa.array(np.flatnonzero(begins)))
    clusters = _one(rows["cluster_id"]).dictionary_encode()
    return Names(
        cluster_id=_one(rows["cluster_id"]),
        topic=_one(rows["topic"]),
        partition=_one(rows["partition"]),
        group=_one(table["group"].take(pa.array(key_rows))),
        partition_of=partition[key_rows],
        cluster_of=to_ints(clusters.indices),
        clusters=tuple(clusters.dictionary.to_pylist()),
    )


def _observations(rows: Any, partition: Ints) -> Observations:
    return Observations(
        partition,
        to_ints(rows["at_us"]),
        to_flags(rows["is_record"]),  # of an observation: whether it is a sample
        to_ints(rows["log_start_offset"]),
        to_ints(rows["log_end_offset"]),
        to_ints(rows["last_stable_offset"]),
        to_ints(rows["point_offset"]),
        to_ints(rows["point_ms"]),
        _id_numbers(rows["topic_id"]),
    )


def _commits(rows: Any, key: Ints) -> Commits:
    return Commits(
        key,
        to_ints(rows["at_us"]),
        to_ints(rows["source_offset"]),
        to_flags(rows["is_record"]),
        to_flags(rows["is_removal"]),
        to_ints(rows["committed_offset"]),
        np.zeros(len(rows), np.bool_),
    )


def _id_numbers(column: Any) -> Ints:
    """Return ids as numbers that are the same in every batch, so that a state can hold them."""
    encoded = _one(column).dictionary_encode()
    numbers = np.array([_number_of(text) for text in encoded.dictionary.to_pylist()], np.int64)
    place = to_ints(encoded.indices)
    return np.where(place == NULL, NULL, numbers[np.maximum(place, 0)] if len(numbers) else NULL)


def _number_of(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) >> 1


def cut_batches(pieces: Any, most_rows: int) -> Any:
    """Yield tables of whole partitions from sorted record batches: some `most_rows` rows each, more if one has more.

    A partition that has more comes in parts, each of whole groups and with the log before them.
    """
    waiting: list[Any] = []
    size, limit = 0, most_rows
    for piece in pieces:
        waiting.append(piece)
        size += piece.num_rows
        if size < limit:
            continue
        cut = list(_cut(pa.Table.from_batches(waiting)))
        waiting = cut.pop().to_batches()
        size = sum(rows.num_rows for rows in waiting)
        # Looking again at each piece would take the square of the time.
        limit = most_rows if cut else size + most_rows // 2
        # The caller that works on a table needs the memory, so nothing else here refers to its rows.
        del piece
        while cut:
            yield cut.pop()
    if size:
        yield pa.Table.from_batches(waiting)


def _cut(table: Any) -> Iterator[Any]:
    """Yield what is complete, if anything is, and the rest."""
    last = table.slice(table.num_rows - 1)
    is_last = pc.and_(
        pc.and_(_equal(table["cluster_id"], last["cluster_id"]), _equal(table["topic"], last["topic"])),
        pc.equal(table["partition"], last["partition"][0]),
    )
    first = int(pc.index(is_last, True).as_py())
    if first:
        yield from (table.slice(0, first), table.slice(first))
        return
    group = last["group"][0].as_py()
    if group is None:
        yield table
        return
    logs = int(pc.sum(pc.is_null(table["group"])).as_py())
    place = int(pc.index(table["group"], group).as_py())
    if place > logs:
        yield table.slice(0, place)
        table = pa.concat_tables([table.slice(0, logs), table.slice(place)])
    yield table


def _equal(column: Any, last: Any) -> Any:
    return pc.equal(column, last[0])
