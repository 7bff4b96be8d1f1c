"""SQL on the tables, by the query engine of the library that reads their logs. It needs no JVM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from kafka_groups.pipeline.schemas import Table
from kafka_groups.pipeline.storage.delta_log import DeltaLog
from kafka_groups.pipeline.storage.storage import Storage

if TYPE_CHECKING:
    from deltalake import QueryBuilder

Row = dict[str, Any]
_ROWS: Final = "{rows}"


class Queries:
    """Queries on the versions of the tables that were the newest when each table was first used."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self._builder: QueryBuilder | None = None
        self._sources: dict[str, str | None] = {}

    def select(self, table: Table, sql: str) -> list[Row]:
        """Return what SQL of DataFusion selects from the rows of the table, which are named {rows} in it.

        Times are of `timestamp[us, UTC]`, and `date` is the partition. A result with times imports pandas, which takes
        0.2 s: cast them to BIGINT. A table without a version has no rows: nothing is returned then, whatever the SQL
        would return for no rows. Raises StorageError.
        """
        log = self._storage.log(table)
        if table.name not in self._sources:
            self._sources[table.name] = self._register(table, log)
        source = self._sources[table.name]
        if source is None:
            return []
        with log.as_storage_error():
            assert self._builder is not None
            reader = pa.RecordBatchReader.from_stream(self._builder.execute(sql.replace(_ROWS, source)))
            rows: list[Row] = reader.read_all().to_pylist()
            return rows

    def _register(self, table: Table, log: DeltaLog) -> str | None:
        from deltalake import QueryBuilder

        if log.opened is None:
            return None
        # Only tables of facts have rows of samples.
        lost = () if table.derived else self._storage.files(table, unfinished=True)
        with log.as_storage_error():
            self._builder = (self._builder or QueryBuilder()).register(table.name, log.opened)
            conditions = [_is_of_file(self._storage, table, file.path) for file in lost]
        return f"(SELECT * FROM {table.name} WHERE NOT ({' OR '.join(conditions)}))" if conditions else table.name


def _is_of_file(storage: Storage, table: Table, path: str) -> str:
    """Return the condition of the rows in a file of a sample, which has one cluster and one time."""
    rows = pq.ParquetFile(path, filesystem=storage.place.fs).read(["cluster_id", table.dated_by])
    first, last = pc.min_max(rows[table.dated_by].cast(pa.timestamp("us", "UTC")).cast(pa.int64())).values()
    clusters = ", ".join(map(quote, rows["cluster_id"].unique().to_pylist()))
    span = f"CAST({table.dated_by} AS BIGINT) BETWEEN {first.as_py()} AND {last.as_py()}"
    return f"(origin = 'sample' AND cluster_id IN ({clusters}) AND {span})"


def quote(text: str) -> str:
    """Return a text as SQL writes it; one that holds the name of the rows is divided, so that nothing replaces it."""
    quoted = "'" + text.replace("'", "''") + "'"
    return quoted.replace(_ROWS, "{' || 'rows}")
