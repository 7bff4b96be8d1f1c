"""The tables of the pipeline. This package is also their documentation: each column declares its description.

A table declares all of its columns, also those that other tables have, so that a reader finds them in one place.
All times are UTC; `*_ms` are milliseconds; rates are records per second. Every table is partitioned by `date`: the
date (UTC) of its time column (`Table.time_column`). `SCHEMA_VERSION` increases when a column is removed,
gets another name or changes its meaning, but not when a column is added.

facts.py    tables of facts, which ingest, sample and backfill read from brokers
derived.py  tables that a build derives from facts
states.py   the states that a build carries from day to day
event_details.py  the regular expression in the details of events
sql.py      SQL texts in the dialects of DataFusion and Spark
"""

from __future__ import annotations

from typing import Final

from kafka_groups.pipeline.tables import derived, facts, states
from kafka_groups.pipeline.tables.table import Table

__all__ = ["Table"]

SCHEMA_VERSION: Final = 7
OFFSETS_TOPIC: Final = "__consumer_offsets"
# The log end offset of a partition of OFFSETS_TOPIC in a sample whose coordinator did not list its groups: null. The
# leader of a partition coordinates the groups whose records are in it. A sample is complete if no partition of the
# topic has this log end offset. Only complete samples show that a group or a commit was deleted.
UNLISTED_LOG_END: Final = None
# The pipeline assumes that the clocks of coordinators and samplers differ by at most this time, ten minutes.
LARGEST_CLOCK_DIFFERENCE_US: Final = 600_000_000

_RECORD_ID: Final = ("cluster_id", "origin", "source_partition", "source_offset")

OFFSET_COMMITS: Final = Table(
    "offset_commits",
    facts.OffsetCommits,
    identity=(*_RECORD_ID, "group", "topic", "partition", "commit_time"),
    time_column="commit_time",
    is_derived=False,
)
GROUP_EVENTS: Final = Table(
    "group_events",
    facts.GroupEvents,
    identity=(*_RECORD_ID, "group", "record_time"),
    time_column="record_time",
    is_derived=False,
)
PARTITION_OFFSETS: Final = Table(
    "partition_offsets",
    facts.PartitionOffsets,
    identity=("cluster_id", "origin", "topic", "partition", "observed_at"),
    time_column="observed_at",
    is_derived=False,
)
SHARE_OFFSETS: Final = Table(
    "share_offsets",
    facts.ShareOffsets,
    identity=("cluster_id", "group", "topic", "partition", "observed_at"),
    time_column="observed_at",
    is_derived=False,
)
LAG_HISTORY: Final = Table(
    "lag_history",
    derived.LagHistory,
    identity=("cluster_id", "group", "topic", "partition", "observed_at"),
    time_column="observed_at",
    is_derived=True,
)
GROUP_STATUS: Final = Table(
    "group_status",
    derived.GroupStatus,
    identity=("cluster_id", "group", "evaluated_at"),
    time_column="evaluated_at",
    is_derived=True,
)
REBALANCES: Final = Table(
    "rebalances",
    derived.Rebalances,
    identity=("cluster_id", "group", "group_protocol", "generation", "started_at"),
    time_column="started_at",
    is_derived=True,
)
GROUP_DAILY: Final = Table(
    "group_daily",
    derived.GroupDaily,
    identity=("cluster_id", "group", "day"),
    time_column="day",
    is_derived=True,
)
TOPIC_DAILY: Final = Table(
    "topic_daily",
    derived.TopicDaily,
    identity=("cluster_id", "topic", "day"),
    time_column="day",
    is_derived=True,
)
SAMPLE_RUNS: Final = Table(
    "sample_runs",
    facts.SampleRuns,
    identity=("cluster_id", "sampled_at"),
    time_column="sampled_at",
    is_derived=False,
)
INGEST_GAPS: Final = Table(
    "ingest_gaps",
    facts.IngestGaps,
    identity=("cluster_id", "source_partition", "first_offset", "last_offset"),
    time_column="found_at",
    is_derived=False,
)
UNKNOWN_RECORDS: Final = Table(
    "unknown_records",
    facts.UnknownRecords,
    identity=("cluster_id", "source_partition", "source_offset"),
    time_column="record_time",
    is_derived=False,
)
PARTITION_STATE: Final = Table(
    "partition_state",
    states.PartitionState,
    identity=("cluster_id", "topic", "partition", "group", "day"),
    time_column="day",
    is_derived=True,
)
GROUP_STATE: Final = Table(
    "group_state",
    states.GroupState,
    identity=("cluster_id", "group", "day"),
    time_column="day",
    is_derived=True,
)

FACT_TABLES: Final = (
    OFFSET_COMMITS,
    GROUP_EVENTS,
    PARTITION_OFFSETS,
    SHARE_OFFSETS,
    SAMPLE_RUNS,
    INGEST_GAPS,
    UNKNOWN_RECORDS,
)
DERIVED_TABLES: Final = (LAG_HISTORY, GROUP_STATUS, REBALANCES, GROUP_DAILY, TOPIC_DAILY)
STATE_TABLES: Final = (PARTITION_STATE, GROUP_STATE)
# The documented tables by name, in the order of the documentation.
TABLES: Final = {
    table.name: table
    for table in (
        OFFSET_COMMITS,
        GROUP_EVENTS,
        PARTITION_OFFSETS,
        SHARE_OFFSETS,
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
# All tables of a data directory, by name.
STORED_TABLES: Final = TABLES | {table.name: table for table in STATE_TABLES}
