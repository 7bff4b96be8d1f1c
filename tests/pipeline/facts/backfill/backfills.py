"""A cluster with a busy, a slower and a quiet partition, backfills of it, and what the tables hold afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

import pyarrow.dataset as ds

from kafka_groups.pipeline.facts.backfill import BackfillResult, backfill
from kafka_groups.pipeline.facts.time_grid import LookupPeriod
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import PARTITION_OFFSETS
from tests.fakes.scripted_cluster import ScriptedCluster

DAY_MS = 86_400_000
MIDNIGHT_MS = 20_700 * DAY_MS  # 2026-09-04
MINUTE_MS = 60_000
# When it is requested, unless a test says so.
LONG_AFTER_MS = MIDNIGHT_MS + 30 * DAY_MS
TOPICS = {"busy": {0: 1, 1: 2}, "quiet": {0: 3}, "__internal": {0: 1}}

Row = tuple[int, int | None, int | None, int | None]  # time, log end, offset and time of the point


@contextmanager
def busy_and_quiet() -> Iterator[ScriptedCluster]:
    """Yield logs: partition 0 of busy has a record every 7 s from midnight, 1 one every 90 s from three o'clock."""
    with ScriptedCluster(topics=TOPICS, starts={("busy", 1): 40}) as found:
        found.records["busy", 0] = [MIDNIGHT_MS + 7_000 * number for number in range(5_000)]
        found.records["busy", 1] = [MIDNIGHT_MS + 3 * 3_600_000 + 90_000 * number for number in range(800)]
        found.records["quiet", 0] = [MIDNIGHT_MS - 5 * DAY_MS, MIDNIGHT_MS - 4 * DAY_MS]
        yield found


def run(cluster: ScriptedCluster, storage: Storage, **options: Any) -> BackfillResult:
    """Backfill a day in minutes; options are fields of the period, and arguments of `backfill`."""
    day = LookupPeriod(MIDNIGHT_MS, MIDNIGHT_MS + DAY_MS - 1, step_ms=MINUTE_MS, now_ms=LONG_AFTER_MS)
    period = day._replace(**{name: options.pop(name) for name in day._fields if name in options})
    with cluster.admin() as admin:
        return backfill(admin, storage, period, **options)


def rows_of(storage: Storage) -> list[dict[str, Any]]:
    """Return all rows, in the order of their identity."""
    if not (files := [file.path for file in storage.files(PARTITION_OFFSETS)]):
        return []
    rows: list[dict[str, Any]] = ds.dataset(files, partitioning="hive").to_table().to_pylist()
    return sorted(rows, key=lambda row: (row["topic"], row["partition"], row["observed_at"]))


def reported(storage: Storage, topic: str, partition: int) -> list[Row]:
    """Return the time, the log end, and the offset and time of the record, of each row."""
    return [
        (
            _ms(row["observed_at"]),
            row["log_end_offset"],
            row["lookup_offset"],
            row["lookup_timestamp"] and _ms(row["lookup_timestamp"]),
        )
        for row in rows_of(storage)
        if (row["topic"], row["partition"]) == (topic, partition)
    ]


def without_deleted(rows: Sequence[Row], start: int, step: int) -> list[Row]:
    """Return the known log ends of a log with this start: before its first record, only that record's time."""
    if start == 0:
        return [*rows]
    of_first = {time: at for time, _, offset, at in rows if offset == start and at is not None and time < at}
    return [
        (time, None if time in of_first else end, offset, at)
        for time, end, offset, at in rows
        if time not in of_first or of_first[time] < time + step
    ]


def denied(_asked: object, answer: Any) -> Any:
    """Return what a broker responds for partitions that we may not see."""
    topics = [
        {**topic, "partitions": [{**row, "error_code": 29} for row in topic["partitions"]]}
        for topic in answer["topics"]
    ]
    return {"topics": topics}


def _ms(time: datetime) -> int:
    return round(time.timestamp() * 1000)


def by_asking_each(records: Sequence[int], start: int, times: range) -> list[Row]:
    """Return the log end at each time, with one request for each."""
    rows: list[Row] = []
    for time in times:
        found = next((place for place in enumerate(records, start) if place[1] >= time), None)
        rows.append((time, start + len(records), None, None) if found is None else (time, found[0], *found))
    return rows
