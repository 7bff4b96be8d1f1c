"""The tables of a directory: how much is there, what was not understood, what is missing, how far ingest is behind."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafka_groups.errors import SourceError, StorageError
from kafka_groups.pipeline.doctor.check import FAILED, OK, WARNING, Check, Cluster
from kafka_groups.pipeline.schemas import INGEST_GAPS, OFFSET_COMMITS, SCHEMA_VERSION, TABLES, UNKNOWN_RECORDS, Table
from kafka_groups.pipeline.source.log_truncation import lost
from kafka_groups.pipeline.source.plan import ranges_between
from kafka_groups.pipeline.source.positions import read_position, was_read
from kafka_groups.pipeline.storage.root_directory import is_new, open_root

if TYPE_CHECKING:
    import pyarrow as pa

    from kafka_groups.pipeline.storage import Storage

_MOST_NAMED: Final = 5
_RANGE: Final = ("cluster_id", "source_partition", "from_offset", "until_offset")


class Size(NamedTuple):
    """How much a table has; dates are ISO-8601, None without rows."""

    rows: int
    files: int
    bytes: int
    first_date: str | None
    last_date: str | None


def measure(storage: Storage) -> dict[str, Size]:
    """Return every table's size, by name; rows are counted from the files' footers."""
    return {table.name: _size(storage, table) for table in TABLES.values()}


def examine_tables(into: str, cluster: Cluster | None) -> list[Check]:
    """Return the checks of a directory; `cluster` is the one that was connected to, if one was."""
    from kafka_groups.pipeline.storage import open_storage

    try:
        if is_new(open_root(into)):
            detail = f"there are none in {into} yet; ingest, sample and backfill create them"
            return [Check("tables", WARNING, detail)]
        storage = open_storage(into)
        sizes = measure(storage)
        held = ", ".join(f"{name} {size.rows:,}" for name, size in sizes.items() if size.rows) or "no rows yet"
        return [
            Check("tables", OK, f"schema version {SCHEMA_VERSION}; {held}"),
            _unknown(_read(storage, UNKNOWN_RECORDS, [*UNKNOWN_RECORDS.identity, "record_type", "value_version"])),
            _gaps(_read(storage, INGEST_GAPS, [*_RANGE, "reason", "missing"])),
            _behind(storage, cluster),
        ]
    except StorageError as error:
        return [Check("tables", FAILED, str(error))]


def _size(storage: Storage, table: Table) -> Size:
    files = storage.files(table)
    dates = sorted(file.date for file in files)
    return Size(
        rows=_count(storage, table) if files else 0,
        files=len(files),
        bytes=sum(file.bytes for file in files),
        first_date=dates[0] if dates else None,
        last_date=dates[-1] if dates else None,
    )


def _count(storage: Storage, table: Table) -> int:
    return int(_guarded(storage, table, lambda dataset: dataset.count_rows()))


def _read(storage: Storage, table: Table, columns: list[str], dates: list[str] | None = None) -> pa.Table:
    return _guarded(storage, table, lambda dataset: dataset.to_table(columns=columns), dates)


def _guarded(storage: Storage, table: Table, look: Any, dates: list[str] | None = None) -> Any:
    """Return what `look` finds in the files of the table, whatever a crash left beside them."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    paths = [file.path for file in storage.files(table, dates)]
    try:
        return look(ds.dataset(paths, schema=table.arrow(), format="parquet", filesystem=storage.place.fs))
    except (OSError, pa.ArrowException) as error:
        msg = f"the table {table.name} of {storage.into} cannot be read: {error}"
        raise StorageError(msg) from error


def _unknown(rows: pa.Table) -> Check:
    # Each once, whatever was read twice.
    once = rows.group_by(rows.column_names).aggregate([])
    kinds = Counter(
        zip(once["record_type"].to_pylist(), once["value_version"].to_pylist(), strict=True),
    )
    if not kinds:
        return Check("unknown records", OK, "none")
    named = ", ".join(f"type {kind} version {version}: {n:,}" for (kind, version), n in kinds.most_common(_MOST_NAMED))
    detail = f"{once.num_rows:,} records were not decoded, and are kept ({named}); a newer version may decode them"
    return Check("unknown records", WARNING, detail)


def _gaps(rows: pa.Table) -> Check:
    lost: Counter[str] = Counter()
    # Ranges exclude what others of their reason covered before: a topic that is read again is cut otherwise. A topic
    # that was recreated is not distinguished: an offset that both its logs lack counts once.
    covered_until: dict[tuple[str, int, str], int] = {}
    order = [(name, "ascending") for name in _RANGE[:3]] + [("until_offset", "descending")]
    columns = rows.sort_by(order).select([*_RANGE, "reason", "missing"]).columns
    for cluster, partition, start, until, reason, missing in zip(*(each.to_pylist() for each in columns), strict=True):
        last = covered_until.get((cluster, partition, reason), -1)
        lost[reason] += max(0, min(missing, until - max(start, last + 1) + 1))
        covered_until[cluster, partition, reason] = max(last, until)
    detail = ", ".join(f"{reason}: {missing:,} offsets" for reason, missing in sorted(lost.items())) or "none"
    # Compaction and marks of transactions take nothing that was not said again or done with.
    return Check("gaps", WARNING if lost.get("deleted") else OK, detail)


def _behind(storage: Storage, cluster: Cluster | None) -> Check:
    """Return how many offsets there are beyond what ingest has read, in the cluster that was connected to."""
    try:
        return _any_ingest(storage) if cluster is None else _ingest_of(storage, cluster)
    except (SourceError, StorageError) as error:
        return Check("ingest", FAILED, str(error))


def _any_ingest(storage: Storage) -> Check:
    """Name the clusters that have records of the newest date."""
    import pyarrow.compute as pc

    dates = storage.dates(OFFSET_COMMITS)
    rows = _read(storage, OFFSET_COMMITS, ["cluster_id", "origin"], dates[-1:])
    read = set(rows.filter(pc.equal(rows["origin"], "topic"))["cluster_id"].to_pylist())
    detail = f"it has run for {', '.join(sorted(read))}" if read else "it has not written to this directory yet"
    return Check("ingest", OK if read else WARNING, detail)


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
