"""Facts of whole topic partitions, with the state before them, as arrays: what one call of the kernels works on."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.transform.columns import gather_keys, to_ints, to_keys, to_numbers
from kafka_groups.pipeline.transform.kernels.commits import Commits
from kafka_groups.pipeline.transform.kernels.log_ends import Observations
from kafka_groups.pipeline.transform.kernels.segments import Ints, first_rows
from kafka_groups.pipeline.transform.state import KeyState, LogState, read_state

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
        ("is_record", pa.bool_()),  # of an observation: whether it is a sample
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
_PARTITION: Final = ("cluster_id", "topic", "partition")
# The columns of Observations and of Commits, after the partition or key.
_OBSERVED: Final = (
    *("at_us", "is_record", "log_start_offset", "log_end_offset", "last_stable_offset", "point_offset", "point_ms"),
    "topic_id",
)
_COMMITTED: Final = ("at_us", "source_offset", "is_record", "is_removal", "committed_offset")


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
        batch = rows.combine_chunks().to_batches()[0]
        begins = first_rows(*(to_keys(batch[name]) for name in _PARTITION))
        partition = np.cumsum(begins) - 1
        is_key = to_ints(batch["kind"]) >= KEY_STATE
        new_key = is_key & first_rows(partition, to_keys(batch["group"]))
        key = np.cumsum(new_key) - 1
        of_kind = [np.flatnonzero(to_ints(batch["kind"]) == kind) for kind in range(4)]
        columns = ["state"], ["day", *_OBSERVED], ["state"], ["day", *_COMMITTED]
        logs, observed, keys, committed = (
            batch.select(names).take(pa.array(places)) for names, places in zip(columns, of_kind, strict=True)
        )
        names = _names(batch, np.flatnonzero(begins), np.flatnonzero(new_key), partition)
        commits = [_numbers(committed[name]) for name in _COMMITTED]
        nothing = np.zeros(len(committed), np.int64)
        return cls(
            names,
            Observations.of([partition[of_kind[OBSERVATION]], *(_numbers(observed[name]) for name in _OBSERVED)]),
            to_ints(observed["day"]),
            Commits.of([key[of_kind[COMMIT]], *commits, nothing.astype(np.bool_), nothing]),
            to_ints(committed["day"]),
            read_state(LogState, logs["state"], partition[of_kind[LOG_STATE]], len(names.partition)),
            read_state(KeyState, keys["state"], key[of_kind[KEY_STATE]], len(names.group)),
        )


def _names(batch: Any, partitions: Ints, keys: Ints, partition: Ints) -> Names:
    cluster_id, topic, number = (batch[name].take(pa.array(partitions)) for name in _PARTITION)
    clusters = cluster_id.dictionary_encode()
    return Names(
        cluster_id=cluster_id,
        topic=topic,
        partition=number,
        group=batch["group"].take(pa.array(keys)),
        partition_of=partition[keys],
        cluster_of=to_ints(clusters.indices),
        clusters=tuple(clusters.dictionary.to_pylist()),
    )


def _numbers(column: Any) -> Any:
    """Return a column as a kernel takes it; ids as numbers, which are the same in every batch: states hold them."""
    if pa.types.is_string(column.type):
        encoded = column.dictionary_encode()
        hashes = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in encoded.dictionary.to_pylist()]
        column = pa.array([int.from_bytes(found) >> 1 for found in hashes], pa.int64()).take(encoded.indices)
    return to_numbers(column)


def cut_batches(pieces: Iterator[Any], most_rows: int) -> Iterator[Any]:
    """Yield tables of whole partitions from sorted record batches: some `most_rows` rows each, more if one has more.

    A partition that has more comes in parts, each of whole groups and with the log before them.
    """
    before: tuple[Any, Any] = None, None

    def with_log(table: Any) -> Any:
        """Return a table that begins within the partition of the table before, with the log that was there."""
        nonlocal before
        first, last = ([table[name][at] for name in _PARTITION] for at in (0, -1))
        if first == before[0]:
            table = pa.concat_tables([before[1], table])
        # A table that ends within a partition has no other.
        before = last, table.filter(pc.is_null(table["group"])) if first == last else None
        return table

    return map(with_log, gather_keys(pieces, _PARTITION, most_rows, parts=("group",)))
