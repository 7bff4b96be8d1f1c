"""What earlier backfills have written of a day."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from kafka_groups.model import TopicPartition
from kafka_groups.pipeline.schemas import PARTITION_OFFSETS
from kafka_groups.pipeline.storage import DataFile, Storage
from kafka_groups.pipeline.storage.layout import BACKFILL
from kafka_groups.pipeline.storage.storage_errors import as_storage_error

ORIGIN: Final = "backfill"
_US: Final = 1_000  # microseconds a millisecond
_PARTITIONS: Final = 2**32

Flags = np.ndarray[tuple[int], np.dtype[np.bool]]
Numbers = np.ndarray[tuple[int], np.dtype[np.int64]]


def looked_up(storage: Storage, cluster_id: str, times: range, partitions: Sequence[TopicPartition]) -> Flags:
    """Return for each of the partitions, and for each of the day's times of it, whether there is a row.

    `times` are milliseconds since 1970, all of one day (UTC). StorageError if the tables cannot be read.
    """
    found = np.zeros((len(partitions), len(times)), np.bool_)
    if paths := [file.path for file in _files(storage, times)]:
        places = _Places(partitions)
        with as_storage_error("read the tables", storage.into):
            for rows in _rows(storage, paths, cluster_id, partitions):
                place, index = places.of(rows), _indexes(rows["observed_at"], times)
                is_asked = (place >= 0) & (index >= 0)
                found[place[is_asked], index[is_asked]] = True
    return found.ravel()


def _files(storage: Storage, times: range) -> list[DataFile]:
    day = datetime.fromtimestamp(times[0] / 1000, UTC).date().isoformat()
    files = storage.files(PARTITION_OFFSETS, [day])
    # `compact` leaves batches of backfills alone, so their rows are in no other.
    return [file for file in files if file.batch.startswith(BACKFILL)]


def _dataset(storage: Storage, paths: list[str]) -> Any:
    return ds.dataset(paths, schema=PARTITION_OFFSETS.arrow(), format="parquet", filesystem=storage.place.fs)


def _rows(storage: Storage, paths: list[str], cluster_id: str, partitions: Sequence[TopicPartition]) -> Any:
    names = [partition.topic for partition in partitions]
    topic = ds.field("topic")
    wanted = (ds.field("cluster_id") == cluster_id) & (topic >= min(names)) & (topic <= max(names))
    return _dataset(storage, paths).to_batches(columns=["topic", "partition", "observed_at"], filter=wanted)


def _indexes(observed: pa.Array, times: range) -> Numbers:
    """Return where in `times` each one is; -1 for those that are not in it."""
    micros = observed.cast(pa.int64()).to_numpy(zero_copy_only=False)
    index, rest = np.divmod(micros - times[0] * _US, times.step * _US)
    return np.where((rest == 0) & (index >= 0) & (index < len(times)), index, -1)


class _Places:
    """Where in a list of partitions those of rows are."""

    def __init__(self, partitions: Sequence[TopicPartition]) -> None:
        self._topics = {name: at for at, name in enumerate(dict.fromkeys(each.topic for each in partitions))}
        codes = np.array([self._topics[topic] * _PARTITIONS + number for topic, number in partitions], np.int64)
        self._order = np.argsort(codes)
        self._sorted = codes[self._order]

    def of(self, rows: pa.RecordBatch) -> Numbers:
        """Return a place for each row; -1 where its partition is not in the list."""
        topics = rows["topic"].dictionary_encode()
        known = np.array([self._topics.get(name, -1) for name in topics.dictionary.to_pylist()], np.int64)
        codes = known[topics.indices.to_numpy()] * _PARTITIONS + rows["partition"].to_numpy()
        at = np.minimum(np.searchsorted(self._sorted, codes), len(self._sorted) - 1)
        return np.where(self._sorted[at] == codes, self._order[at], -1)
