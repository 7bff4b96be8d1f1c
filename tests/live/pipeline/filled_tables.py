"""The tables of the pipeline, filled from groups of every kind, read as any reader of Parquet would."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow.compute as pc
import pyarrow.dataset as ds

from kafka_groups.pipeline.facts.ingestion import IngestResult
from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, PARTITION_OFFSETS, Table
from tests.live.pipeline.group_kinds import GroupKinds
from tests.live.pipeline.timed import Timed

Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class FilledTables:
    """Tables after one run of each command, and who they are about; `grid` are the times of the backfill."""

    kinds: GroupKinds
    timed: Timed
    grid: range
    storage: Storage
    ingested: IngestResult

    def rows(self, table: Table, **wanted: object) -> list[Row]:
        """Those with these values, in no order."""
        if not self.storage.files(table):
            return []
        found = ds.dataset(self.storage.directory.join(table.name), partitioning="hive").to_table()
        for column, value in wanted.items():
            found = found.filter(pc.equal(found[column], value))
        rows: list[Row] = found.to_pylist()
        return rows

    def commits(self, group: str) -> list[tuple[int, int | None]]:
        """Partition and offset of each record about a commit, as they stand in the log; None where it was removed."""
        rows = sorted(self.rows(OFFSET_COMMITS, group=group, origin="topic"), key=_place)
        assert all(row["is_tombstone"] == (row["committed_offset"] is None) for row in rows)
        return [(row["partition"], row["committed_offset"]) for row in rows]

    def events(self, group: str, *event_types: str) -> list[Row]:
        """What its records say of the group, as they stand in the log; only these event_types, if any are named."""
        rows = sorted(self.rows(GROUP_EVENTS, group=group, origin="topic"), key=_place)
        return [row for row in rows if not event_types or row["event_type"] in event_types]

    @property
    def topic_id(self) -> str:
        """The id of the topic of the groups, as samples received it."""
        (found,) = {row["topic_id"] for row in self.rows(PARTITION_OFFSETS, topic=self.kinds.topic)}
        name: str = found
        return name


def by_time(rows: list[Row], *columns: str) -> list[Row]:
    return sorted(rows, key=lambda row: [row[column] for column in columns])


def now_ms() -> int:
    return time.time_ns() // 1_000_000


def ms(moment: datetime) -> int:
    return round(moment.timestamp() * 1000)


def _place(row: Row) -> int:
    place: int = row["source_offset"]
    return place
