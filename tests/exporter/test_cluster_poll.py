"""One poll: its series by group, topic and partition, its selectors, and groups that vanish."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.exporter.cluster_poll import ClusterSamples, PollOptions
from kafka_groups.groups.lag.lag_row import LagKey
from kafka_groups.groups.lag.polls import Polls
from kafka_groups.groups.selection import Selectors
from tests.exporter.exporters import small_cluster
from tests.fakes.command_line import run
from tests.fakes.scripted_cluster import Group, ScriptedCluster


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    with small_cluster() as running:
        yield running


@pytest.fixture
def admin(cluster: ScriptedCluster) -> Iterator[GroupAdmin]:
    with cluster.admin() as client:
        yield client


class Poller:
    """Polls of a cluster with a client; `lines` returns those of one more poll."""

    def __init__(self, admin: GroupAdmin, **options: Any) -> None:
        self.admin = admin
        self.samples = ClusterSamples(PollOptions(**{"with_verdicts": True, **options}), Polls())
        self.at_ms = 1_700_000_000_000

    def lines(self) -> list[str]:
        self.at_ms += 60_000
        read = self.samples.read(self.admin, self.admin.deadline(), self.at_ms, lambda: "scripted")
        return [line for parts in read.lines.values() for part in parts for line in part.decode().splitlines()]


def names_of(lines: list[str]) -> set[str]:
    """Return the names of the metrics, without the prefix."""
    return {line.partition("{")[0].removeprefix("kafka_groups_") for line in lines}


@pytest.mark.parametrize("key", [LagKey.GROUP, LagKey.TOPIC, LagKey.PARTITION])
@pytest.mark.parametrize("with_all", [False, True])
def test_series_are_those_of_lag(cluster: ScriptedCluster, admin: GroupAdmin, key: LagKey, with_all: bool) -> None:
    with_all = with_all and key is LagKey.PARTITION
    lines = Poller(admin, by=key, with_all=with_all, with_verdicts=False).lines()
    more = ("--all-metrics",) if with_all else ()
    arguments = ("lag", "--format", "openmetrics", "-b", str(cluster.addresses[1]))
    text = run(*arguments, "--by", key.value, *more).stdout
    text += run(*arguments).stdout
    expected = {line for line in text.splitlines() if ",group=" in line}
    assert set(lines) == expected
    assert len(lines) == len(expected)


def test_groups_have_a_verdict_from_their_polls(admin: GroupAdmin) -> None:
    poller = Poller(admin)
    lines = [poller.lines() for _ in range(20)][-1]
    name = "kafka_groups_group_verdict"
    assert f'{name}{{cluster="scripted",group="g0",type="Classic",{name}="STOP"}} 1' in lines
    assert f'{name}{{cluster="scripted",group="g0",type="Classic",{name}="OK"}} 0' in lines


def test_without_verdicts_nothing_is_kept_of_polls(admin: GroupAdmin) -> None:
    poller = Poller(admin, with_verdicts=False)
    assert "group_verdict" not in names_of(poller.lines())
    assert poller.samples.polls.partitions == {}


def test_only_selected_groups_and_topics_have_series(cluster: ScriptedCluster, admin: GroupAdmin) -> None:
    cluster.groups["other"] = Group(state="Empty", commits={("t", 0): 1, ("u", 0): 1})
    cluster.topics["u"] = {0: 1}
    selectors = Selectors(match=re.compile("g.*|other"), exclude=re.compile("g1"))
    lines = Poller(admin, selectors=selectors, topics={"u": ()}, by=LagKey.TOPIC).lines()
    assert {line.split('group="')[1].partition('"')[0] for line in lines} == {"other"}
    assert {line.split('topic="')[1].partition('"')[0] for line in lines if "topic=" in line} == {"u"}


def test_time_lag_has_series_only_on_request(admin: GroupAdmin) -> None:
    assert not [name for name in names_of(Poller(admin, by=LagKey.PARTITION).lines()) if "time" in name]


def test_a_thousand_groups_that_appear_and_vanish_leave_nothing(cluster: ScriptedCluster, admin: GroupAdmin) -> None:
    poller = Poller(admin, by=LagKey.PARTITION)
    names: list[str] = []
    for poll in range(3):
        names = [f"job-{poll}-{number}" for number in range(1_000)]
        cluster.groups = {name: Group(state="Empty", commits={("t", 0): 1}) for name in names}
        lines = poller.lines()
        assert {line.split('group="')[1].partition('"')[0] for line in lines} == set(names)
    assert {group for group, _, _ in poller.samples.polls.partitions} == set(names)
    assert len(poller.samples.polls.lags) == 1_000


@pytest.mark.parametrize("most", [1, 11, 22, 1_000])
def test_series_never_exceed_their_limit(admin: GroupAdmin, most: int) -> None:
    lines = Poller(admin, with_verdicts=False, max_series=most).lines()
    assert len(lines) == min(most // 11, 2) * 11


def test_the_groups_that_are_furthest_behind_come_first(cluster: ScriptedCluster, admin: GroupAdmin) -> None:
    cluster.groups["far"] = Group(state="Empty", commits={("t", 0): 0, ("t", 1): 0})
    lines = Poller(admin, by=LagKey.PARTITION, with_verdicts=False, max_series=15).lines()
    assert {line.split('group="')[1].partition('"')[0] for line in lines} == {"far"}
    assert len(lines) == 15
