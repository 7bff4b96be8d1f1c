"""The HTTP server: its endpoints, formats, compression and limits."""

from __future__ import annotations

import gzip
import http.client
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
from prometheus_client.openmetrics import parser as openmetrics_parser
from prometheus_client.parser import text_string_to_metric_families as parse_prometheus

from kafka_groups.exporter import web_server
from kafka_groups.exporter.cluster_poll import PollOptions
from kafka_groups.exporter.web_server import accepts_gzip, read_timeout
from kafka_groups.groups.lag.lag_row import LagKey
from tests.exporter.exporters import Exporter, polled, serve, serve_cluster, small_cluster

# It has no types.
parse_openmetrics: Callable[[str], Iterable[Any]] = openmetrics_parser.text_string_to_metric_families
OPENMETRICS = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1"


@pytest.fixture(scope="module")
def exporter() -> Iterator[Exporter]:
    options = PollOptions(by=LagKey.PARTITION, with_verdicts=True)
    with small_cluster() as cluster, serve_cluster(cluster, options) as running:
        yield running


def values_of(families: Iterable[Any]) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Return the values of all samples of groups by name and labels."""
    samples = [sample for family in families for sample in family.samples]
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value for sample in samples if "group" in sample.labels
    }


@pytest.mark.parametrize(
    ("accept", "content_type", "parse"),
    [
        ("", "text/plain; version=0.0.4; charset=utf-8", parse_prometheus),
        ("text/plain", "text/plain; version=0.0.4; charset=utf-8", parse_prometheus),
        (
            OPENMETRICS,
            "application/openmetrics-text; version=1.0.0; charset=utf-8; escaping=underscores",
            parse_openmetrics,
        ),
    ],
)
def test_the_format_is_the_accepted_one(
    exporter: Exporter, accept: str, content_type: str, parse: Callable[[str], Iterable[Any]]
) -> None:
    response = exporter.get(Accept=accept)
    assert (response.status, response.headers["Content-Type"]) == (200, content_type)
    values = values_of(parse(response.text))
    labels = {"cluster": "c", "group": "g0", "type": "Classic"}
    assert values["kafka_groups_group_lag_messages", frozenset(labels.items())] == 180
    partition = {**labels, "topic": "t", "partition": "1"}
    assert values["kafka_groups_partition_committed_offset", frozenset(partition.items())] == 10


def test_both_formats_have_the_same_series(exporter: Exporter) -> None:
    plain = values_of(parse_prometheus(exporter.get().text))
    assert plain == values_of(parse_openmetrics(exporter.get(Accept=OPENMETRICS).text))
    assert len(plain) == 2 * (6 + 5 + 6 + 4)


def test_states_and_verdicts_are_state_sets_in_openmetrics(exporter: Exporter) -> None:
    text = exporter.get(Accept=OPENMETRICS).text
    for name in ("kafka_groups_group_state", "kafka_groups_group_verdict"):
        assert f"# TYPE {name} stateset\n" in text
        assert f"# TYPE {name} gauge\n" in exporter.get().text
    assert "# TYPE kafka_groups_errors counter\n" in text
    assert "# TYPE kafka_groups_build info\n" in text
    assert text.endswith("# EOF\n")
    assert text.count("# EOF\n") == 1


def test_the_process_has_metrics_of_its_own(exporter: Exporter) -> None:
    text = exporter.get().text
    assert "\nprocess_resident_memory_bytes " in text
    assert "# TYPE process_cpu_seconds_total counter\n" in text


def test_gzip_is_sent_where_it_is_accepted(exporter: Exporter) -> None:
    packed = exporter.get(Accept_Encoding="deflate, gzip;q=0.8")
    assert packed.headers["Content-Encoding"] == "gzip"
    assert int(packed.headers["Content-Length"]) == len(packed.body)
    assert "kafka_groups_group_lag_messages{" in gzip.decompress(packed.body).decode()
    assert "Content-Encoding" not in exporter.get(Accept_Encoding="identity").headers


@pytest.mark.parametrize(
    ("header", "is_accepted"),
    [
        ("gzip", True),
        ("GZIP;q=0.5, br", True),
        ("*", True),
        ("", False),
        ("gzip;q=0", False),
        ("gzip; q=0.0", False),
        ("br", False),
    ],
)
def test_gzip_is_accepted_unless_its_weight_is_zero(header: str, is_accepted: bool) -> None:
    assert accepts_gzip(header) is is_accepted


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10", 9.5), ("0.4", 0.2), (None, None), ("", None), ("x", None), ("-1", None), ("inf", None), ("nan", None)],
)
def test_a_scrape_ends_before_the_timeout_that_prometheus_sends(text: str | None, seconds: float | None) -> None:
    assert read_timeout(text) == seconds


@pytest.mark.parametrize(
    ("path", "status", "body"),
    [
        ("/healthz", 200, "OK\n"),
        ("/readyz", 200, "OK\n"),
        ("/nope", 404, "Not Found\n"),
        ("/metrics/", 404, "Not Found\n"),
    ],
)
def test_every_path_has_its_response(exporter: Exporter, path: str, status: int, body: str) -> None:
    response = exporter.get(path)
    assert (response.status, response.text) == (status, body)


def test_the_root_leads_to_the_metrics(exporter: Exporter) -> None:
    assert '<a href="/metrics">' in exporter.get("/").text


def test_a_query_changes_nothing(exporter: Exporter) -> None:
    assert exporter.get("/healthz?x=1").status == 200


def test_head_has_the_headers_of_get_and_no_body(exporter: Exporter) -> None:
    response = exporter.get(method="HEAD")
    assert (response.status, response.body) == (200, b"")
    assert int(response.headers["Content-Length"]) > 1_000


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS"])
def test_other_methods_are_not_allowed(exporter: Exporter, method: str) -> None:
    response = exporter.get(method=method)
    assert (response.status, response.headers["Allow"]) == (405, "GET, HEAD")


def test_headers_that_are_too_long_are_refused(exporter: Exporter) -> None:
    assert exporter.get(X_Long="x" * 70_000).status == 431


def test_an_exporter_without_a_cluster_that_is_up_is_not_ready() -> None:
    with small_cluster() as cluster:
        settings = cluster.settings(timeout_s=1.0, connect_timeout_s=1.0)
    lines: list[str] = []
    with serve([polled(settings, lines)], lines) as exporter:
        response = exporter.get("/readyz")
        assert (response.status, response.text) == (503, "no cluster is up\n")
        assert exporter.get("/healthz").status == 200


def test_a_client_that_sends_nothing_is_disconnected(exporter: Exporter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(web_server._Handler, "timeout", 0.05)
    with socket.create_connection(exporter.address, timeout=5) as client:
        client.sendall(b"GET /metrics HTTP/1.1\r\n")
        assert client.recv(1) == b""
    assert exporter.get("/healthz").status == 200


def test_connections_beyond_the_limit_are_closed(exporter: Exporter) -> None:
    address = exporter.address
    clients = [socket.create_connection(address, timeout=5) for _ in range(web_server._MOST_CONNECTIONS)]
    try:
        with socket.create_connection(address, timeout=5) as late:
            assert late.recv(1) == b""
    finally:
        for client in clients:
            client.close()
    until = time.monotonic() + 5
    while time.monotonic() < until:
        try:
            if exporter.get("/healthz").status == 200:
                return
        except OSError:
            time.sleep(0.01)
    pytest.fail("no connection was accepted again")


def test_a_connection_serves_several_scrapes(exporter: Exporter) -> None:
    connection = http.client.HTTPConnection(*exporter.address, timeout=5)
    for _ in range(3):
        connection.request("GET", "/metrics")
        response = connection.getresponse()
        assert (response.status, b"kafka_groups_up" in response.read()) == (200, True)
    connection.close()
