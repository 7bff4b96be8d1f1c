"""Several clusters: one that fails, is late or comes back; settings that are read again."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from kafka_groups.errors import SettingsError
from kafka_groups.exporter.cluster_poll import PollOptions
from kafka_groups.exporter.poll_schedule import Schedule
from kafka_groups.settings import ConnectionSettings
from tests.exporter.exporters import Exporter, polled, serve, serve_cluster, small_cluster
from tests.fakes.reactions import silent
from tests.fakes.scripted_cluster import ScriptedCluster


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    with small_cluster() as running:
        yield running


def series_of(exporter: Exporter, cluster: str) -> list[str]:
    """Return the lines of the groups of a cluster."""
    lead = f'{{cluster="{cluster}",group='
    return [line for line in exporter.metrics() if lead in line]


def test_every_cluster_has_its_series(cluster: ScriptedCluster) -> None:
    lines: list[str] = []
    with small_cluster(3) as other:
        clusters = [polled(each.settings(), lines, name=name) for name, each in (("a", cluster), ("b", other))]
        with serve(clusters, lines) as exporter:
            text = exporter.metrics()
    assert [line for line in text if line.startswith("kafka_groups_up{")] == [
        'kafka_groups_up{cluster="a"} 1',
        'kafka_groups_up{cluster="b"} 1',
    ]
    groups = [line for line in text if line.startswith("kafka_groups_group_members{")]
    assert [line.partition(",type")[0].partition("{")[2] for line in groups] == [
        *('cluster="a",group="g0"', 'cluster="a",group="g1"'),
        *('cluster="b",group="g0"', 'cluster="b",group="g1"', 'cluster="b",group="g2"'),
    ]


@pytest.mark.slow
def test_a_cluster_that_fails_has_no_old_values(cluster: ScriptedCluster) -> None:
    lines: list[str] = []
    with small_cluster() as other:
        settings = cluster.settings(timeout_s=2.0, connect_timeout_s=1.0)
        clusters = [polled(settings, lines, name="a"), polled(other.settings(), lines, name="b")]
        with serve(clusters, lines) as exporter:
            assert series_of(exporter, "a")
            cluster.close()
            text = exporter.metrics()
            assert series_of(exporter, "a") == []
            assert series_of(exporter, "b")
    assert 'kafka_groups_up{cluster="a"} 0' in text
    assert 'kafka_groups_poll_failures{cluster="a"} 1' in text
    assert [line for line in text if line.startswith('kafka_groups_errors_total{cluster="a",name="')]
    assert 'kafka_groups_up{cluster="b"} 1' in text


def test_a_failure_is_one_line_when_it_begins_and_one_when_it_ends(cluster: ScriptedCluster) -> None:
    lines: list[str] = []
    address = cluster.settings(timeout_s=2.0, connect_timeout_s=1.0)
    current = polled(address, lines)
    with small_cluster() as gone:
        dead = gone.settings(timeout_s=2.0, connect_timeout_s=1.0)
    source = current._source
    with serve([current], lines) as exporter:
        exporter.metrics()
        current._source = source._replace(resolve=lambda: dead)
        current.renew()
        for _ in range(3):
            exporter.metrics()
        current._source = source
        current.renew()
        exporter.metrics()
    assert [line.partition(":")[0] for line in lines] == ["c", "c"]
    assert "CONNECTION_FAILED" in lines[0]
    assert lines[1].startswith("c: no longer: ")


def test_scrapes_at_the_same_time_send_the_requests_of_one(cluster: ScriptedCluster) -> None:
    with serve_cluster(cluster, schedule=Schedule(max_age_s=60.0)) as exporter:
        threads = [threading.Thread(target=exporter.metrics) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert cluster.requests()["ListGroups"] == 1


def test_a_silent_cluster_does_not_delay_a_scrape_beyond_its_timeout(cluster: ScriptedCluster) -> None:
    lines: list[str] = []
    with small_cluster() as other:
        other.script("ListGroups", silent)
        clusters = [polled(each.settings(), lines, name=name) for name, each in (("a", cluster), ("b", other))]
        with serve(clusters, lines) as exporter:
            text = exporter.get(X_Prometheus_Scrape_Timeout_Seconds="1").text
    assert 'kafka_groups_up{cluster="a"} 1\n' in text
    assert 'kafka_groups_up{cluster="b"} 0\n' in text
    assert 'kafka_groups_errors_total{cluster="b",name="TIMEOUT"} 1\n' in text


@pytest.mark.slow
def test_a_silent_broker_hides_only_its_groups() -> None:
    with small_cluster(4, brokers=2) as cluster, serve_cluster(cluster) as exporter:
        exporter.metrics()
        cluster.script("OffsetFetch", *[silent] * 20, brokers=[2])
        text = exporter.get(X_Prometheus_Scrape_Timeout_Seconds="3").text
    assert 'kafka_groups_up{cluster="c"} 1\n' in text
    lags = [line for line in text.splitlines() if line.startswith("kafka_groups_group_lag_messages{")]
    assert [line.partition('group="')[2][:2] for line in lags] == ["g0", "g2"]
    assert 'kafka_groups_errors_total{cluster="c",name="TIMEOUT"} 2\n' in text


def test_renewed_settings_that_cannot_be_used_leave_the_old_ones(cluster: ScriptedCluster) -> None:
    lines: list[str] = []
    current = polled(cluster.settings(), lines)
    source = current._source

    def refuse() -> ConnectionSettings:
        raise SettingsError("profile 'c': no such profile")

    with serve([current], lines) as exporter:
        exporter.metrics()
        current._source = source._replace(resolve=refuse)
        exporter.service.renew()
        text = exporter.metrics()
        assert 'kafka_groups_reload_errors_total{cluster="c"} 1' in text
        assert 'kafka_groups_up{cluster="c"} 1' in text
        current._source = source
        exporter.service.renew()
    assert lines == [
        "c: Error: the settings were not read again, and the old ones stay: profile 'c': no such profile",
        "c: the settings were read again",
    ]


def test_a_cluster_without_a_name_has_that_of_its_id(cluster: ScriptedCluster) -> None:
    lines: list[str] = []
    with serve([polled(cluster.settings(), lines, name=None)], lines) as exporter:
        assert 'kafka_groups_up{cluster="scripted"} 1' in exporter.metrics()


def test_the_limit_of_series_skips_groups_and_says_so_once(cluster: ScriptedCluster) -> None:
    lines: list[str] = []
    options = PollOptions(max_series=17, with_verdicts=True)
    with serve([polled(cluster.settings(), lines, options=options)], lines, options=options) as exporter:
        exporter.metrics()
        text = exporter.metrics()
    assert 'kafka_groups_skipped_groups{cluster="c"} 1' in text
    groups = {line.split('group="')[1][:2] for line in text if ',group="' in line}
    assert groups == {"g0"}
    assert sum('group="g0"' in line for line in text) == 17
    assert lines == ["c: groups without series because of --max-series: 1"]
