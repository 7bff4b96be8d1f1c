"""A real Prometheus scrapes the exporter, and the rules of docs/ fire for what has stopped, and for nothing else."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from tests.commands.several_clusters import NO_BROKER
from tests.exporter.exporter_process import parse_metrics, start_exporter
from tests.fakes.cluster_profiles import ClusterProfiles
from tests.live.exporter.moving_group import commit_offset, moving_group
from tests.live.exporter.prometheus_server import PrometheusServer, start_prometheus
from tests.live.groups.conditions import wait_until
from tests.live.groups.topics import fill, make_topic, unique_name

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

repeated = pytest.mark.usefixtures("repetition")
pytestmark = [pytest.mark.live, pytest.mark.timeout(1800)]
_STOP_AFTER: Final = ("--verdicts", "--stop-after", "4s")
_PROMETHEUS: Final = "prometheus"
_QUIET_S: Final = 10


@pytest.fixture
def profiles(tmp_path: Path, cluster: Cluster) -> Path:
    """Return the directory of profiles: `real` is the cluster, and nothing listens at `gone`."""
    written = ClusterProfiles(tmp_path)
    written.add("real", cluster.bootstrap)
    written.add("gone", NO_BROKER)
    return tmp_path


@pytest.mark.parametrize("by", ["group", "topic", "partition"])
def test_promtool_finds_nothing_wrong_in_the_metrics(
    program: Callable[[str], str], cluster: Cluster, profiles: Path, by: str
) -> None:
    promtool = program("promtool")
    group = unique_name("checked")
    topic = make_topic(cluster.bootstrap, records=5)
    commit_offset(cluster.bootstrap, group, topic, 2)
    more = ("--all-metrics",) if by == "partition" else ()
    options = ("--by", by, "--time", "--verdicts", "--match", f"{group}.*", "--timeout", "2s", *more)
    with start_exporter(profiles, "--profile", "real,gone", *options) as exporter:
        exporter.scrape()
        text = exporter.text()
        assert parse_metrics(text, is_openmetrics=False).value("kafka_groups_group_lag_messages", group=group) == 3
        assert exporter.scrape(is_openmetrics=True).value("kafka_groups_up", cluster="gone") == 0
    run = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


@pytest.mark.parametrize("by", ["group", "partition"])
def test_prometheus_stores_what_the_groups_have(
    program: Callable[[str], str], cluster: Cluster, profiles: Path, by: str
) -> None:
    prometheus = program(_PROMETHEUS)
    group = unique_name("scraped")
    topic = make_topic(cluster.bootstrap, records=5, partitions=1)
    commit_offset(cluster.bootstrap, group, topic, 2)
    options = ("--profile", "real", "--match", group, "--by", by)
    with (
        start_exporter(profiles, *options) as exporter,
        start_prometheus(prometheus, profiles, [exporter.port]) as server,
    ):
        expression = f'kafka_groups_{by}_lag_messages{{cluster="real",group="{group}"}}'
        wait_until(lambda: bool(server.query(expression)), lambda: f"no lag: {server.targets()}")
        ((labels, value),) = server.query(expression)
        assert value == 3
        assert labels["type"] == "Classic"
        (state,) = server.query(f'kafka_groups_group_state{{group="{group}"}} == 1')
        assert state[0]["kafka_groups_group_state"] == "Empty"
        commit_offset(cluster.bootstrap, group, topic, 5)
        wait_until(
            lambda: [found for _, found in server.query(expression)] == [0], lambda: str(server.query(expression))
        )
        assert {*server.targets().values()} == {"up"}


@repeated
def test_rules_fire_for_a_stopped_group_and_not_for_a_healthy_one(
    program: Callable[[str], str], cluster: Cluster, profiles: Path
) -> None:
    prometheus = program(_PROMETHEUS)
    lead = unique_name("alert")
    healthy, stopped = f"{lead}-healthy", f"{lead}-stopped"
    moving_topic = make_topic(cluster.bootstrap)
    topic = make_topic(cluster.bootstrap, records=5)
    commit_offset(cluster.bootstrap, stopped, topic, 2)
    options = ("--profile", "real,gone", "--match", f"{lead}-.*", *_STOP_AFTER)
    with (
        moving_group(cluster.bootstrap, healthy, moving_topic),
        start_exporter(profiles, *options) as exporter,
        start_prometheus(prometheus, profiles, [exporter.port]) as server,
    ):
        _await_alerts(server, ("KafkaGroupStopped", stopped), ("KafkaClusterNotRead", "gone"))
        # The healthy group is watched for longer than the stopped one was.
        seen = _alerts_within(server, _QUIET_S)
        assert {name for name in seen if name[1] == healthy} == set()
        assert [value for _, value in server.query(f'kafka_groups_group_lag_messages{{group="{healthy}"}}')] != [0]
        fill(cluster.bootstrap, topic, partitions=1, records=1)
        commit_offset(cluster.bootstrap, stopped, topic, 6)
        wait_until(
            lambda: ("KafkaGroupStopped", stopped) not in server.firing(), lambda: f"still firing: {server.firing()}"
        )


def _await_alerts(server: PrometheusServer, *alerts: tuple[str, str]) -> None:
    wait_until(lambda: {*alerts} <= server.firing(), lambda: f"only {server.firing()}; {server.targets()}")


def _alerts_within(server: PrometheusServer, seconds: float) -> set[tuple[str, str]]:
    """Return all alerts that are active at a time in the next seconds."""
    seen: set[tuple[str, str]] = set()
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        seen |= server.firing()
        time.sleep(0.2)
    return seen
