"""What stands in the pipeline's way, and what may surprise: of this machine, of the brokers, of the tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kafka_groups.errors import SettingsError, SourceError
from kafka_groups.pipeline.examining.check import FAILED, OK, WARNING, Check, Cluster
from kafka_groups.pipeline.examining.holdings import examine_tables, measure

if TYPE_CHECKING:
    from kafka_groups.settings.librdkafka import ClientSettings

__all__ = ["FAILED", "OK", "WARNING", "Check", "check_client", "check_readable", "examine", "measure"]


def examine(
    client: ClientSettings | None,
    into: str | None,
    *,
    environment: Mapping[str, str],
    progress: Callable[[str, int, int], None] = lambda _what, _done, _total: None,
) -> list[Check]:
    """All checks that can be made with what is known; each that cannot says so. Raises nothing of its own.

    With `client`, brokers are asked, each question within its `timeout_s`; with `into`, tables are looked at.
    Nothing is changed anywhere.
    """
    from kafka_groups.pipeline.examining.machine import examine_machine

    parts = 3
    progress("checking", 0, parts)
    checks = examine_machine(environment)
    progress("checking", 1, parts)
    cluster: Cluster | None = None
    if client is None:
        told = "no cluster is named; give -b HOST:PORT or --profile NAME to have it checked"
        checks.append(Check("brokers", WARNING, told))
    else:
        from kafka_groups.pipeline.examining.cluster import examine_cluster

        found, cluster = examine_cluster(client.properties, client.timeout_s)
        checks += found
    progress("checking", 2, parts)
    if into is not None:
        checks += examine_tables(into, cluster)
    return checks


def check_client(properties: Mapping[str, str]) -> None:
    """SettingsError with librdkafka's own words if it does not take these properties."""
    from kafka_groups.pipeline.source.brokers import new_consumer

    try:
        new_consumer(properties).close()
    except SourceError as error:
        raise SettingsError(str(error)) from error


def check_readable(client: ClientSettings) -> str | None:
    """SourceError for what would else be told once Spark has started; a sentence if there is nothing to read.

    That the topic may be described is all that is looked at; whether it may be read, the tasks will see.
    """
    from kafka_groups.pipeline.source.brokers import TOPIC, Brokers

    brokers = Brokers(client.properties, client.timeout_s)
    brokers.cluster_id()
    return None if brokers.partitions() else f"{TOPIC} does not exist yet: no group has ever been on this cluster."
