"""What stands in the pipeline's way, and what may surprise: of this machine, of the brokers, of the tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kafka_groups.errors import SettingsError, SourceError
from kafka_groups.pipeline.doctor.check import WARNING, Check, Cluster, examine_machine
from kafka_groups.pipeline.doctor.table_checks import examine_tables, measure

if TYPE_CHECKING:
    from kafka_groups.settings import ConnectionSettings
    from kafka_groups.settings.librdkafka import ClientSettings

__all__ = ["Check", "check_client", "examine", "measure"]


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
    parts = 3
    progress("checking", 0, parts)
    checks = examine_machine(environment)
    progress("checking", 1, parts)
    cluster: Cluster | None = None
    if client is None:
        checks.append(Check("brokers", WARNING, "no cluster is named; give -b HOST:PORT or --profile NAME to check it"))
    else:
        # Not imported before: the commands ingest and tables use this module without waiting for a Kafka client.
        from kafka_groups.pipeline.doctor.cluster import examine_cluster
        from kafka_groups.pipeline.doctor.rights import examine_asking

        found, cluster = examine_cluster(client.properties, client.timeout_s)
        checks += found
        if wire is not None and cluster is not None:
            checks += examine_asking(wire)
    progress("checking", 2, parts)
    return checks if into is None else [*checks, *examine_tables(into, cluster)]


def check_client(properties: Mapping[str, str]) -> None:
    """Raise SettingsError with librdkafka's own words if it does not take these properties."""
    from kafka_groups.pipeline.source.brokers import new_consumer

    try:
        new_consumer(properties).close()
    except SourceError as error:
        raise SettingsError(str(error)) from error
