"""The tasks of the two stages: each takes sorted rows, writes files of tables, and yields rows for the next step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow.compute as pc

from kafka_groups.pipeline.build.fact_summary import FactSummary
from kafka_groups.pipeline.build.group_batch import GroupBatch
from kafka_groups.pipeline.build.group_stage import build_groups
from kafka_groups.pipeline.build.keyed_tables import batch_by_key
from kafka_groups.pipeline.build.partition_batch import cut_batches
from kafka_groups.pipeline.build.partition_rows import make_group_rows, make_lag_history, make_states
from kafka_groups.pipeline.build.partition_stage import build_partition_days
from kafka_groups.pipeline.build.stage_rows import GROUP_KEY, RowKind, make_file_rows, make_result_rows
from kafka_groups.pipeline.build.stage_settings import StageSettings
from kafka_groups.pipeline.store import new_writer
from kafka_groups.pipeline.store.data_files import BUILD
from kafka_groups.pipeline.tables import GROUP_STATE, LAG_HISTORY, PARTITION_STATE

# A batch of groups has this many bytes of packed rows.
_GROUP_BATCH_BYTES: Final = 8_388_608


@dataclass(frozen=True, slots=True)
class Task:
    """The settings and the summary that every task receives.

    `data_dir` is the path or URI of the tables. States of days before `first_state_day` (days since 1970) are not
    written.
    """

    data_dir: str
    settings: StageSettings
    first_state_day: int
    summary: FactSummary


def run_partition_task(task: Task, rows: Iterator[Any]) -> Iterator[Any]:
    """Write `lag_history` and `partition_state` of complete partitions, and yield the rows for the group stage.

    `rows` are record batches of StageRows sorted by KEY. The last batch that is yielded has the files that were
    written, for the driver.
    """
    with new_writer(task.data_dir, BUILD) as writer:
        for batch in cut_batches(rows):
            for partition_day in build_partition_days(batch, task.settings, task.summary):
                writer.write(LAG_HISTORY, make_lag_history(batch, partition_day))
                if partition_day.day >= task.first_state_day:
                    for states in make_states(batch, partition_day):
                        writer.write(PARTITION_STATE, states)
                yield from make_group_rows(batch, partition_day)
        files = writer.close()
    yield make_file_rows(files)


def run_group_task(task: Task, rows: Iterator[Any]) -> Iterator[Any]:
    """Write the tables of complete groups, and yield all rows for the driver, including those among `rows`.

    `rows` are record batches of StageRows sorted by GROUP_KEY.
    """
    with new_writer(task.data_dir, BUILD) as writer:
        for stage_rows in batch_by_key(rows, GROUP_KEY, _GROUP_BATCH_BYTES, measure=_count_bytes):
            is_result = pc.equal(stage_rows["kind"], int(RowKind.RESULT))
            yield from stage_rows.filter(is_result).to_batches()
            group_rows = stage_rows.filter(pc.invert(is_result))
            if not group_rows.num_rows:
                continue
            for group_day_results in build_groups(GroupBatch.from_rows(group_rows), task.settings, task.summary):
                for table, batch in group_day_results.tables.items():
                    if table is not GROUP_STATE or group_day_results.day >= task.first_state_day:
                        writer.write(table, batch)
                if group_day_results.topic_days is not None:
                    yield make_result_rows("topic_day", group_day_results.topic_days)
        files = writer.close()
    yield make_file_rows(files)


def _count_bytes(rows: Any) -> int:
    payload_bytes: int = rows["payload"].nbytes
    return payload_bytes
