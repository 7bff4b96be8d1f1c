"""The totals of the rows of partitions: lag, lost messages, and the margin before retention deletes more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import compress
from operator import sub, truediv
from typing import Any, Final, NamedTuple, TypeAlias

from kafka_groups.groups.lag.columns import PartitionColumns
from kafka_groups.model import OffsetRow

# Of a partition: the committed offset, the log end offset, the lag, and the log start offset.
_Values: TypeAlias = tuple[int | None, int | None, int | None, int | None]


class LagTotals(NamedTuple):
    """The totals of partitions; `margin` and `share` are each the smallest one, None if there is none.

    If a log start is unknown of a partition that may have lost messages, nobody knows the margin, nor that nothing was
    lost: `margin` and `share` are None, and so is `lost` unless another partition has lost messages. `behind` is None
    if no lag of a group with start offsets is known.
    """

    lag: int | None
    readable_lag: int | None
    behind: int | None
    uncommitted: int
    lost: int | None
    margin: int | None
    share: float | None
    is_beyond_end: bool
    is_incomplete: bool


# The totals of partitions that have nothing left to read.
_CAUGHT_UP: Final = LagTotals(0, 0, 0, 0, 0, None, None, is_beyond_end=False, is_incomplete=False)


def total_lag(columns: PartitionColumns, *, has_commits: bool = True) -> LagTotals:
    """Return the totals of partitions.

    Without `has_commits` the group has start offsets, and a partition without an offset or a lag is one whose offset or
    lag is unknown. Records beyond a start offset may have been delivered, so that at most as many as the lag are lost.
    A negative lag counts as 0, so that it hides no other partition's lag. Only a partition that still has messages to
    read has a margin: no other one can lose any.
    """
    known = _total_of_plain(columns) if has_commits else None
    if known is not None:
        return known
    columns_of_each = (columns.committed_offset, columns.log_end_offset, columns.lag, columns.log_start_offset)
    return _total(tuple(zip(*columns_of_each, strict=True)), has_commits=has_commits)


def total_lag_of(row: OffsetRow, *, has_commits: bool = True) -> LagTotals:
    """Return the totals of one partition, as `total_lag` does."""
    known = _total_of_plain_partition(row) if has_commits else None
    if known is not None:
        return known
    values = (row.committed_offset, row.log_end_offset, row.lag, row.log_start_offset)
    return _total((values,), has_commits=has_commits)


def _total_of_plain_partition(row: OffsetRow) -> LagTotals | None:
    """Return the totals of a partition that `_total_of_plain` would count, None of any other one."""
    committed = row.committed_offset
    end = row.log_end_offset
    lag = row.lag
    start = row.log_start_offset
    if committed is None or end is None or lag is None or start is None or lag < 0 or committed < start:
        return None
    if lag == 0:
        return _CAUGHT_UP
    if end <= start:
        return None
    margin = committed - start
    return LagTotals(lag, lag, 1, 0, 0, margin, margin / (end - start), is_beyond_end=False, is_incomplete=False)


def _total_of_plain(columns: PartitionColumns) -> LagTotals | None:
    """Return the totals of a group that has lost nothing, and whose offsets are all known; None of any other one.

    Nearly all groups are such, and a large cluster has ten thousand of them with a hundred thousand partitions: columns
    take two thirds of the time of a loop over them.
    """
    lags: Sequence[Any] = columns.lag
    try:
        lag = sum(lags)
        margins = tuple(map(sub, columns.committed_offset, columns.log_start_offset))
        sizes = tuple(map(sub, columns.log_end_offset, columns.log_start_offset))
    except TypeError:
        # Something is unknown: no number can be subtracted from None.
        return None
    if not lags or min(lags) < 0 or min(margins) < 0:
        return None
    margins_behind = tuple(compress(margins, lags))
    sizes_behind = tuple(compress(sizes, lags))
    if not margins_behind:
        return _CAUGHT_UP
    if min(sizes_behind) <= 0:
        return None
    share = min(map(truediv, margins_behind, sizes_behind))
    behind = len(margins_behind)
    return LagTotals(lag, lag, behind, 0, 0, min(margins_behind), share, is_beyond_end=False, is_incomplete=False)


def _total(partitions: Sequence[_Values], *, has_commits: bool) -> LagTotals:
    totals, may_have_lost = _total_of_known(partitions, has_commits=has_commits)
    if not has_commits:
        is_incomplete = any(committed is None or lag is None for committed, _, lag, _ in partitions)
        behind = None if partitions and totals.lag is None else totals.behind
        totals = totals._replace(behind=behind, is_incomplete=totals.is_incomplete or is_incomplete)
        may_have_lost = may_have_lost or any(
            lag is None and _lost_before(committed, start) for committed, _, lag, start in partitions
        )
    if not may_have_lost:
        return totals
    return totals._replace(lost=totals.lost or None, margin=None, share=None, is_incomplete=True)


def _lost_before(committed: int | None, start: int | None) -> int:
    """Return the number of messages between the offset of the group and the log start, 0 if one is unknown."""
    if committed is None or start is None:
        return 0
    return max(0, start - committed)


def _total_of_known(partitions: Iterable[_Values], *, has_commits: bool) -> tuple[LagTotals, bool]:
    """Return the totals of what is known, and whether a log start that is unknown may be above the commit.

    It takes one pass, because a cluster has hundreds of thousands of partitions of groups.
    """
    lag: int | None = None
    lost: int | None = None
    readable = behind = uncommitted = 0
    margin: int | None = None
    share: float | None = None
    is_beyond_end = is_incomplete = may_have_lost = False
    for committed, end, each_lag, start in partitions:
        is_incomplete = is_incomplete or end is None
        if committed is None:
            uncommitted += 1
            continue
        left = each_lag or 0
        if each_lag is not None:
            lag = lag or 0
            if left > 0:
                lag += left
                behind += 1
            elif left < 0:
                is_beyond_end = True
        if start is not None:
            lost = lost or 0
            each = committed - start
            if each < 0:
                lost += -each if has_commits else min(-each, left)
                left += each
                each = 0
            if left > 0 and end is not None:
                margin = each if margin is None or each < margin else margin
                # The lag of a start offset counts to the log end, also where `end` is the last stable offset.
                if end > start:
                    each_share = each / (end - start)
                    share = each_share if share is None or each_share < share else share
        may_have_lost = may_have_lost or (start is None and (each_lag is None or left > 0))
        readable += max(0, left)
    readable_lag = None if lag is None else readable
    known = LagTotals(lag, readable_lag, behind, uncommitted, lost, margin, share, is_beyond_end, is_incomplete)
    return known, may_have_lost
