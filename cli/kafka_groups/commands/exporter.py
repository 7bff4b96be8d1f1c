"""`kafka-groups exporter`: metrics of groups for Prometheus, over HTTP."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import click

from kafka_groups.commands.exporter_options import (
    ExporterOptions,
    exporter_options,
    read_address,
    read_limits,
    read_polling,
    require_partitions_for_all_metrics,
)
from kafka_groups.commands.known_resets import KnownResets
from kafka_groups.commands.record_settings import resolve_with_records
from kafka_groups.errors import ListenError, SettingsError
from kafka_groups.exit_codes import ExitCode
from kafka_groups.groups.lag.lag_row import ISOLATION_LEVELS
from kafka_groups.groups.lag.polls import Polls
from kafka_groups.groups.selection import Selectors
from kafka_groups.options.cluster_session import create_client
from kafka_groups.options.connection import Connection, connection_options_per_poll
from kafka_groups.options.selectors import filter_options, selector_options
from kafka_groups.options.signals import pause, raise_on_sigterm
from kafka_groups.options.topics import parse_topics
from kafka_groups.options.warnings import print_warnings
from kafka_groups.rendering.screen import escape_controls, print_line
from kafka_groups.settings import ConnectionSettings, resolve_settings
from kafka_groups.verdicts import Limits

if TYPE_CHECKING:
    from kafka_groups.exporter.cluster_poll import PollOptions
    from kafka_groups.exporter.polled_cluster import PolledCluster
    from kafka_groups.exporter.service import Service
    from kafka_groups.exporter.web_config import Access
    from kafka_groups.exporter.web_server import Content, WebServer

# The packages of the extra, by the names under which they are imported.
_PACKAGES: Final = ("prometheus_client", "bcrypt", "yaml")
# Searches for reference cycles after this number of objects: samples have none, and are many.
_GC_THRESHOLDS: Final = (100_000, 20, 100)
_CHECK_S: Final = 60.0


@click.command()
@selector_options
@filter_options
@exporter_options
@connection_options_per_poll
def exporter(*, selectors: Selectors, options: ExporterOptions, connection: Connection) -> None:
    """Serve the lag of groups to Prometheus.

    The server speaks HTTP. /metrics has the metrics of `lag --format openmetrics`, with the label cluster, and
    kafka_groups_up of each cluster: 0 if its last poll failed, and then it has no other values. /healthz responds while
    the process runs, /readyz once a cluster is up. Each scrape polls, unless --max-age or --interval say otherwise;
    scrapes at the same time share a poll, and the scrape timeout that Prometheus sends limits it.

    SIGHUP reads the profiles and secrets again; if they cannot be used, the old ones stay. SIGTERM ends the exporter.

    Needs Kafka 0.11 or newer, and the extra exporter. Rights: DESCRIBE on each group and on its topics; for --time READ
    and DESCRIBE_CONFIGS on the topics.

    \b
    Examples:
      kafka-groups exporter -b localhost:9092
      kafka-groups exporter --listen 0.0.0.0:9465 --all-profiles --interval 30s
    """
    _require_packages()
    polling = read_polling(options)
    address = read_address(options.listen)
    require_partitions_for_all_metrics(options)
    limits = read_limits(options)
    from kafka_groups.exporter.cluster_poll import PollOptions
    from kafka_groups.exporter.poll_schedule import Schedule
    from kafka_groups.exporter.polled_cluster import Times
    from kafka_groups.exporter.scrape import Page
    from kafka_groups.exporter.service import Service
    from kafka_groups.exporter.web_config import open_access
    from kafka_groups.exporter.web_server import Content

    isolation_level = next(level for level, name in ISOLATION_LEVELS.items() if name == options.isolation)
    poll_options = PollOptions(
        selectors=selectors,
        topics=parse_topics(options.topics),
        by=options.key,
        isolation_level=isolation_level,
        with_time=options.with_time,
        with_verdicts=options.with_verdicts,
        with_all=options.with_all_metrics,
        max_series=options.max_series,
    )
    access = open_access(options.web_config)
    with raise_on_sigterm():
        clusters = [
            _make_cluster(each, poll_options, limits)
            for each in (connection.by_profile() if connection.profiles else [connection])
        ]
        _require_usable_settings(clusters)
        service = Service(clusters, Schedule(*polling), _log, Times())
        content = Content(service.scrape, Page(poll_options.metrics()).format, service.is_ready)
        server = _open_server(address, content, access)
        with server, _renewal_on_sighup(service) as renew_if_requested, _immediate_end():
            gc.set_threshold(*_GC_THRESHOLDS)
            service.start()
            threading.Thread(target=server.serve_forever, name="server", daemon=True).start()
            _log(f"listening on {server.url}")
            while True:
                pause(_CHECK_S)
                renew_if_requested()


def _open_server(address: tuple[str, int], content: Content, access: Access) -> WebServer:
    """Return the server. Raises ListenError if it cannot listen on the address."""
    from kafka_groups.exporter.web_server import WebServer

    try:
        return WebServer(address, content, access, _log)
    except OSError as error:
        host, port = address
        msg = f"cannot listen on {f'[{host}]' if ':' in host else host}:{port}: {error.strerror or error}"
        raise ListenError(msg) from None


def _require_packages() -> None:
    """Raise SettingsError if a package of the extra exporter is not installed."""
    if missing := [name for name in _PACKAGES if find_spec(name) is None]:
        names = ", ".join(missing)
        msg = f"the exporter needs {names}, which is not installed; run pip install 'kafka-groups[exporter]'"
        raise SettingsError(msg)


def _make_cluster(connection: Connection, options: PollOptions, limits: Limits) -> PolledCluster:
    from kafka_groups.exporter.cluster_poll import ClusterSamples
    from kafka_groups.exporter.polled_cluster import ClusterSource, PolledCluster, Times

    resolve = resolve_with_records if options.with_time else resolve_settings

    def resolve_with_warnings() -> ConnectionSettings:
        settings = resolve(**connection.sources())
        print_warnings(settings.warnings)
        return settings

    source = ClusterSource(connection.profile, resolve_with_warnings, create_client)
    polls = Polls(limits=limits)
    cluster = PolledCluster(source, ClusterSamples(options, polls), _log, Times())
    polls.find_reset_run = KnownResets(cluster.cluster_id)
    return cluster


def _require_usable_settings(clusters: list[PolledCluster]) -> None:
    """Read the settings of all clusters. Raises the first error if those of no cluster can be used."""
    errors: list[SettingsError] = []
    for cluster in clusters:
        try:
            cluster.renew()
        except SettingsError as error:
            errors.append(error)
    if len(errors) == len(clusters):
        raise errors[0]


@contextmanager
def _renewal_on_sighup(service: Service) -> Iterator[partial[None]]:
    """Yield a function that reads the settings again if SIGHUP was received since it was last called."""
    is_requested = threading.Event()

    def renew_if_requested() -> None:
        if is_requested.is_set():
            is_requested.clear()
            service.renew()

    if sys.platform != "win32":
        signal.signal(signal.SIGHUP, lambda _number, _frame: is_requested.set())
    yield partial(renew_if_requested)


@contextmanager
def _immediate_end() -> Iterator[None]:
    """End the process at a signal, without Python's clean-up: that takes seconds after polls of large clusters."""
    try:
        yield
    except (KeyboardInterrupt, SystemExit) as ended:
        # Nothing is left to write: stderr is written line by line, and threads have no files.
        os._exit(ExitCode.INTERRUPTED if isinstance(ended, KeyboardInterrupt) else ExitCode.TERMINATED)


def _log(text: str) -> None:
    """Print a line on stderr."""
    print_line(sys.stderr, escape_controls(text))
