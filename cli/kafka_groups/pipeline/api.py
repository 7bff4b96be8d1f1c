"""The pipeline's functions for Python programs: notebooks, Airflow, cron.

`settings` are properties by Java's or librdkafka's names, as `GroupAdmin` takes them. `data_dir` is a path or URI;
`ingest`, `sample` and `backfill` create it. All functions raise errors of `kafka_groups.errors`: StorageError for the
tables, AdminError and SourceError for the brokers, and SettingsError for properties.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

from kafka_groups.admin import GroupAdmin
from kafka_groups.pipeline.build.build_plan import ALL_DATES, DateRange, estimate_facts
from kafka_groups.pipeline.build.local_engine import LocalEngine
from kafka_groups.pipeline.build.run import BuildResult
from kafka_groups.pipeline.build.run import build as build_storage
from kafka_groups.pipeline.build.spark_engine import SparkEngine
from kafka_groups.pipeline.facts import ingestion
from kafka_groups.pipeline.facts.backfill import BackfillResult
from kafka_groups.pipeline.facts.backfill import backfill as backfill_storage
from kafka_groups.pipeline.facts.sample import SampleResult
from kafka_groups.pipeline.facts.sample import sample as sample_into_storage
from kafka_groups.pipeline.facts.time_grid import LookupPeriod
from kafka_groups.pipeline.facts.topic_settings import find_compacted
from kafka_groups.pipeline.report.history import History
from kafka_groups.pipeline.report.history_reader import read_history
from kafka_groups.pipeline.report.limits import GroupLimit
from kafka_groups.pipeline.store import open_storage
from kafka_groups.pipeline.store.plain_files import write_plain_files
from kafka_groups.pipeline.tables import TABLES, Table
from kafka_groups.settings import settings_from
from kafka_groups.settings.librdkafka import client_properties
from kafka_groups.suggestions import did_you_mean
from kafka_groups.verdicts import Limits

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from kafka_groups.pipeline.facts.source.datasource import KafkaGroupsSource

__all__ = ["KafkaGroupsSource", "Limits", "backfill", "build", "export", "ingest", "read_table", "report", "sample"]

Settings = Mapping[str, str]
_TIMEOUT_S: Final = 30.0
_MS: Final = timedelta(milliseconds=1)


def ingest(
    spark: SparkSession,
    settings: Settings,
    data_dir: str,
    *,
    records_per_batch: int | None = None,
    timeout_s: float = _TIMEOUT_S,
) -> ingestion.IngestResult:
    """Read the new records of `__consumer_offsets`, and return how many rows each table got.

    A batch has at most `records_per_batch` records, by default a number that suits the backlog; each is committed.
    """
    storage = open_storage(data_dir, create=True)
    properties = client_properties(settings_from(settings))
    return ingestion.ingest(spark, storage, properties, timeout_s=timeout_s, records_per_batch=records_per_batch)


def sample(settings: Settings, data_dir: str) -> SampleResult:
    """Record the current log end offsets, commits and group states, and return how many rows were written.

    Failures of single groups, partitions and brokers are in the result.
    """
    storage = open_storage(data_dir, create=True)
    with GroupAdmin(settings) as admin:
        return sample_into_storage(admin, storage, now_ms=_now_ms)


def backfill(
    settings: Settings,
    data_dir: str,
    *,
    since: timedelta = timedelta(days=7),
    interval: timedelta = timedelta(minutes=1),
    topics: Collection[str] | None = None,
    timeout_s: float = _TIMEOUT_S,
) -> BackfillResult:
    """Look up past log end offsets, and return how many rows were written.

    The times cover the last `since`, at each `interval`. The topics are the given ones, or all that are not internal;
    compacted ones are skipped. `timeout_s` limits each request for settings of topics.
    """
    storage = open_storage(data_dir, create=True)
    properties = client_properties(settings_from(settings))
    now_ms = _now_ms()
    period = LookupPeriod(now_ms - round(since / _MS), now_ms, step_ms=round(interval / _MS), now_ms=now_ms)
    with GroupAdmin(settings) as admin:
        return backfill_storage(
            admin,
            storage,
            period,
            topics=topics,
            exclude_topics=lambda names: find_compacted(properties, timeout_s, names).compacted_topics,
        )


def build(
    data_dir: str,
    *,
    spark: SparkSession | None = None,
    limits: Limits | None = None,
    first: date = ALL_DATES.first,
    last: date = ALL_DATES.last,
    full: bool = False,
) -> BuildResult:
    """Derive the tables of the dates from `first` to `last` that changed, and return their rows and notes.

    With `full`, dates that did not change are derived, too. Without a Spark session, the build runs in this process,
    which suits up to some 100,000 facts.
    """
    storage = open_storage(data_dir)
    limits = limits or Limits()
    dates = DateRange(first, last)
    engine: LocalEngine | SparkEngine = LocalEngine()
    if spark is not None:
        engine = SparkEngine(spark, estimate_facts(storage, limits=limits, selection=dates, full=full))
    return build_storage(storage, engine, limits=limits, selection=dates, full=full)


def report(
    data_dir: str,
    *,
    since: timedelta = timedelta(days=1),
    until: datetime | None = None,
    groups: Collection[str] = (),
    match: str | None = None,
    exclude: str | None = None,
    top: int | None = None,
) -> History:
    """Return the history of groups in a period until now, or `until` (with a time zone), the worst first.

    `groups` are ids; `match` and `exclude` are regular expressions for full ids.
    """
    limit = GroupLimit(top, frozenset(groups))
    until_ms = _now_ms() if until is None else int(until.timestamp() * 1_000)
    return read_history(
        open_storage(data_dir),
        since_ms=until_ms - round(since / _MS),
        until_ms=until_ms,
        groups=groups,
        match=match,
        exclude=exclude,
        shown=limit,
        drawn=limit,
    )


def read_table(spark: SparkSession, data_dir: str, name: str) -> DataFrame:
    """Return the newest version of a table: its documented columns, then `date`, without rows of unfinished samples.

    No jar is needed: workers of Python read the files of an object store. Raises ValueError for an unknown name.
    """
    return open_storage(data_dir).read(spark, _find_table(name))


def export(
    data_dir: str, output: str | Path, *, kind: Literal["parquet", "csv"], tables: Collection[str] | None = None
) -> Mapping[str, int]:
    """Write the named tables, or all, as plain files into an empty or new directory, and return the rows of each.

    Raises ValueError for an unknown name.
    """
    selected = TABLES.values() if tables is None else [*map(_find_table, tables)]
    return write_plain_files(open_storage(data_dir), Path(output), kind, selected)


def _find_table(name: str) -> Table:
    """Return the documented table of this name. Raises ValueError, with the nearest name, if there is none."""
    if name not in TABLES:
        msg = f"there is no table {name!r}; tables are {', '.join(TABLES)}{did_you_mean(name, TABLES)}"
        raise ValueError(msg)
    return TABLES[name]


def _now_ms() -> int:
    """Return the current time in ms since 1970."""
    return time.time_ns() // 1_000_000


def __getattr__(name: str) -> Any:
    """Return the data source, which needs pyspark, when it is used."""
    if name != "KafkaGroupsSource":
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from kafka_groups.pipeline.facts.source.datasource import KafkaGroupsSource

    return KafkaGroupsSource
