"""Hand-made facts and rows of one group on one partition, and the comparison of rows with those of the old commit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.pipeline.proof.differences import Comparison, compare
from tests.pipeline.proof.expected import EXPECTED
from tests.pipeline.proof.random_facts import Row
from tests.pipeline.proof.trees import REPORT_DOCUMENT, REPORT_FINDINGS, REPORT_REBALANCES

TABLES = ("lag_history", "rebalances", "group_status", "group_daily", REPORT_REBALANCES, REPORT_FINDINGS)
CLUSTER = "seed-0007"
ROW = {"lag": 5}


def at(minutes: float) -> datetime:
    return datetime(2026, 11, 18, 12, tzinfo=UTC) + timedelta(minutes=minutes)


def sample(minutes: float, log_end: int, topic_id: str) -> Row:
    place = {"origin": "sample", "topic": "t", "partition": 0, "topic_id": topic_id}
    return place | {"observed_at": at(minutes), "log_end_offset": log_end}


def commit(minutes: float, offset: int | None, origin: str = "topic") -> Row:
    row = {"origin": origin, "group": "g", "topic": "t", "partition": 0, "is_tombstone": offset is None}
    source_offset = int(minutes * 60) if origin == "topic" else None
    return row | {"commit_time": at(minutes), "committed_offset": offset, "source_offset": source_offset}


def event(number: int, kind: str, event_type: str, member: str | None = None, epoch: int | None = None) -> Row:
    row = {"origin": "topic", "group": "g", "record_name": kind, "event_type": event_type, "member_id": member}
    return row | {
        "epoch": epoch,
        "source_offset": number,
        "record_time": at(number),
        "is_tombstone": event_type in {"group_removed", "member_left"},
    }


def compared(**tables: tuple[Row | None, Row | None]) -> Comparison:
    """Return the outcome for one row of each table, given as the old and the new row."""
    old: dict[str, dict[tuple[Any, ...], Row]] = {name: {} for name in (*TABLES, REPORT_DOCUMENT)}
    new: dict[str, dict[tuple[Any, ...], Row]] = {name: {} for name in old}
    for name, rows in tables.items():
        table = name.replace("report_", "report ")
        for side, row in zip((old, new), rows, strict=True):
            if row is not None:
                side[table][CLUSTER, "g"] = row
    return compare(old, new, EXPECTED)


def lag_row(minutes: float, commit_minutes: float, **columns: Any) -> Row:
    place = {"group": "g", "topic": "t", "partition": 0, "observed_at": at(minutes)}
    last = {"commit_time": at(commit_minutes), "commit_origin": "topic", "consume_rate": 1.0}
    return ROW | place | last | columns


def rebalance(minutes: float, **columns: Any) -> Row:
    row = {"group_protocol": "consumer", "generation": 1, "started_at": at(minutes), "ended_at": at(minutes + 1)}
    return row | {"duration_quality": "exact", "members_after": 2, "members_before": 1, "left": ["b"]} | columns
