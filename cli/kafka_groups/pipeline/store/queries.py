"""Queries: SQL on the rows of a table without Spark, by DataFusion, the query engine of deltalake."""

from __future__ import annotations

from functools import cache
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka_groups.pipeline.store.data_files import DataFile
from kafka_groups.pipeline.store.root_directory import RootDirectory
from kafka_groups.pipeline.store.storage import Storage
from kafka_groups.pipeline.tables import Table
from kafka_groups.pipeline.tables.sql import Identifier, Sql, SqlValue, any_of, render_sql

Row: TypeAlias = dict[str, Any]  # A row of a result: values by the names of the selected columns.

_WITHOUT: Final = "(SELECT * FROM {table} WHERE NOT ({unfinished}))"
_OF_SAMPLE: Final = """
    origin = 'sample' AND cluster_id IN ({clusters}) AND CAST({time} AS BIGINT) BETWEEN {first_us} AND {last_us}
"""


class Queries:
    """The queries of one command. Each table is read in the version that was the newest at its first query."""

    def __init__(self, storage: Storage) -> None:
        """Read nothing yet: a table is read when it is first selected from."""
        from deltalake import QueryBuilder

        self._storage = storage
        self._query_builder = QueryBuilder()
        self._from_clause_of = cache(self._register)

    def select(self, table: Table, template: str, /, **template_values: SqlValue) -> list[Row]:
        """Return the rows of a SELECT statement in DataFusion's SQL, rendered by `render_sql` from a template.

        The field `{rows}` is the table without the rows of unfinished samples; every other field is one of
        `template_values`. Times in the table are `timestamp[us, UTC]`, and `date` is its partition column. Select times
        as BIGINT (microseconds since 1970), because a result with a time imports pandas, which takes 0.2 s. If the
        table has no version, no row is returned, not even a count. Raises StorageError if the table cannot be read.
        """
        from_clause = self._from_clause_of(table)
        if from_clause is None:
            return []
        sql = render_sql(template, rows=from_clause, **template_values)
        with self._storage.log(table).as_storage_error():
            reader = pa.RecordBatchReader.from_stream(self._query_builder.execute(sql))
            return list(reader.read_all().to_pylist())

    def _register(self, table: Table) -> Sql | None:
        """Register the newest version of the table with the engine, and return the SQL for its FROM clause.

        Return None if the table has no version.
        """
        log = self._storage.log(table)
        if log.delta_table is None:
            return None
        # Only tables of facts have rows of samples.
        unfinished_files = [] if table.is_derived else self._storage.files(table, unfinished=True)
        table_name = Identifier(table.name)
        with log.as_storage_error():
            self._query_builder.register(table.name, log.delta_table)
            if not unfinished_files:
                return render_sql("{table}", table=table_name)
            conditions = [_is_in_file(self._storage.directory, table, file) for file in unfinished_files]
        return render_sql(_WITHOUT, table=table_name, unfinished=any_of(conditions))


def _is_in_file(directory: RootDirectory, table: Table, file: DataFile) -> Sql:
    """Return the condition that the rows of a sample's file meet: a sample has one cluster and one time."""
    rows = pq.ParquetFile(file.path, filesystem=directory.fs).read(["cluster_id", table.time_column])
    times_us = rows[table.time_column].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    min_and_max = pc.min_max(times_us)
    return render_sql(
        _OF_SAMPLE,
        clusters=rows["cluster_id"].unique().to_pylist(),
        time=Identifier(table.time_column),
        first_us=min_and_max["min"].as_py(),
        last_us=min_and_max["max"].as_py(),
    )
