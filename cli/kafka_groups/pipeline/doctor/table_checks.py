"""The tables of a directory: how much is there, what was not understood, what is missing, how far ingest is behind."""

from __future__ import annotations

from typing import Final, NamedTuple

from kafka_groups.errors import SourceError, StorageError
from kafka_groups.pipeline.doctor.check import FAILED, OK, WARNING, Check, Cluster
from kafka_groups.pipeline.reports.missing_data import GAPS
from kafka_groups.pipeline.schemas import INGEST_GAPS, OFFSET_COMMITS, SCHEMA_VERSION, TABLES, UNKNOWN_RECORDS
from kafka_groups.pipeline.source.plan import lost, ranges_between
from kafka_groups.pipeline.source.positions import read_position, was_read
from kafka_groups.pipeline.storage import Storage, open_storage
from kafka_groups.pipeline.storage.queries import Queries
from kafka_groups.pipeline.storage.root_directory import is_new, open_root

_MOST_NAMED: Final = 5
# Each once, whatever was read twice.
_UNKNOWN: Final = f"""
    SELECT record_type, value_version, count(*) AS records FROM (
        SELECT DISTINCT {", ".join(UNKNOWN_RECORDS.identity)}, record_type, value_version FROM {{rows}}
    ) GROUP BY record_type, value_version ORDER BY records DESC, record_type, value_version
"""


class Size(NamedTuple):
    """How much a table has; dates are ISO-8601, None without rows."""

    rows: int
    files: int
    bytes: int
    first_date: str | None
    last_date: str | None


def measure(storage: Storage) -> dict[str, Size]:
    """Return every table's size, by name."""
    sizes = {}
    for table in TABLES.values():
        files, dates = storage.files(table), storage.dates(table)
        first, last = min(dates, default=None), max(dates, default=None)
        sizes[table.name] = Size(storage.rows(table), len(files), sum(file.bytes for file in files), first, last)
    return sizes


def examine_tables(into: str, cluster: Cluster | None) -> list[Check]:
    """Return the checks of a directory; `cluster` is the one that was connected to, if one was."""
    try:
        if is_new(open_root(into)):
            detail = f"there are none in {into} yet; ingest, sample and backfill create them"
            return [Check("tables", WARNING, detail)]
        storage = open_storage(into)
        held = ", ".join(f"{name} {size.rows:,}" for name, size in measure(storage).items() if size.rows)
        queries = Queries(storage)
        return [
            Check("tables", OK, f"schema version {SCHEMA_VERSION}; {held or 'no rows yet'}"),
            _unknown(queries),
            _gaps(queries),
            _behind(storage, queries, cluster),
        ]
    except StorageError as error:
        return [Check("tables", FAILED, str(error))]


def _unknown(queries: Queries) -> Check:
    kinds = queries.select(UNKNOWN_RECORDS, _UNKNOWN)
    if not kinds:
        return Check("unknown records", OK, "none")
    named = ", ".join(
        f"type {kind['record_type']} version {kind['value_version']}: {kind['records']:,}"
        for kind in kinds[:_MOST_NAMED]
    )
    count = sum(kind["records"] for kind in kinds)
    detail = f"{count:,} records were not decoded, and are kept ({named}); a newer version may decode them"
    return Check("unknown records", WARNING, detail)


def _gaps(queries: Queries) -> Check:
    sql = f"SELECT reason, sum(missing) AS missing FROM ({GAPS}) GROUP BY reason ORDER BY reason"
    lost_offsets = {row["reason"]: row["missing"] for row in queries.select(INGEST_GAPS, sql)}
    detail = ", ".join(f"{reason}: {missing:,} offsets" for reason, missing in lost_offsets.items())
    # Compaction and marks of transactions take nothing that was not said again or done with.
    return Check("gaps", WARNING if lost_offsets.get("deleted") else OK, detail or "none")


def _behind(storage: Storage, queries: Queries, cluster: Cluster | None) -> Check:
    """Return how many offsets there are beyond what ingest has read, in the cluster that was connected to."""
    try:
        return _any_ingest(storage, queries) if cluster is None else _ingest_of(storage, cluster)
    except (SourceError, StorageError) as error:
        return Check("ingest", FAILED, str(error))


def _any_ingest(storage: Storage, queries: Queries) -> Check:
    """Name the clusters that have records of the newest date."""
    newest = (storage.dates(OFFSET_COMMITS) or ["1970-01-01"])[-1]
    sql = f"SELECT DISTINCT cluster_id FROM {{rows}} WHERE date = DATE '{newest}' AND origin = 'topic'"
    read = sorted(row["cluster_id"] for row in queries.select(OFFSET_COMMITS, sql))
    if not read:
        return Check("ingest", WARNING, "it has not written to this directory yet")
    return Check("ingest", OK, f"it has run for {', '.join(read)}")


def _ingest_of(storage: Storage, cluster: Cluster) -> Check:
    if not was_read(storage, cluster.id):
        return Check("ingest", WARNING, f"it has not written records of cluster {cluster.id} to this directory yet")
    if cluster.ends is None:
        return Check("ingest", WARNING, "it has run; its backlog is unknown, because the log end offsets are unknown")
    starts = read_position(storage, cluster.id, cluster.topic_id, cluster.ends).start.ends
    if (said := lost(starts, cluster.ends)) is not None:
        return Check("ingest", FAILED, said)
    behind = ranges_between(starts, cluster.ends)
    return Check("ingest", OK, f"{sum(one.end - one.start for one in behind):,} offsets are left to read")
