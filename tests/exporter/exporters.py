"""Exporters of scripted clusters, in this process."""

from __future__ import annotations

import http.client
import ssl
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

from kafka_groups.admin import GroupAdmin
from kafka_groups.exporter.cluster_poll import ClusterSamples, PollOptions
from kafka_groups.exporter.poll_schedule import Schedule
from kafka_groups.exporter.polled_cluster import ClusterSource, PolledCluster, Times
from kafka_groups.exporter.scrape import Page
from kafka_groups.exporter.service import Service
from kafka_groups.exporter.web_config import Access, OpenAccess
from kafka_groups.exporter.web_server import Content, WebServer
from kafka_groups.groups.lag.polls import Polls
from kafka_groups.settings import ConnectionSettings
from tests.fakes.scripted_cluster import Group, ScriptedCluster

TIMEOUT_S = 10.0


class Response(NamedTuple):
    """A response of the server."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def text(self) -> str:
        """Return the body as text."""
        return self.body.decode()


class Exporter(NamedTuple):
    """A server that runs, and the lines that it has printed."""

    server: WebServer
    service: Service
    lines: list[str]

    @property
    def address(self) -> tuple[str, int]:
        """Return host and port."""
        host, port = self.server.server_address[:2]
        return str(host), int(port)

    def get(self, path: str = "/metrics", *, method: str = "GET", **headers: str) -> Response:
        """Return the response to a request; words of names of headers are joined by `_`."""
        connection = http.client.HTTPConnection(*self.address, timeout=TIMEOUT_S)
        return request(connection, path, method=method, **headers)

    def metrics(self) -> list[str]:
        """Return the lines of the metrics."""
        return self.get().text.splitlines()


def request(connection: http.client.HTTPConnection, path: str, *, method: str = "GET", **headers: str) -> Response:
    """Return the response to a request, and close the connection."""
    with closing(connection):
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        found = connection.getresponse()
        return Response(found.status, dict(found.headers), found.read())


def small_cluster(groups: int = 2, *, partitions: int = 2, brokers: int = 1) -> ScriptedCluster:
    """Return a cluster whose groups g0, g1, … have committed 10 of 100 records on each partition of `t`."""
    commits = {("t", partition): 10 for partition in range(partitions)}
    return ScriptedCluster(
        brokers=brokers,
        groups={
            f"g{number}": Group(coordinator=1 + number % brokers, state="Empty", commits=commits)
            for number in range(groups)
        },
        topics={"t": {partition: 1 + partition % brokers for partition in range(partitions)}},
    )


def polled(
    settings: ConnectionSettings,
    lines: list[str],
    *,
    name: str | None = "c",
    options: PollOptions | None = None,
    times: Times | None = None,
) -> PolledCluster:
    """Return a cluster with these settings."""
    samples = ClusterSamples(options or PollOptions(with_verdicts=True), Polls())
    return PolledCluster(ClusterSource(name, lambda: settings, GroupAdmin), samples, lines.append, times or Times())


@contextmanager
def serve(
    clusters: Sequence[PolledCluster],
    lines: list[str],
    *,
    options: PollOptions | None = None,
    schedule: Schedule | None = None,
    access: Access | None = None,
    times: Times | None = None,
) -> Iterator[Exporter]:
    """Yield an exporter of clusters on a free port."""
    service = Service(clusters, schedule or Schedule(), lines.append, times or Times())
    content = Content(
        service.scrape, Page((options or PollOptions(with_verdicts=True)).metrics()).format, service.is_ready
    )
    with WebServer(("127.0.0.1", 0), content, access or OpenAccess(), lines.append) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        service.start()
        thread.start()
        try:
            yield Exporter(server, service, lines)
        finally:
            service.stop()
            server.shutdown()
            thread.join()
            for cluster in clusters:
                cluster.close()


@contextmanager
def serve_cluster(cluster: ScriptedCluster, options: PollOptions | None = None, **more: Any) -> Iterator[Exporter]:
    """Yield an exporter of one cluster, named c."""
    lines: list[str] = []
    with serve([polled(cluster.settings(), lines, options=options)], lines, options=options, **more) as exporter:
        yield exporter


def https_connection(exporter: Exporter, context: ssl.SSLContext) -> http.client.HTTPSConnection:
    """Return a connection with TLS."""
    return http.client.HTTPSConnection(*exporter.address, timeout=TIMEOUT_S, context=context)
