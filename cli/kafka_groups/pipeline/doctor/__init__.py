"""What stands in the pipeline's way, and what may surprise: of this machine, of the brokers (cluster.py), of tables."""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from importlib import import_module
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafka_groups.admin import GroupAdmin
from kafka_groups.errors import AdminError, SettingsError, SourceError, SparkMissingError, StorageError
from kafka_groups.java import java_version
from kafka_groups.kinds import Operation, supports
from kafka_groups.model import GroupListing, Results
from kafka_groups.pipeline.doctor.check import FAILED, OK, WARNING, Check
from kafka_groups.pipeline.facts.source.plan import Log, count_between, lost
from kafka_groups.pipeline.facts.source.positions import read_position, was_read
from kafka_groups.pipeline.report.findings import GAPS
from kafka_groups.pipeline.spark.requirements import check_pyspark, find_java
from kafka_groups.pipeline.store import Queries, Storage, open_storage
from kafka_groups.pipeline.store.marker import is_new
from kafka_groups.pipeline.store.root_directory import open_root
from kafka_groups.pipeline.tables import INGEST_GAPS, OFFSET_COMMITS, SCHEMA_VERSION, TABLES, UNKNOWN_RECORDS
from kafka_groups.progress import Progress, ignore_progress

if TYPE_CHECKING:
    from kafka_groups.settings import ConnectionSettings
    from kafka_groups.settings.librdkafka import ClientSettings

_METADATA: Final = "metadata.version"
_MOST_NAMED: Final = 5
# Each once, whatever was read twice.
_UNKNOWN: Final = f"""
    SELECT record_type, value_version, count(*) AS records FROM (
        SELECT DISTINCT {", ".join(UNKNOWN_RECORDS.identity)}, record_type, value_version FROM {{rows}}
    ) GROUP BY record_type, value_version ORDER BY records DESC, record_type, value_version
"""


def examine(
    client: ClientSettings | None,
    into: str | None,
    *,
    environment: Mapping[str, str],
    wire: Callable[[], ConnectionSettings] | None = None,
    progress: Progress = ignore_progress,
) -> list[Check]:
    """Return all checks that can be made with what is known; each that cannot says so. Raises nothing of its own.

    With `client`, requests are sent, each within its timeout, with `wire` also those of `sample`; with `into`, tables
    are looked at.
    """
    progress("checking", 0, 3)
    checks = _examine_machine(environment)
    progress("checking", 1, 3)
    cluster_id: str | None = None
    log: Log | None = None
    if client is None:
        checks.append(Check("brokers", WARNING, "no cluster is named; give -b HOST:PORT or --profile NAME to check it"))
    else:
        from kafka_groups.pipeline.doctor.cluster import examine_cluster

        found, cluster_id, log = examine_cluster(client.properties, client.timeout_s)
        checks += found
        if wire is not None and cluster_id is not None:
            checks += examine_asking(wire)
    progress("checking", 2, 3)
    return checks if into is None else [*checks, *examine_tables(into, cluster_id, log)]


def _examine_machine(environment: Mapping[str, str]) -> list[Check]:
    return [
        Check("python", OK, platform.python_version()),
        _part_of_spark("pyspark", check_pyspark),
        *(_package(name) for name in ("pyarrow", "numpy", "confluent_kafka")),
        _package("plotly", lacking=WARNING),  # only the charts of a page need it
        _part_of_spark("java", lambda: f"Java {java_version(java := find_java(environment))} at {java}"),
    ]


def _part_of_spark(name: str, find: Callable[[], str]) -> Check:
    try:
        return Check(name, OK, find())
    except SparkMissingError as error:
        return Check(name, WARNING, f"{error}; ingest and builds of more than 100,000 facts need it")


def _package(name: str, lacking: str = FAILED) -> Check:
    shown = name.replace("_", "-")
    try:
        return Check(shown, OK, str(import_module(name).__version__))
    except ImportError:
        return Check(shown, lacking, f"{shown} is not installed; run pip install 'kafka-groups[pipeline]'")


