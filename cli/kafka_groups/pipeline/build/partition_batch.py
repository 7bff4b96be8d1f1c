"""A batch of partitions: their facts, and their state before the first day of the build."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.build.frames import (
    Commits,
    CommittedOffsets,
    LogEnds,
    ObservedOffsets,
)
from kafka_groups.pipeline.build.kernels.segments import is_segment_start
from kafka_groups.pipeline.build.keyed_tables import batch_by_key, sort_rows
from kafka_groups.pipeline.build.packing import columns_of, unpack
from kafka_groups.pipeline.build.partition_state import KeyState, LogState
from kafka_groups.pipeline.build.share_frames import SampledShareLags, ShareLags
from kafka_groups.pipeline.build.stage_rows import KEY, PARTITION_KEY, RowKind, select_kind
from kafka_groups.pipeline.frames.arrays import NULL, Flags, Ints, to_codes, to_ints

# A batch has this many bytes of packed facts: some 100,000 facts.
BATCH_BYTES: Final = 4_194_304


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionBatch:
    """Facts by partition and key, each with its day (days since 1970), and the state before the first day.

    - A partition is an index in the Arrow columns `cluster_id`, `topic` and `partition`; a key is an index in `group`.
      Keys ascend with their partitions.
    - `cluster_of_partition` has indices in `clusters`.
    - A partition that is larger than a batch is in several batches, each with the complete log; `is_first` is true in
      the first of them.
    """

    cluster_id: Any
    topic: Any
    partition: Any
    group: Any
    partition_of_key: Ints
    clusters: tuple[str, ...]
    cluster_of_partition: Ints
    is_first: Flags
    observations: LogEnds
    day_of_observation: Ints
    commits: Commits
    day_of_commit: Ints
    share_lags: SampledShareLags
    day_of_share_lag: Ints
    log_state: LogState
    key_state: KeyState

    @classmethod
    def from_rows(cls, rows: Any, *, is_continued: bool = False) -> Self:
        """Return the batch of a table of StageRows with all rows of its partitions.

        There must be at least one row. Rows may have any order; a partition or a key has at most one state.
        `is_continued` is true if the previous batch already had the log of the first partition.
        """
        stage_rows = sort_rows(rows, (*KEY, "kind", "day")).combine_chunks()
        starts_partition = is_segment_start(*(to_codes(stage_rows[name]) for name in PARTITION_KEY))
        partition = np.cumsum(starts_partition) - 1
        has_group = np.asarray(pc.is_valid(stage_rows["group"]))
        starts_key = has_group & is_segment_start(partition, to_codes(stage_rows["group"]))
        # Rows without a group come before the partition's groups, and have no key: their numbers are not used.
        key = np.cumsum(starts_key) - 1
        first_rows_of_partitions = stage_rows.take(pa.array(np.flatnonzero(starts_partition)))
        first_rows_of_keys = stage_rows.take(pa.array(np.flatnonzero(starts_key)))
        cluster_codes = first_rows_of_partitions["cluster_id"].combine_chunks().dictionary_encode()
        observations, day_of_observation = _unpack_observations(stage_rows, partition)
        commits, day_of_commit = _unpack_commits(stage_rows, key)
        share_lags, day_of_share_lag = _unpack_share_lags(stage_rows, key)
        log_states, log_indices = select_kind(stage_rows, RowKind.LOG_STATE)
        key_states, key_indices = select_kind(stage_rows, RowKind.KEY_STATE)
        return cls(
            cluster_id=first_rows_of_partitions["cluster_id"].combine_chunks(),
            topic=first_rows_of_partitions["topic"].combine_chunks(),
            partition=first_rows_of_partitions["partition"].combine_chunks(),
            group=first_rows_of_keys["group"].combine_chunks(),
            partition_of_key=partition[starts_key],
            clusters=tuple(cluster_codes.dictionary.to_pylist()),
            cluster_of_partition=to_ints(cluster_codes.indices),
            is_first=np.arange(len(first_rows_of_partitions)) >= int(is_continued),
            observations=observations,
            day_of_observation=day_of_observation,
            commits=commits,
            day_of_commit=day_of_commit,
            share_lags=share_lags,
            day_of_share_lag=day_of_share_lag,
            log_state=LogState.unpack(log_states["payload"], partition[log_indices], len(first_rows_of_partitions)),
            key_state=KeyState.unpack(key_states["payload"], key[key_indices], len(first_rows_of_keys)),
        )

    @property
    def cluster_of_key(self) -> Ints:
        """The cluster of each key, as an index in `clusters`."""
        return self.cluster_of_partition[self.partition_of_key]

    def partition_columns(self, partitions: Ints) -> dict[str, Any]:
        """Return the columns of PARTITION_KEY, as Arrow columns, for these partitions."""
        indices = pa.array(partitions)
        return {
            "cluster_id": self.cluster_id.take(indices),
            "topic": self.topic.take(indices),
            "partition": self.partition.take(indices),
        }

    def key_columns(self, keys: Ints) -> dict[str, Any]:
        """Return the columns of KEY, as Arrow columns, for these keys."""
        return self.partition_columns(self.partition_of_key[keys]) | {"group": self.group.take(pa.array(keys))}


def _unpack_observations(table: Any, partition: Ints) -> tuple[LogEnds, Ints]:
    """Return the observed offsets of a table of StageRows, by partition and time, and their days (since 1970).

    `partition` is the number of the partition of each row of the table.
    """
    rows, indices = select_kind(table, RowKind.OBSERVATIONS)
    # `facts.owner` is the index in `rows` of the row that a fact was packed in.
    (facts,) = unpack(rows["payload"], [columns_of(ObservedOffsets)])
    fact_count = len(facts.owner)
    log_ends = LogEnds(
        partition=partition[indices][facts.owner],
        log_number=np.zeros(fact_count, np.int64),
        previous_sample_us=np.full(fact_count, NULL),
        is_used=np.ones(fact_count, np.bool_),
        is_carried=np.zeros(fact_count, np.bool_),
        **facts.columns,
    )
    order = np.lexsort((log_ends.at_us, log_ends.partition))
    return log_ends.take(order), to_ints(rows["day"])[facts.owner][order]


def _unpack_commits(table: Any, key: Ints) -> tuple[Commits, Ints]:
    """Return the commits of a table of StageRows, unordered within a key, and their days (since 1970).

    `key` is the number of the key of each row of the table. Rows without a group have no key: their numbers are not
    used.
    """
    rows, indices = select_kind(table, RowKind.COMMITS)
    (facts,) = unpack(rows["payload"], [columns_of(CommittedOffsets)])
    fact_count = len(facts.owner)
    commits = Commits(
        key=key[indices][facts.owner],
        commit_timestamp_us=facts.columns["at_us"],
        is_carried=np.zeros(fact_count, np.bool_),
        incarnation=np.zeros(fact_count, np.int64),
        repeated_commits=np.zeros(fact_count, np.int64),
        unseen_highest_offset=np.full(fact_count, NULL),
        **facts.columns,
    )
    return commits, to_ints(rows["day"])[facts.owner]


def _unpack_share_lags(table: Any, key: Ints) -> tuple[SampledShareLags, Ints]:
    """Return the start offsets and lags of share groups, unordered within a key, and their days (since 1970).

    `key` is the number of the key of each row of the table.
    """
    rows, indices = select_kind(table, RowKind.SHARE_OFFSETS)
    (facts,) = unpack(rows["payload"], [columns_of(ShareLags)])
    return SampledShareLags(key=key[indices][facts.owner], **facts.columns), to_ints(rows["day"])[facts.owner]


def cut_batches(rows: Iterator[Any], batch_bytes: int = BATCH_BYTES) -> Iterator[PartitionBatch]:
    """Yield batches of complete partitions from record batches of StageRows that are sorted by KEY.

    A batch has payloads of about `batch_bytes` bytes. A larger partition is divided into several batches, each with
    complete groups and the log of the partition.
    """
    previous_partition: list[Any] | None = None
    previous_log_rows: Any = None
    for table in batch_by_key(rows, PARTITION_KEY, batch_bytes, part_names=("group",), measure=_count_bytes):
        first_partition = [table[name][0].as_py() for name in PARTITION_KEY]
        last_partition = [table[name][-1].as_py() for name in PARTITION_KEY]
        is_continued = first_partition == previous_partition
        complete_table = pa.concat_tables([previous_log_rows, table]) if is_continued else table
        previous_partition = last_partition
        # Only a partition that fills a whole table may continue in the next one.
        is_one_partition = first_partition == last_partition
        previous_log_rows = complete_table.filter(pc.is_null(complete_table["group"])) if is_one_partition else None
        yield PartitionBatch.from_rows(complete_table, is_continued=is_continued)


def _count_bytes(rows: Any) -> int:
    payload_bytes: int = rows["payload"].nbytes
    return payload_bytes
