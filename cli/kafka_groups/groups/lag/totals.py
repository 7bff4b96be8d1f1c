"""The totals of the rows of partitions: lag, lost messages, and the margin before retention deletes more."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from kafka_groups.model import OffsetRow


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


def total_lag(rows: Sequence[OffsetRow], *, has_commits: bool = True) -> LagTotals:
    """Return the totals. Each partition is one row.

    Without `has_commits` the group has start offsets, and a row without an offset or a lag is one whose offset or lag
    is unknown. Records beyond a start offset may have been delivered, so that at most as many as the lag are lost. A
    negative lag counts as 0, so that it hides no other partition's lag. Only a partition that still has messages to
    read has a margin: no other one can lose any.
    """
    totals, may_have_lost = _total_of_known(rows, has_commits=has_commits)
    if not has_commits:
        is_incomplete = any(row.committed_offset is None or row.lag is None for row in rows)
        behind = None if rows and totals.lag is None else totals.behind
        totals = totals._replace(behind=behind, is_incomplete=totals.is_incomplete or is_incomplete)
        may_have_lost = may_have_lost or any(row.lag is None and _lost_before(row) for row in rows)
    if not may_have_lost:
        return totals
    return totals._replace(lost=totals.lost or None, margin=None, share=None, is_incomplete=True)


def _lost_before(row: OffsetRow) -> int:
    """Return the number of messages between the offset of the group and the log start, 0 if one is unknown."""
    if row.committed_offset is None or row.log_start_offset is None:
        return 0
    return max(0, row.log_start_offset - row.committed_offset)


def _total_of_known(rows: Iterable[OffsetRow], *, has_commits: bool) -> tuple[LagTotals, bool]:
    """Return the totals of what is known, and whether a log start that is unknown may be above the commit.

    It takes one pass, because a cluster has hundreds of thousands of rows.
    """
    lag: int | None = None
    lost: int | None = None
    readable = behind = uncommitted = 0
    margin: int | None = None
    share: float | None = None
    is_beyond_end = is_incomplete = may_have_lost = False
    for row in rows:
        committed = row.committed_offset
        end = row.log_end_offset
        each_lag = row.lag
        start = row.log_start_offset
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
