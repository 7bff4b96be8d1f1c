"""What stands in the pipeline's way, and what may surprise: of this machine, of the brokers, of the tables.

The module of each part is imported when it is needed, since ingest imports this one only for `check_client`.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_groups.errors import SettingsError, SourceError, SparkMissingError
from kafka_groups.java import java_version
from kafka_groups.pipeline.spark.requirements import check_pyspark, find_java

if TYPE_CHECKING:
    from kafka_groups.pipeline.source.plan import Log
    from kafka_groups.settings import ConnectionSettings
    from kafka_groups.settings.librdkafka import ClientSettings

OK: Final = "ok"
WARNING: Final = "warning"
FAILED: Final = "failed"


class Check(NamedTuple):
    """What was looked at, how it is (ok, warning, failed), and what was found or helps."""

    check: str
    status: str
    detail: str


def examine(
    client: ClientSettings | None,
    into: str | None,
    *,
    environment: Mapping[str, str],
    wire: Callable[[], ConnectionSettings] | None = None,
    progress: Callable[[str, int, int], None] = lambda _what, _done, _total: None,
) -> list[Check]:
    """Return all checks that can be made with what is known; each that cannot says so. Raises nothing of its own.

    With `client`, requests are sent, each within its `timeout_s`, with `wire` also those of `sample`; with `into`,
    tables are looked at. Nothing is changed anywhere.
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
        from kafka_groups.pipeline.doctor.rights import examine_asking

        found, cluster_id, log = examine_cluster(client.properties, client.timeout_s)
        checks += found
        if wire is not None and cluster_id is not None:
            checks += examine_asking(wire)
    progress("checking", 2, 3)
    if into is not None:
        from kafka_groups.pipeline.doctor.table_checks import examine_tables

        checks += examine_tables(into, cluster_id, log)
    return checks


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


def check_client(properties: Mapping[str, str]) -> None:
    """Raise SettingsError with librdkafka's own words if it does not take these properties."""
    from kafka_groups.pipeline.source.brokers import new_consumer

    try:
        new_consumer(properties).close()
    except SourceError as error:
        raise SettingsError(str(error)) from error
