"""The state of partitions and keys at the end of a day, from which the kernels continue on the next day.

The state is stored, so that a build reads only the days that changed and the state before them.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Final, Self, TypeVar

import numpy as np

from kafka_groups.pipeline.build.frames import (
    Commits,
    KeyProgress,
    KeySummary,
    LagMinima,
    LogEnds,
    LogStarts,
    PartitionStatuses,
    PartitionSummary,
    RateRows,
    TimePoints,
)
from kafka_groups.pipeline.build.kernels.segments import take
from kafka_groups.pipeline.build.packing import ListOfRows, columns_of, list_of, list_of_singles, pack, unpack
from kafka_groups.pipeline.frames.arrays import NULL, Array, Flags, Ints
from kafka_groups.pipeline.frames.frame import Frame

F = TypeVar("F", bound=Frame)

# Rows of these frames are packed in the column `state` of `partition_state`.
STATE_FRAMES: Final = (
    PartitionSummary,
    LogEnds,
    TimePoints,
    KeySummary,
    Commits,
    KeyProgress,
    LagMinima,
    LogStarts,
    RateRows,
    PartitionStatuses,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogState:
    """The state of the partitions of a batch: their logs."""

    summary: PartitionSummary
    log_ends: LogEnds
    time_points: TimePoints

    def pack(self) -> Any:
        """Return an Arrow column of binary values, one for each partition, as `unpack` takes them."""
        lists = [
            list_of_singles(self.summary),
            list_of(self.log_ends, "partition"),
            list_of(self.time_points, "partition"),
        ]
        return pack(lists, len(self.summary))

    @classmethod
    def unpack(cls, column: Any, partition: Ints, partition_count: int) -> Self:
        """Return the state of partitions from packed values; `partition` has the partition of each value, ascending.

        Each partition has one value at most; one without a value gets an empty state.
        """
        declarations = [
            columns_of(PartitionSummary),
            columns_of(LogEnds, "partition"),
            columns_of(TimePoints, "partition"),
        ]
        summary, log_ends, time_points = unpack(column, declarations)
        return cls(
            summary=PartitionSummary(**_spread_singles(summary, partition, partition_count)),
            log_ends=LogEnds(partition=partition[log_ends.owner], **log_ends.columns),
            time_points=TimePoints(partition=partition[time_points.owner], **time_points.columns),
        )

    def without_stale(self, oldest_day: int) -> Self:
        """Return the state of the partitions with a fact on `oldest_day` (days since 1970) or later.

        All others keep their place, with an empty state.
        """
        is_kept = self.summary.last_fact_day >= oldest_day
        return type(self)(
            summary=_keep_singles(self.summary, is_kept),
            log_ends=self.log_ends.take(is_kept[self.log_ends.partition]),
            time_points=self.time_points.take(is_kept[self.time_points.partition]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyState:
    """The state of the keys of a batch: their commits, and the evidence for rates and verdicts."""

    summary: KeySummary
    commits: Commits
    progress: KeyProgress
    lag_minima: LagMinima
    log_starts: LogStarts
    rate_rows: RateRows
    last_status: PartitionStatuses

    def pack(self) -> Any:
        """Return an Arrow column of binary values, one for each key, as `unpack` takes them."""
        lists = [list_of_singles(self.summary), *(list_of(rows, "key") for rows in self._lists())]
        return pack(lists, len(self.summary))

    @classmethod
    def unpack(cls, column: Any, key: Ints, key_count: int) -> Self:
        """Return the state of `key_count` keys from packed values; `key` has each value's key, ascending.

        Each key has one value at most; one without a value gets an empty state.
        """
        frames = (Commits, KeyProgress, LagMinima, LogStarts, RateRows, PartitionStatuses)
        declarations = [columns_of(KeySummary), *(columns_of(frame, "key") for frame in frames)]
        summary, commits, progress, lag_minima, log_starts, rate_rows, last_status = unpack(column, declarations)
        return cls(
            summary=KeySummary(**_spread_singles(summary, key, key_count)),
            commits=Commits(key=key[commits.owner], **commits.columns),
            progress=KeyProgress(key=key[progress.owner], **progress.columns),
            lag_minima=LagMinima(key=key[lag_minima.owner], **lag_minima.columns),
            log_starts=LogStarts(key=key[log_starts.owner], **log_starts.columns),
            rate_rows=RateRows(key=key[rate_rows.owner], **rate_rows.columns),
            last_status=PartitionStatuses(key=key[last_status.owner], **last_status.columns),
        )

    def without_stale(self, oldest_day: int) -> Self:
        """Return the state of the keys with a fact on `oldest_day` (days since 1970) or later.

        All others keep their place, with an empty state.
        """
        is_kept = self.summary.last_fact_day >= oldest_day
        return type(self)(
            summary=_keep_singles(self.summary, is_kept),
            commits=self.commits.take(is_kept[self.commits.key]),
            progress=self.progress.take(is_kept[self.progress.key]),
            lag_minima=self.lag_minima.take(is_kept[self.lag_minima.key]),
            log_starts=self.log_starts.take(is_kept[self.log_starts.key]),
            rate_rows=self.rate_rows.take(is_kept[self.rate_rows.key]),
            last_status=self.last_status.take(is_kept[self.last_status.key]),
        )

    def _lists(self) -> list[Frame]:
        return [getattr(self, field.name) for field in fields(self) if field.name != "summary"]


def _spread_singles(rows: ListOfRows, owner_of_value: Ints, row_count: int) -> dict[str, Array]:
    """Return columns of `row_count` rows: value i is in row `owner_of_value[i]`, all other rows are NULL or false."""
    row_index = np.full(row_count, -1)
    row_index[owner_of_value] = rows.owner
    return {name: _take_or_null(values, row_index) for name, values in rows.columns.items()}


def _keep_singles(rows: F, is_kept: Flags) -> F:
    """Return the rows, with NULL and false in those that are not kept."""
    row_index = np.where(is_kept, np.arange(len(is_kept)), -1)
    return type(rows)(**{name: _take_or_null(values, row_index) for name, values in rows.arrays().items()})


def _take_or_null(values: Array, row_index: Ints) -> Array:
    return take(values, row_index, missing=False if values.dtype == np.bool_ else NULL)
