"""A cluster with a group of every kind, samples of it, and what the tables hold afterwards."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import pyarrow.dataset as ds

from kafka_groups.pipeline.facts.sample import SampleResult, sample
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import Table
from tests.fakes.scripted_cluster import Commit, Group, ScriptedCluster

TOPICS = {"payments": {0: 1, 1: 2, 2: 3}, "unread": {0: 2}, "__consumer_offsets": {0: 1}, "__state": {0: 1}}
NOON_MS = 1_790_000_000_000
MEMBER = {
    "member_id": "m-1",
    "instance_id": "i-1",
    "client_id": "c-1",
    "client_host": "/10.0.0.1",
    "assignment": {"topic_partitions": [{"topic_name": "payments", "partitions": [0, 2]}]},
}
GROUPS = {
    "orders": Group(
        coordinator=2,
        type="Consumer",
        assignor="uniform",
        epoch=9,
        commits={("payments", 0): Commit(offset=5, epoch=3, metadata="here"), ("payments", 1): 7, ("gone", 0): 1},
        members=[MEMBER],
    ),
    "billing": Group(coordinator=1, state="Empty", commits={("payments", 0): 0, ("__state", 0): 2}),
    "shared": Group(
        coordinator=3,
        type="Share",
        protocol_type="share",
        state="Stable",
        commits={("payments", 0): 3, ("payments", 1): -1},
        lags={("payments", 0): 4},
    ),
    "connect": Group(coordinator=3, protocol_type="connect", state="Stable"),
}


@contextmanager
def with_groups() -> Iterator[ScriptedCluster]:
    """Yield a cluster whose groups have commits on payments; its partition 0 has lost its first records."""
    with ScriptedCluster(
        groups=GROUPS, topics=TOPICS, ends={("payments", 0): 12}, starts={("payments", 0): 2}
    ) as found:
        found.stable["payments", 0] = 11
        yield found


def clock() -> Callable[[], int]:
    """Return a clock that starts at noon and advances by a second on each call."""
    ticks = itertools.count(NOON_MS, 1000)
    return lambda: next(ticks)


def take(cluster: ScriptedCluster, storage: Storage, **settings: Any) -> SampleResult:
    """Take one sample, and return its result."""
    with cluster.admin(**settings) as admin:
        return sample(admin, storage, now_ms=clock())


def rows_of(storage: Storage, table: Table) -> list[dict[str, Any]]:
    """Return all rows, without null values."""
    found = ds.dataset(storage.directory.join(table.name), partitioning="hive").to_table().to_pylist()
    return [{name: value for name, value in row.items() if value is not None} for row in found]


def ms(row: dict[str, Any], column: str) -> int:
    """Return a time of a row, in milliseconds since 1970."""
    time: datetime = row[column]
    return round(time.timestamp() * 1000)
