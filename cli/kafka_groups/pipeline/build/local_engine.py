"""An engine without Spark, for few facts: the first job of a Spark session takes longer than these stages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.build.fact_files import read_facts
from kafka_groups.pipeline.build.keyed_tables import sort_rows
from kafka_groups.pipeline.build.stage_rows import GROUP_KEY, KEY, RowKind, StageRows, read_results
from kafka_groups.pipeline.build.tasks import Task, run_group_task, run_partition_task
from kafka_groups.pipeline.store import DataFile


class LocalEngine:
    """An engine that reads facts into the memory of this process, and runs each stage as one task."""

    def __init__(self) -> None:
        self._rows: Any = None

    def read(self, files: Sequence[DataFile]) -> Any:
        """Read files of facts and states for `run`, and return parts of their summary as a table of FactSummaryRows."""
        rows = pa.Table.from_batches(read_facts(files), schema=StageRows.schema())
        is_result = pc.equal(rows["kind"], int(RowKind.RESULT))
        self._rows = rows.filter(pc.invert(is_result))
        return read_results(rows.filter(is_result), "summary")

    def run(self, task: Task) -> Any:
        """Run the stages over the rows of `read`, and return the rows for the driver as a table of StageRows."""
        is_group_row = pc.is_in(self._rows["kind"], pa.array([RowKind.GROUP_STATE, RowKind.EVENTS], pa.int8()))
        partition_rows = sort_rows(self._rows.filter(pc.invert(is_group_row)), KEY)
        rows_for_groups = run_partition_task(task, iter(partition_rows.to_batches()))
        group_tables = [
            pa.Table.from_batches(rows_for_groups, schema=StageRows.schema()),
            self._rows.filter(is_group_row),
        ]
        group_rows = sort_rows(pa.concat_tables(group_tables), GROUP_KEY)
        return pa.Table.from_batches(run_group_task(task, iter(group_rows.to_batches())), schema=StageRows.schema())
