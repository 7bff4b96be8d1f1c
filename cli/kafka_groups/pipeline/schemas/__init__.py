"""The tables of the pipeline: every column with its type and what it promises. This module is their documentation.

All times are UTC; `*_ms` are milliseconds; rates are records a second. Every table is partitioned by `date` (UTC, of
the time that its `dated_by` names).
`SCHEMA_VERSION` goes up when a column changes its meaning or goes away; columns may be added without.
"""

from __future__ import annotations

from typing import Final

from kafka_groups.pipeline.schemas.derived import GROUP_DAILY, GROUP_STATUS, LAG_HISTORY, REBALANCES, TOPIC_DAILY
from kafka_groups.pipeline.schemas.facts import (
    GROUP_EVENTS,
    INGEST_GAPS,
    OFFSET_COMMITS,
    OFFSETS_TOPIC,
    PARTITION_OFFSETS,
    SAMPLE_RUNS,
    UNKNOWN_RECORDS,
)
from kafka_groups.pipeline.schemas.shape import Column, Table, create_statement, spell_type
from kafka_groups.pipeline.schemas.states import GROUP_STATE, PARTITION_STATE, STATES

__all__ = [
    "GROUP_DAILY",
    "GROUP_EVENTS",
    "GROUP_STATE",
    "GROUP_STATUS",
    "INGEST_GAPS",
    "LAG_HISTORY",
    "OFFSETS_TOPIC",
    "OFFSET_COMMITS",
    "PARTITION_OFFSETS",
    "PARTITION_STATE",
    "REBALANCES",
    "SAMPLE_RUNS",
    "SCHEMA_VERSION",
    "STATES",
    "STORED",
    "TABLES",
    "TOPIC_DAILY",
    "UNKNOWN_RECORDS",
    "Column",
    "Table",
    "create_statement",
    "spell_type",
]

SCHEMA_VERSION: Final = 3

TABLES: Final = {
    table.name: table
    for table in (
        OFFSET_COMMITS,
        GROUP_EVENTS,
        PARTITION_OFFSETS,
        LAG_HISTORY,
        GROUP_STATUS,
        REBALANCES,
        GROUP_DAILY,
        TOPIC_DAILY,
        SAMPLE_RUNS,
        INGEST_GAPS,
        UNKNOWN_RECORDS,
    )
}
# All tables of a data directory; those of states are not documented, and may change with any version.
STORED: Final = TABLES | {table.name: table for table in STATES}
