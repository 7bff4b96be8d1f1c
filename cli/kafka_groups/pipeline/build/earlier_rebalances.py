"""Rebalances of the date before a build's dates: a rebalance that ended on a written date may have begun there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.build.fact_files import read_columns
from kafka_groups.pipeline.build.fact_state import FactState
from kafka_groups.pipeline.store import DataFile, NewFile, Storage
from kafka_groups.pipeline.store.data_files import BUILD
from kafka_groups.pipeline.tables import GROUP_DAILY, REBALANCES, Table


def find_changed_rebalances(storage: Storage, day: str, files: Iterable[DataFile]) -> Any:
    """Return the rebalances in new files as an Arrow table; None if the table has the same ones on the date.

    `files` have the rebalances of one date, `day` (YYYY-MM-DD).
    """
    new_rebalances = _read_rows(storage, REBALANCES, files)
    old_rebalances = _read_rows(storage, REBALANCES, storage.files(REBALANCES, [day]))
    return None if new_rebalances.equals(old_rebalances) else new_rebalances


def recount_group_days(storage: Storage, state: FactState, day: str, rebalances: Any) -> list[NewFile]:
    """Count the rebalances of a date (YYYY-MM-DD) again, and return new files of `group_daily` with the new counts.

    `rebalances` are all rebalances of the date, as an Arrow table. There is no file if nothing differs. The count of a
    group without a rebalance is null if it was null before, or if no record of its cluster was read on the date;
    otherwise it is 0.
    """
    old_rows = _read_rows(storage, GROUP_DAILY, storage.files(GROUP_DAILY, [day]))
    key_names = ["cluster_id", "group"]
    rebalance_sums = rebalances.group_by(key_names).aggregate([([], "count_all"), ("duration_ms", "sum")])
    rows_with_sums = old_rows.select([*key_names, "rebalances", "rebalance_ms"]).join(rebalance_sums, key_names)
    # The identity of `group_daily` sorts the old rows in the same way, because they have one date.
    rows_with_sums = rows_with_sums.sort_by([(column_name, "ascending") for column_name in key_names])
    was_cluster_read = pc.is_in(rows_with_sums["cluster_id"], pa.array([*state.clusters_read(day)], pa.string()))
    new_rows = old_rows
    for column_name, sum_name in {"rebalances": "count_all", "rebalance_ms": "duration_ms_sum"}.items():
        sum_without_rebalance = pc.if_else(pc.and_(was_cluster_read, pc.is_valid(rows_with_sums[column_name])), 0, None)
        new_sums = pc.coalesce(rows_with_sums[sum_name], sum_without_rebalance)
        new_rows = new_rows.set_column(new_rows.column_names.index(column_name), column_name, new_sums)
    new_rows = new_rows.cast(old_rows.schema)
    return [] if new_rows.equals(old_rows) else write_rows(storage, GROUP_DAILY, new_rows)


def _read_rows(storage: Storage, table: Table, files: Iterable[DataFile]) -> Any:
    """Return the rows of files of a table, sorted by the table's identity."""
    column_names = table.frame.names()
    batches = [rows for file in files for rows in read_columns(storage.directory.address(file.path), column_names)]
    rows = pa.Table.from_batches(batches, table.arrow())
    return rows.sort_by([(name, "ascending") for name in table.identity])


def write_rows(storage: Storage, table: Table, rows: Any) -> list[NewFile]:
    """Write rows of a derived table from an Arrow table, and return the new files, which are not committed yet."""
    with storage.writer(BUILD) as writer:
        for batch in rows.to_batches():
            writer.write(table, batch)
        return writer.close()
