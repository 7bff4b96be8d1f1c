"""The parts of the summary of the facts, from the columns of their tables.

Each function takes a record batch of a table, and the day of its file (days since 1970). A part summarizes one fact;
`FactSummaryParts` adds parts up.
"""

from __future__ import annotations

from typing import Any

import pyarrow.compute as pc

from kafka_groups.pipeline.build.fact_columns import replace_foreign_times
from kafka_groups.pipeline.build.fact_summary import FactSummaryRows
from kafka_groups.pipeline.frames.batches import make_batch
from kafka_groups.pipeline.tables import GROUP_EVENTS, OFFSET_COMMITS, OFFSETS_TOPIC, PARTITION_OFFSETS, Table


def summarize_commits(rows: Any, day: int) -> list[Any]:
    """Return one record batch of FactSummaryRows, with a part for each row of `offset_commits`."""
    return [_summarize_groups(OFFSET_COMMITS, rows, rows["commit_time"], day)]


def summarize_events(rows: Any, day: int) -> list[Any]:
    """Return one record batch of FactSummaryRows, with a part for each row of `group_events`."""
    return [_summarize_groups(GROUP_EVENTS, rows, rows["record_time"], day)]


def _summarize_groups(table: Table, rows: Any, times: Any, day: int) -> Any:
    """Return a record batch of FactSummaryRows with one row for each fact: its time, and its group if a sample saw it.

    `rows` are rows of the table, and `times` are their times; `day` is the day of the file (days since 1970).
    """
    sampled_group = pc.if_else(pc.equal(rows["origin"], "topic"), None, rows["group"])
    return _make_part(
        table,
        day,
        {
            "origin": rows["origin"],
            "cluster_id": rows["cluster_id"],
            "group": sampled_group,
            "last_us": replace_foreign_times(times, day),
        },
    )


def summarize_observations(rows: Any, day: int) -> list[Any]:
    """Return two record batches of FactSummaryRows with a part for each row of `partition_offsets`.

    The first one has parts for samples and backfills, the second one parts for partitions. `day` is in days since 1970.
    """
    at_us = replace_foreign_times(rows["observed_at"], day)
    log_end = rows["log_end_offset"]
    has_log_end = pc.is_valid(log_end)
    sample_columns = {
        "origin": rows["origin"],
        "cluster_id": rows["cluster_id"],
        "topic": pc.if_else(pc.equal(rows["topic"], OFFSETS_TOPIC), rows["topic"], None),
        "sample_us": pc.if_else(pc.equal(rows["origin"], "sample"), at_us, None),
        "last_us": at_us,
        "is_complete": has_log_end,
    }
    # The time of an unknown log end does not count.
    known_at_us = pc.if_else(has_log_end, at_us, None)
    partition_columns = {
        "cluster_id": rows["cluster_id"],
        "topic": rows["topic"],
        "partition": rows["partition"],
        "first_us": known_at_us,
        "last_us": known_at_us,
        "min_end": log_end,
        "max_end": log_end,
    }
    return [_make_part(PARTITION_OFFSETS, day, sample_columns), _make_part(PARTITION_OFFSETS, day, partition_columns)]


def summarize_nothing(_rows: Any, _day: int) -> list[Any]:
    """Return no parts: states are not facts."""
    return []


def _make_part(table: Table, day: int, columns: dict[str, Any]) -> Any:
    """Return a record batch of FactSummaryRows; columns that are not given are null."""
    return make_batch(FactSummaryRows, {**columns, "table": table.name, "day": day}, fill_null=True)
