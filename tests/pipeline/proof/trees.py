"""What the code of a tree derives from the facts of some seeds, as rows that can be compared."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import pyarrow.dataset as ds

from kafka_groups.pipeline.tables import TABLES
from tests.pipeline.build.histories import Facts
from tests.pipeline.old_commit import environment_of
from tests.pipeline.proof.random_facts import DERIVED, Row, Rows

# The document of the report is compared as rows of these names.
REPORT_GROUPS: Final = "report groups"
REPORT_FINDINGS: Final = "report findings"
REPORT_DOCUMENT: Final = "report document"
COMPARED: Final = (*DERIVED, REPORT_GROUPS, REPORT_FINDINGS, REPORT_DOCUMENT)

# The document's other values, without the time at which the tables were built.
_NOT_COMPARED: Final = frozenset({"groups", "findings", "made_at"})
_PROGRAM: Final = Path(__file__).with_name("tree_program.py")
_PROGRAM_TIMEOUT_S: Final = 3_600


def derive(tree: Path, facts: Facts) -> dict[str, Rows]:
    """Return the rows of COMPARED that the code of a tree derives, in a process of its own.

    Raises RuntimeError with the end of its stderr if the process fails.
    """
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        facts_file = directory / "facts"
        facts_file.write_bytes(pickle.dumps(facts))
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


def table_rows(directory: Path, identity: tuple[str, ...]) -> dict[tuple[Any, ...], Row]:
    """Return the rows of one table's Parquet files, by the values of its identity columns.

    A row has the date of its partition, too. A second row with the same identity gets a key with the number 2 at its
    end. A table without rows has no directory.
    """
    rows: Rows = {}
    if directory.is_dir():
        for row in ds.dataset(directory, format="parquet", partitioning="hive").to_table().to_pylist():
            key = tuple(row.get(name) for name in identity)
            number = 2
            while key in rows:
                key = (*key[: len(identity)], number)
                number += 1
            rows[key] = row
    return rows


def report_rows(document: dict[str, Any]) -> dict[str, Rows]:
    """Return a report's document as rows: one for each group, one for each finding, and one for all other values."""
    groups = {(group["cluster_id"], group["group"]): group for group in document["groups"]}
    findings = {
        (finding["cluster_id"], finding["kind"], finding["group"], finding["topic"]): finding
        for finding in document["findings"]
    }
    others = {name: value for name, value in document.items() if name not in _NOT_COMPARED}
    return {REPORT_GROUPS: groups, REPORT_FINDINGS: findings, REPORT_DOCUMENT: {(None,): others}}
