"""All checks of the doctor, as far as a cluster and a directory are given."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kafka_groups.pipeline.doctor.check import WARNING, Check
from kafka_groups.pipeline.doctor.connections import check_all_connections
from kafka_groups.pipeline.doctor.machine import check_machine
from kafka_groups.pipeline.doctor.requests import check_requests
from kafka_groups.pipeline.doctor.table_checks import check_tables
from kafka_groups.pipeline.facts.source.position import Position
from kafka_groups.progress import Progress, ignore_progress

if TYPE_CHECKING:
    from kafka_groups.settings import ConnectionSettings
    from kafka_groups.settings.librdkafka import ClientSettings


def run_checks(
    client: ClientSettings | None,
    data_dir: str | None,
    *,
    environment: Mapping[str, str],
    connection_settings: Callable[[], ConnectionSettings] | None = None,
    progress: Progress = ignore_progress,
) -> list[Check]:
    """Return the checks of this machine, of the brokers that `client` connects to, and of the tables in a directory.

    `client` has the settings of librdkafka; without it, no request is sent. `connection_settings` returns the
    settings for the requests of a sample, or raises SettingsError; without it, these requests are not checked, nor the
    connections to single brokers. Nothing is raised: for a problem, the status of the check is not ok.
    """
    progress("checking", 0, 3)
    checks = check_machine(environment)
    progress("checking", 1, 3)
    cluster_id: str | None = None
    log: Position | None = None
    if client is None:
        checks.append(Check("brokers", WARNING, "no cluster is named; give -b HOST:PORT or --profile NAME to check it"))
    else:
        # Without the extra pipeline there is no confluent-kafka. The checks of this machine report that.
        from kafka_groups.pipeline.doctor.cluster import check_cluster

        is_reached = True
        if connection_settings is not None:
            connections = check_all_connections(connection_settings, time.time())
            checks += connections.checks
            is_reached = connections.is_reached
        if is_reached:
            cluster = check_cluster(client.properties, client.timeout_s)
            cluster_id = cluster.cluster_id
            log = cluster.end_position
            checks += cluster.checks
        if connection_settings is not None and cluster_id is not None:
            checks += check_requests(connection_settings)
    progress("checking", 2, 3)
    if data_dir is not None:
        checks += check_tables(data_dir, cluster_id, log)
    return checks
