"""What the code of a tree derives from the facts of some seeds, as rows that can be compared."""

from __future__ import annotations

import json
import operator
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow.dataset as ds

from kafka_groups.pipeline.tables import TABLES
from tests.pipeline.build.histories import Facts
from tests.pipeline.old_commit import environment_of
from tests.pipeline.proof.random_facts import DERIVED, Row, Rows

# The document of the report is compared as rows of these names.
REPORT_GROUPS: Final = "report groups"
REPORT_POINTS: Final = "report points"
REPORT_REBALANCES: Final = "report rebalances"
REPORT_FINDINGS: Final = "report findings"
REPORT_DOCUMENT: Final = "report document"

# Columns of derived tables, and keys of the report's document, that the old commit names otherwise.
_NEW_NAMES: Final = {
    "messages_consumed": "records_consumed",
    "messages_produced": "records_produced",
    "members": "member_count",
    "members_max": "max_members",
    "readers": "active_groups",
    "committed": "groups_with_commits",
    "protocol": "group_protocol",
    "removed_at": "deleted_at",
    "removed_at_is_bound": "deleted_at_is_bound",
}
# Columns of one table that the old commit names otherwise. Another table has a column of the old name.
_NEW_NAMES_BY_TABLE: Final = {"group_daily": {"retention_margin": "min_retention_margin"}}
# Columns of facts that the old commit names otherwise. Each tree reads the names that it knows.
_OLD_FACT_NAMES: Final = {
    "is_tombstone": "tombstone",
    "lookup_offset": "point_offset",
    "lookup_timestamp": "point_time",
    "member_count": "members",
    "record_name": "type",
}
# The old commit calls an upper bound that follows from a timeout a bound, too.
_OLD_QUALITIES: Final = {"timeout": "bound"}
# The old commit has other rules of verdicts, so verdicts and the columns that describe them are not compared. It has no
# rebalances in progress, no known resets, and no tasks of members.
_OF_VERDICTS: Final = frozenset(
    {
        "verdict",
        "rule",
        "complete",
        "window_start",
        "window_end",
        "verdict_since",
        "worst_verdict",
        "rebalancing_ms",
        "offset_before_reset",
        "tasks",
    }
)
_NEW_FINDINGS: Final = frozenset({"known_reset"})
# The document's other values, without the time at which the tables were built.
_NOT_COMPARED: Final = frozenset({"groups", "findings", "made_at"})
_GROUP: Final = ("cluster_id", "group")
_LISTS: Final = ("points", "rebalances")
_PROGRAM: Final = Path(__file__).with_name("tree_program.py")
_PROGRAM_TIMEOUT_S: Final = 3_600


def derive(tree: Path, facts: Facts) -> dict[str, Rows]:
    """Return the rows of the derived tables and of the report that the code of a tree derives, in a process of its own.

    Raises RuntimeError with the end of its stderr if the process fails.
    """
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        facts_file = directory / "facts"
        facts_file.write_bytes(pickle.dumps(_with_old_names(facts)))
        completed = subprocess.run(
            [sys.executable, "-P", str(_PROGRAM), str(facts_file), scratch, *DERIVED],
            cwd=tree,
            env=environment_of(tree),
            capture_output=True,
            text=True,
            check=False,
            timeout=_PROGRAM_TIMEOUT_S,
        )
        if completed.returncode != 0:
            message = f"the code in {tree} ended with {completed.returncode}: {completed.stderr.strip()[-3000:]}"
            raise RuntimeError(message)
        document = json.loads((directory / "report.json").read_text())
        tables = {name: table_rows(directory / "tables" / name, TABLES[name].identity) for name in DERIVED}
        return tables | report_rows(document)


def _with_old_names(facts: Facts) -> dict[str, list[Row]]:
    """Return the facts with each renamed column twice: under its present name, and under the old commit's name."""
    return {
        table: [row | {old: row[new] for new, old in _OLD_FACT_NAMES.items() if new in row} for row in rows]
        for table, rows in facts.items()
    }


def table_rows(directory: Path, identity: tuple[str, ...]) -> Rows:
    """Return the rows of one table's Parquet files, by the values of its identity columns.

    A row has the date of its partition, too. A table without rows has no directory.
    """
    if not directory.is_dir():
        return {}
    rows = ds.dataset(directory, format="parquet", partitioning="hive").to_table()
    new_names = _NEW_NAMES_BY_TABLE.get(directory.name, {})
    renamed_rows = rows.rename_columns([new_names.get(name, name) for name in rows.column_names])
    return index_rows(renamed_rows.to_pylist(), identity)


def index_rows(rows: Iterable[Row], identity: Sequence[str]) -> Rows:
    """Return rows by the values of these columns, with the present names of all columns, without verdicts.

    A repeated key gets a number, 2 or more, at its end.
    """
    indexed: Rows = {}
    for row_as_named in rows:
        row = {_NEW_NAMES.get(name, name): value for name, value in row_as_named.items()}
        if "duration_quality" in row:
            row["duration_quality"] = _OLD_QUALITIES.get(row["duration_quality"], row["duration_quality"])
        first_key = tuple(row.get(name) for name in identity)
        key = first_key
        number = 2
        while key in indexed:
            key = (*first_key, number)
            number += 1
        indexed[key] = {name: value for name, value in row.items() if name not in _OF_VERDICTS}
    return indexed


def report_rows(document: dict[str, Any]) -> dict[str, Rows]:
    """Return a report's document as rows: of groups, their points and rebalances, and findings, and one of the rest.

    The row of a group has the numbers of its points and rebalances, None if these are unknown.
    """
    groups = document["groups"]
    findings = [finding for finding in document["findings"] if finding["kind"] not in _NEW_FINDINGS]
    counts = [{name: None if group[name] is None else len(group[name]) for name in _LISTS} for group in groups]
    return {
        REPORT_GROUPS: index_rows(map(operator.or_, groups, counts), _GROUP),
        REPORT_POINTS: index_rows(_listed_rows(groups, "points"), (*_GROUP, "at")),
        REPORT_REBALANCES: index_rows(_listed_rows(groups, "rebalances"), (*_GROUP, "started_at", "generation")),
        REPORT_FINDINGS: index_rows(findings, ("cluster_id", "kind", "group", "topic")),
        REPORT_DOCUMENT: {(None,): {name: value for name, value in document.items() if name not in _NOT_COMPARED}},
    }


def _listed_rows(groups: Sequence[Row], name: str) -> Iterator[Row]:
    """Yield the elements of a list of each group, with the cluster and the id of the group."""
    for group in groups:
        for element in group[name] or ():
            yield {key: group[key] for key in _GROUP} | element