def examine_asking(settings: Callable[[], ConnectionSettings]) -> list[Check]:
    """Return checks, each request within the settings' timeout; `settings` may raise SettingsError. Raises nothing."""
    try:
        with GroupAdmin(settings()) as admin:
            checks = [_versions(admin)]
            listed = admin.list_groups()
            return [*checks, _list(listed), *_describe(admin, listed.succeeded), _log_ends(admin)]
    except SettingsError as error:
        return [Check("sample", WARNING, f"sample and backfill cannot connect to these brokers: {error}")]
    except AdminError as error:
        return [Check("sample", FAILED, str(error))]


def _versions(admin: GroupAdmin) -> Check:
    """Check the highest metadata.version of each broker, and the features that the cluster uses, maybe older ones."""
    name = "versions of the brokers"
    responses = admin.describe_features()
    if responses.failed:
        return Check(name, WARNING, _first(responses))
    known = [features.supported.get(_METADATA) for features in responses.succeeded.values()]
    levels = sorted({level for level in known if level is not None})
    if not levels or None in known:
        some = "some brokers have" if levels else "the brokers have"
        return Check(name, WARNING, f"{some} no {_METADATA}: Kafka before 3.0, or with ZooKeeper")
    detail = f"the brokers support {_METADATA} {' and '.join(map(str, levels))}"
    if finalized := next(iter(responses.succeeded.values())).finalized:
        uses = ", ".join(f"{feature} {level}" for feature, level in sorted(finalized.items()))
        detail = f"{detail}; the cluster uses {uses}"
    return Check(name, OK, detail)


def _list(listed: Results[str, GroupListing]) -> Check:
    if listed.failed:
        return Check("list groups", FAILED, _first(listed))
    if not listed.succeeded:
        return Check("list groups", WARNING, "no group was listed: there is none, or this user has DESCRIBE on none")
    count = len(listed.succeeded)
    return Check("list groups", OK, f"{count:,} group{'' if count == 1 else 's'} on which this user has DESCRIBE")


def _describe(admin: GroupAdmin, found: Mapping[str, GroupListing]) -> list[Check]:
    """Check the state and commits of the first group that has both."""
    for name, group in found.items():
        if supports(group, Operation.DESCRIBE):
            responses: tuple[Results[Any, Any], ...] = (
                admin.describe_consumer_groups([name]),
                admin.list_consumer_group_offsets({name: None}),
            )
            if refused := [f"{name}: {_first(response)}" for response in responses if response.failed]:
                return [Check("describe groups", FAILED, refused[0])]
            return [Check("describe groups", OK, f"state, members and commits of {name} were read")]
    return []


def _log_ends(admin: GroupAdmin) -> Check:
    """Check where one topic ends, and how many there are."""
    name = "log end offsets"
    topics = [topic for topic in admin.list_topics().succeeded.values() if not topic.internal and topic.partitions]
    if not topics:
        return Check(name, WARNING, "no topic was listed: there is none, or this user has DESCRIBE on none")
    ends = admin.list_offsets([(topics[0].name, topics[0].partitions[0])])
    if ends.failed:
        return Check(name, FAILED, _first(ends))
    count = f"{len(topics):,} topic{'' if len(topics) == 1 else 's'}"
    return Check(name, OK, f"{count} on which this user has DESCRIBE; the log end offset of {topics[0].name} was read")


def _first(responses: Results[Any, Any]) -> str:
    return next(iter(responses.failed.values())).message


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
    named = (f"type {one['record_type']} version {one['value_version']}: {one['records']:,}" for one in kinds)
    count = sum(one["records"] for one in kinds)
    shown = ", ".join(islice(named, _MOST_NAMED))
    detail = f"{count:,} records were not decoded, and are kept ({shown}); a newer version may decode them"
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
