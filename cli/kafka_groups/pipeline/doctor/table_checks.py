"""Checks of the tables in a directory: unknown records, data gaps, and how far ingest has read."""

from __future__ import annotations

from datetime import date
from typing import Final

from kafka_groups.errors import SourceError, StorageError
from kafka_groups.pipeline.doctor.check import FAILED, OK, WARNING, Check
from kafka_groups.pipeline.facts.source.continuity import describe_loss
from kafka_groups.pipeline.facts.source.position import Position
from kafka_groups.pipeline.facts.source.range_plan import count_between
from kafka_groups.pipeline.facts.source.table_positions import read_position, was_read
from kafka_groups.pipeline.report.gaps import count_missing_offsets
from kafka_groups.pipeline.store import Queries, Storage, open_storage
from kafka_groups.pipeline.store.marker import is_new
from kafka_groups.pipeline.store.root_directory import open_root
from kafka_groups.pipeline.store.table_sizes import measure_tables
from kafka_groups.pipeline.tables import OFFSET_COMMITS, SCHEMA_VERSION, UNKNOWN_RECORDS
from kafka_groups.pipeline.tables.sql import Identifier

_NAMED_TYPES: Final = 5
# A record that was read twice counts once.
_UNKNOWN_TYPES: Final = """
    SELECT record_type, value_version, count(*) AS records FROM (
        SELECT DISTINCT {identity}, record_type, value_version FROM {rows}
    ) GROUP BY record_type, value_version ORDER BY records DESC, record_type, value_version
"""
_INGESTED_CLUSTERS: Final = "SELECT DISTINCT cluster_id FROM {rows} WHERE date = {date} AND origin = 'topic'"


def check_tables(data_dir: str, cluster_id: str | None, log: Position | None) -> list[Check]:
    """Return the checks of the tables in a directory. Nothing is raised.

    `cluster_id` is the id of the connected cluster, None without one. `log` has the last stable offsets of
    its `__consumer_offsets`, if they are known.
    """
    try:
        if is_new(open_root(data_dir)):
            detail = f"there are none in {data_dir} yet; ingest, sample and backfill create them"
            return [Check("tables", WARNING, detail)]
        storage = open_storage(data_dir)
        queries = Queries(storage)
        checks = [_check_sizes(storage), _check_unknown_records(queries), _check_gaps(queries)]
    except StorageError as error:
        return [Check("tables", FAILED, str(error))]
    try:
        if cluster_id is None:
            checks.append(_check_ingested_clusters(storage, queries))
        else:
            checks.append(_check_ingest(storage, cluster_id, log))
    except (SourceError, StorageError) as error:
        checks.append(Check("ingest", FAILED, str(error)))
    return checks


def _check_sizes(storage: Storage) -> Check:
    """Return the number of rows of each table that has any. Raises StorageError."""
    rows = [f"{table} {size.rows:,}" for table, size in measure_tables(storage).items() if size.rows]
    return Check("tables", OK, f"schema version {SCHEMA_VERSION}; {', '.join(rows) or 'no rows yet'}")


def _check_unknown_records(queries: Queries) -> Check:
    """Return how many records were not decoded, with the most frequent types. Raises StorageError."""
    name = "unknown records"
    identity = [*map(Identifier, UNKNOWN_RECORDS.identity)]
    types = queries.select(UNKNOWN_RECORDS, _UNKNOWN_TYPES, identity=identity)
    if not types:
        return Check(name, OK, "none")
    count = sum(row["records"] for row in types)
    descriptions = [f"type {row['record_type']} version {row['value_version']}: {row['records']:,}" for row in types]
    shown = ", ".join(descriptions[:_NAMED_TYPES])
    detail = f"{count:,} records were not decoded, and are kept ({shown}); a newer version may decode them"
    return Check(name, WARNING, detail)


def _check_gaps(queries: Queries) -> Check:
    """Return how many offsets had no record when they were read, by the reason. Raises StorageError."""
    missing = count_missing_offsets(queries)
    detail = ", ".join(f"{reason}: {count:,} offsets" for reason, count in sorted(missing.items()))
    # Compacted records were superseded, and transaction markers have no data: only deletion loses something.
    return Check("gaps", WARNING if missing.get("deleted") else OK, detail or "none")


def _check_ingested_clusters(storage: Storage, queries: Queries) -> Check:
    """Return the clusters with records of the newest date. Raises StorageError."""
    dates = storage.dates(OFFSET_COMMITS)
    if not dates:
        return Check("ingest", WARNING, "it has not written to this directory yet")
    rows = queries.select(OFFSET_COMMITS, _INGESTED_CLUSTERS, date=date.fromisoformat(max(dates)))
    clusters = sorted(row["cluster_id"] for row in rows)
    if not clusters:
        return Check("ingest", WARNING, "it has not written to this directory yet")
    return Check("ingest", OK, f"it has run for {', '.join(clusters)}")


def _check_ingest(storage: Storage, cluster_id: str, log: Position | None) -> Check:
    """Return how many offsets of a cluster ingest has left to read. Raises SourceError and StorageError."""
    if not was_read(storage, cluster_id):
        return Check("ingest", WARNING, f"it has not written records of cluster {cluster_id} to this directory yet")
    if log is None:
        return Check("ingest", WARNING, "it has run; its backlog is unknown, because the log end offsets are unknown")
    next_offsets = read_position(storage, cluster_id, log.topic_id, log.next_offsets).start.next_offsets
    problem = describe_loss(next_offsets, log.next_offsets)
    if problem is not None:
        return Check("ingest", FAILED, problem)
    return Check("ingest", OK, f"{count_between(next_offsets, log.next_offsets):,} offsets are left to read")
