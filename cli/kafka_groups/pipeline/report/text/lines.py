"""The report as lines for programs: one line for each group, with the exact values of the JSON document."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Final

from kafka_groups.pipeline.report.history import GroupHistory, History
from kafka_groups.pipeline.report.json.document import history_document
from kafka_groups.rendering.columns import Column
from kafka_groups.rendering.counts import count_of
from kafka_groups.rendering.schemas import Document
from kafka_groups.rendering.screen import Screen, print_note
from kafka_groups.rendering.writers.whole_result import write_records, write_rows

# Points and tasks do not fit into a cell. Rebalances are given as their number and the longest duration.
COLUMNS: Final = (
    Column("GROUP", "group"),
    Column("CLUSTER", "cluster_id"),
    Column("STATE", "state"),
    Column("MEMBERS", "members"),
    Column("VERDICT", "verdict"),
    Column("RULE", "rule"),
    Column("VERDICT-SINCE", "verdict_since"),
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
    Column("DELETED", "deleted_at"),
    Column("DELETED-IS-BOUND", "deleted_at_is_bound"),
    Column("IS-UNUSED", "is_unused"),
    Column("REBALANCES", "rebalances"),
    Column("LONGEST-MS", "longest_ms"),
    Column("REBALANCING-MS", "rebalancing_ms"),
)


def write_history_lines(screen: Screen, history: History, output_format: str) -> None:
    """Write a line for each group: as ndjson its object in the document, as csv the values that fit into a cell.

    The lines do not include findings, gaps and missing data. On stderr are the numbers of findings and gaps, and the
    sentences on missing data.
    """
    group_documents = history_document(history)["groups"]
    if output_format == "csv":
        rows = [_make_cells(group, document) for group, document in zip(history.groups, group_documents, strict=True)]
        write_rows(screen, COLUMNS, rows, output_format)
    else:
        write_records(screen, group_documents)
    omitted_parts = []
    if history.findings:
        omitted_parts.append(count_of(len(history.findings), "finding"))
    if history.gaps:
        omitted_parts.append(count_of(len(history.gaps), "gap"))
    if omitted_parts:
        print_note(screen, f"Omitted: {' and '.join(omitted_parts)}; --format json has them all.")
    for sentence in history.missing:
        print_note(screen, f"Missing: {sentence}")


def _make_cells(group: GroupHistory, document: Document) -> SimpleNamespace:
    """Return the values of a group's line of CSV, by the attributes of COLUMNS."""
    longest_rebalance = group.longest_rebalance
    cell_values = {key: str(value).lower() if isinstance(value, bool) else value for key, value in document.items()}
    cell_values["rebalances"] = None if group.rebalances is None else len(group.rebalances)
    cell_values["longest_ms"] = None if longest_rebalance is None else longest_rebalance.duration_ms
    return SimpleNamespace(**cell_values)
