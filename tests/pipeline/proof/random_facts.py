"""The facts of seeded random histories, and the rows of the tables that a build derives from them."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, Final

import pyarrow.parquet as pq

from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import TABLES
from tests.pipeline.build.histories import Facts, histories, joined
from tests.pipeline.build.kernels.histories import history

DERIVED: Final = ("lag_history", "rebalances", "group_status", "topic_daily", "group_daily")
Row = dict[str, Any]
Rows = dict[tuple[Any, ...], Row]

_EVENT_GROUPS: Final = ("group-0", "other")
# The events of groups begin two days before the commits and samples.
_EVENTS_EARLIER: Final = timedelta(days=2)


def facts_of(first: int, count: int) -> Facts:
    """Return the facts of `count` seeds from the seed `first` on: rows by table; the seed is part of the cluster's id.

    Commits and samples are of three days. Two groups of each cluster also have events of members and generations.
    """
    facts = joined(histories(first, count))
    for seed in range(first, first + count):
        for number, group in enumerate(_EVENT_GROUPS):
            facts["group_events"] += [_event_row(event, seed, group) for event in history(seed * 2 + number)]
    return facts


def _event_row(event: Row, seed: int, group: str) -> Row:
    """Return a row of group_events with the cluster of the seed and this group."""
    row: Row = {column.name: event.get(column.name) for column in TABLES["group_events"].columns}
    row["cluster_id"] = f"seed-{seed:04}"
    row["group"] = group
    for name in ("record_time", "state_time"):
        row[name] = None if row[name] is None else row[name] - _EVENTS_EARLIER
    if event["expression"]:
        row["details"] = json.dumps({"regular_expression": event["expression"]})
    return row


def rows_of(storage: Storage, name: str) -> Rows:
    """Return the rows of a derived table by the values of its identity columns."""
    table = TABLES[name]
    schema = table.arrow()
    rows: Rows = {}
    for file in storage.files(table):
        columns = pq.ParquetFile(file.path).read().select(schema.names).cast(schema)
        for row in columns.to_pylist():
            rows[tuple(row[key] for key in table.identity)] = row
    return rows
