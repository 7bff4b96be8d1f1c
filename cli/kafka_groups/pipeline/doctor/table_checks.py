"""The tables of a directory: how much is there, what was not understood, what is missing, how far ingest is behind."""

from __future__ import annotations

from typing import Final, NamedTuple

from kafka_groups.errors import SourceError, StorageError
from kafka_groups.pipeline.doctor import FAILED, OK, WARNING, Check
from kafka_groups.pipeline.reports.findings import GAPS
from kafka_groups.pipeline.schemas import INGEST_GAPS, OFFSET_COMMITS, SCHEMA_VERSION, TABLES, UNKNOWN_RECORDS
from kafka_groups.pipeline.source.plan import Log, count_between, lost
from kafka_groups.pipeline.source.positions import read_position, was_read
from kafka_groups.pipeline.storage import Queries, Storage, open_storage
from kafka_groups.pipeline.storage.layout import is_new
from kafka_groups.pipeline.storage.root_directory import open_root

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
        files = storage.files(table)
        dates = [file.date for file in files]
        rows, size = sum(file.rows for file in files), sum(file.bytes for file in files)
        sizes[table.name] = Size(rows, len(files), size, min(dates, default=None), max(dates, default=None))
    return sizes


def examine_tables(into: str, cluster_id: str | None, log: Log | None) -> list[Check]:
    """Return the checks of a directory; a cluster that was connected to has an id, and a log if that is known."""
    try:
        if is_new(open_root(into)):
            return [Check("tables", WARNING, f"there are none in {into} yet; ingest, sample and backfill create them")]
        storage = open_storage(into)
        held = ", ".join(f"{name} {size.rows:,}" for name, size in measure(storage).items() if size.rows)
        queries = Queries(storage)
        checks = [Check("tables", OK, f"schema version {SCHEMA_VERSION}; {held or 'no rows yet'}")]
        checks += _unknown(queries), _gaps(queries)
    except StorageError as error:
        return [Check("tables", FAILED, str(error))]
    try:
        return [*checks, _behind(storage, queries, cluster_id, log)]
    except (SourceError, StorageError) as error:
        return [*checks, Check("ingest", FAILED, str(error))]


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


def _behind(storage: Storage, queries: Queries, cluster_id: str | None, log: Log | None) -> Check:
    """Check how many offsets there are beyond what ingest has read, in the cluster that was connected to."""
    if cluster_id is None:
        # Clusters with records of the newest date.
        newest = max(storage.dates(OFFSET_COMMITS), default="1970-01-01")
        sql = f"SELECT DISTINCT cluster_id FROM {{rows}} WHERE date = DATE '{newest}' AND origin = 'topic'"
        if read := sorted(row["cluster_id"] for row in queries.select(OFFSET_COMMITS, sql)):
            return Check("ingest", OK, f"it has run for {', '.join(read)}")
        return Check("ingest", WARNING, "it has not written to this directory yet")
    if not was_read(storage, cluster_id):
        return Check("ingest", WARNING, f"it has not written records of cluster {cluster_id} to this directory yet")
    if log is None:
        return Check("ingest", WARNING, "it has run; its backlog is unknown, because the log end offsets are unknown")
    starts = read_position(storage, cluster_id, log.topic_id, log.ends).start.ends
    if (said := lost(starts, log.ends)) is not None:
        return Check("ingest", FAILED, said)
    return Check("ingest", OK, f"{count_between(starts, log.ends):,} offsets are left to read")
