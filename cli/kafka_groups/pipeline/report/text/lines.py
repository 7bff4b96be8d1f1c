"""A history in rows for programs: a group a line, its values as the document has them, nothing rounded."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Final

from kafka_groups.pipeline.report.history import GroupHistory, History
from kafka_groups.pipeline.report.json.document import history_document
from kafka_groups.pipeline.report.units import longest_rebalance
from kafka_groups.rendering.columns import Column
from kafka_groups.rendering.counts import count_of
from kafka_groups.rendering.schemas import Document
from kafka_groups.rendering.screen import Screen, print_note
from kafka_groups.rendering.writers.whole_result import write_records, write_rows

# What a cell can hold: of points nothing, of rebalances how many there were, and the longest.
COLUMNS: Final = (
    Column("GROUP", "group"),
    Column("CLUSTER", "cluster_id"),
    Column("STATE", "state"),
    Column("MEMBERS", "members"),
    Column("VERDICT", "verdict"),
    Column("RULE", "rule"),
    Column("LAG", "lag"),
    Column("LAG-QUALITY", "lag_quality"),
    Column("TIME-LAG-MS", "time_lag_ms"),
    Column("TIME-LAG-QUALITY", "time_lag_quality"),
    Column("CONSUME-RATE", "consume_rate"),
    Column("PRODUCE-RATE", "produce_rate"),
    Column("CATCH-UP-MS", "catch_up_ms"),
    Column("AS-OF", "evaluated_at"),
    Column("SINCE", "lagging_since"),
    Column("SINCE-IS-BOUND", "lagging_since_is_bound"),
    Column("REMOVED", "removed_at"),
    Column("REMOVED-IS-BOUND", "removed_at_is_bound"),
    Column("IS-UNUSED", "is_unused"),
    Column("REBALANCES", "rebalances"),
    Column("LONGEST-MS", "longest_ms"),
)


def write_history_lines(screen: Screen, history: History, output_format: str) -> None:
    """Write with ndjson each group as it stands in the document, with csv without what has no place in a cell.

    What lines of groups cannot hold is printed on stderr: what is missing, and how much was found besides.
    """
    groups = history_document(history)["groups"]
    if output_format == "csv":
        rows = [_cells(group, document) for group, document in zip(history.groups, groups, strict=True)]
        write_rows(screen, COLUMNS, rows, output_format)
    else:
        write_records(screen, groups)
    besides = [
        count_of(len(found), name) for found, name in ((history.findings, "finding"), (history.gaps, "gap")) if found
    ]
    if besides:
        print_note(screen, f"Omitted: {' and '.join(besides)}; --format json has them all.")
    for text in history.missing:
        print_note(screen, f"Missing: {text}")


def _cells(group: GroupHistory, document: Document) -> SimpleNamespace:
    longest = longest_rebalance(group)
    flat = {key: str(value).lower() if isinstance(value, bool) else value for key, value in document.items()}
    count = None if group.rebalances is None else len(group.rebalances)
    own = {"rebalances": count, "longest_ms": longest.duration_ms if longest else None}
    return SimpleNamespace(**{**flat, **own})
