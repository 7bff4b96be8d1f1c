"""Rows of group_status as the table describes them: sums over the rows of lag of a group's partitions."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Final

from tests.pipeline.oracle.oracle_evidence import Evidence, ReaderKey, Row
from tests.pipeline.oracle.oracle_lag import LagRow, last_commit

COUNTS_FOR: Final = timedelta(minutes=10)
# From the most certain to the least certain.
QUALITIES: Final = ("exact", "interpolated", "lower_bound", "unknown", "data_loss")


@dataclass(frozen=True)
class StatusRow:
    """A row of group_status: how many partitions count, the sum of their lags, and the least retention margin."""

    group: str
    at: datetime
    partitions: int
    lag: int
    margin: int
    readers: frozenset[ReaderKey]


def status_rows(evidence: Evidence, lags: Mapping[ReaderKey, Sequence[LagRow]]) -> Iterator[StatusRow]:
    """Yield the rows of all groups: one at each time at which a partition of the group has a row of lag."""
    times: dict[str, set[datetime]] = defaultdict(set)
    for key, rows in lags.items():
        times[key[0]] |= {row.end.at for row in rows}
    for group, ats in times.items():
        for at in sorted(ats):
            counted = [row for key, rows in lags.items() if key[0] == group for row in _last_row(evidence, rows, at)]
            yield StatusRow(
                group,
                at,
                len(counted),
                sum(max(0, row.lag) for row in counted),
                min(row.retention_margin for row in counted),
                frozenset(row.key for row in counted),
            )


def _last_row(evidence: Evidence, rows: Sequence[LagRow], at: datetime) -> list[LagRow]:
    """Return a partition's last row of the last ten minutes, unless its commit is no longer valid.

    It is not after a removal, and not once the topic was recreated.
    """
    until = bisect_right(rows, at, key=lambda row: row.end.at)
    if not until or rows[until - 1].end.at < at - COUNTS_FOR:
        return []
    row = rows[until - 1]
    ends = evidence.ends[row.key[1:]]
    newest_end = ends[bisect_right(ends, at, key=attrgetter("at")) - 1]
    commit = last_commit(evidence, row.key, at)
    is_valid = commit is not None and commit.removals == row.commit.removals
    return [row] if is_valid and newest_end.topic_id == row.end.topic_id else []


def sum_of_partitions(rows: Sequence[Row]) -> Row:
    """Return what a row of group_status has if these rows of lag_history are those of its partitions."""
    sums: Row = {
        "partitions": len(rows),
        "lag": sum(max(0, row["lag"]) for row in rows),
        "time_lag_ms": max((row["time_lag_ms"] for row in rows if row["time_lag_ms"] is not None), default=None),
        "time_lag_quality": max((row["time_lag_quality"] for row in rows), key=QUALITIES.index),
    }
    for name in ("consume_rate", "produce_rate"):
        rates = [row[name] for row in rows]
        sums[name] = None if None in rates else sum(rates)
    falls = all(row["catch_up_ms"] is not None for row in rows if row["lag"] > 0)
    catch_ups = [row["catch_up_ms"] for row in rows if row["catch_up_ms"] is not None]
    sums["catch_up_ms"] = max(catch_ups, default=None) if falls else None
    return sums
