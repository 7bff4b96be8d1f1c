"""What stands in the pipeline's way, and what may surprise: of this machine, of the brokers, of the tables.

The modules of brokers and tables are imported when they are needed: ingest imports this one only for `check_client`.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafka_groups.admin import GroupAdmin
from kafka_groups.errors import AdminError, SettingsError, SourceError, SparkMissingError
from kafka_groups.groups.kinds import Operation, supports
from kafka_groups.java import java_version
from kafka_groups.model import GroupListing, Results
from kafka_groups.pipeline.spark.requirements import check_pyspark, find_java

if TYPE_CHECKING:
    from kafka_groups.pipeline.source.plan import Log
    from kafka_groups.settings import ConnectionSettings
    from kafka_groups.settings.librdkafka import ClientSettings

OK: Final = "ok"
WARNING: Final = "warning"
FAILED: Final = "failed"
_METADATA: Final = "metadata.version"


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
