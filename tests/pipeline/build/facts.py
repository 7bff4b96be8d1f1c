"""Facts of tests as the stages take them: written into a storage, and read as a build reads them."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.build.fact_files import read_facts
from kafka_groups.pipeline.build.fact_summary import FactSummary, summarize
from kafka_groups.pipeline.build.keyed_tables import sort_rows
from kafka_groups.pipeline.build.stage_rows import KEY, RowKind, StageRows, read_results
from kafka_groups.pipeline.tables import FACT_TABLES
from tests.pipeline.fact_rows import new_storage, put_all

Row = Mapping[str, Any]


class StageFacts(NamedTuple):
    """A table of StageRows, sorted by the key of partitions; the summary of the facts; and their days since 1970."""

    rows: Any
    summary: FactSummary
    days: list[int]

    def on(self, day: int) -> Any:
        """Return the rows of a day."""
        return self.rows.filter(pc.equal(self.rows["day"], day))


def stage_facts(facts: Mapping[str, Sequence[Row]]) -> StageFacts:
    """Return the facts of partitions and groups, by the name of their table."""
    with tempfile.TemporaryDirectory() as directory:
        storage = new_storage(Path(directory) / "tables")
        put_all(storage, "b", {name: [dict(row) for row in rows] for name, rows in facts.items()})
        files = [
            replace(file, path=storage.directory.address(file.path))
            for table in FACT_TABLES
            for file in storage.files(table)
        ]
        rows = pa.Table.from_batches(read_facts(files), schema=StageRows.schema())
    is_result = pc.equal(rows["kind"], int(RowKind.RESULT))
    of_stages = rows.filter(pc.invert(is_result))
    days = sorted(pc.unique(of_stages["day"]).to_pylist())
    return StageFacts(sort_rows(of_stages, KEY), summarize(read_results(rows, "summary"), days), days)
