"""Groups whose last commit is too old for the dates that were built last: they have no row any more."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import date, timedelta
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from kafka_groups.pipeline.schemas import GROUP_DAILY, TOPIC_DAILY, Table
from kafka_groups.pipeline.sentences import few
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.storage.storage_errors import as_storage_error

_DAY_US: Final = 86_400_000_000
_READ: Final = ("cluster_id", "group", "partitions", "last_commit_time")


class _Last(NamedTuple):
    """The last date of a group with a row, the partitions with a commit, and the time of the last commit."""

    date: date
    partitions: int | None
    committed_us: int | None


def left_out(
    storage: Storage,
    lookback_days: int,
    *,
    dates: Collection[date] | None = None,
    is_wanted: Callable[[str], bool] = lambda _group: True,
) -> list[str]:
    """Return a sentence for each cluster with such groups, of those that are wanted.

    With `dates`, only rows of these are read: groups that had none before are not named again.
    """
    wanted = None if dates is None else {day.isoformat() for day in dates}
    days = [date.fromisoformat(day) for day in storage.dates(GROUP_DAILY)]
    if not days or days[0] >= days[-1] - timedelta(days=lookback_days):
        return []
    last: dict[tuple[str, str], _Last] = {}
    of_clusters: dict[str, set[date]] = {}
    for day, rows in _read(storage, GROUP_DAILY, _READ, wanted):
        columns = (column.to_pylist() for column in _with_micros(rows).columns)
        for cluster, group, partitions, committed_us in zip(*columns, strict=True):
            of_clusters.setdefault(cluster, set()).add(day)
            last[cluster, group] = _Last(day, partitions, committed_us)
    for day, rows in _read(storage, TOPIC_DAILY, ("cluster_id",), wanted):
        for cluster in rows["cluster_id"].unique().to_pylist():
            of_clusters.setdefault(cluster, set()).add(day)
    deleted: dict[str, list[str]] = {}
    for (cluster, group), one in sorted(last.items()):
        if one.partitions and is_wanted(group) and _was_cut(one, of_clusters[cluster], lookback_days):
            deleted.setdefault(cluster, []).append(group)
    return [_sentence(cluster, groups, max(of_clusters[cluster]), lookback_days) for cluster, groups in deleted.items()]


def _read(
    storage: Storage, table: Table, columns: Sequence[str], dates: Collection[str] | None
) -> list[tuple[date, Any]]:
    """Return columns of a table's files, ascending by date."""
    found = []
    for file in storage.files(table, dates):
        with as_storage_error("read the tables", file.path):
            rows = pq.ParquetFile(file.path, filesystem=storage.place.fs).read([*columns])
        found.append((date.fromisoformat(file.date), rows.select([*columns])))
    return sorted(found, key=lambda each: each[0])


def _with_micros(rows: Any) -> Any:
    at = rows.schema.get_field_index("last_commit_time")
    times = rows["last_commit_time"].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    return rows.set_column(at, "last_commit_time", times)


def _was_cut(one: _Last, dates: Collection[date], lookback_days: int) -> bool:
    """Return whether its last commit is too old for the first date without it; if not, the group was removed."""
    following = min((day for day in dates if day > one.date), default=None)
    if following is None:
        return False
    midnight_us = (following - timedelta(days=lookback_days) - date(1970, 1, 1)).days * _DAY_US
    return one.committed_us is None or one.committed_us < midnight_us


def _sentence(cluster: str, names: list[str], last: date, lookback_days: int) -> str:
    noun = "group has" if len(names) == 1 else "groups have"
    period = "on the day" if lookback_days == 1 else f"in the {lookback_days} days"
    return (
        f"{len(names):,} {noun} no commit {period} before {last} on cluster {cluster}, and no row since then: "
        f"{few(names)}."
    )
