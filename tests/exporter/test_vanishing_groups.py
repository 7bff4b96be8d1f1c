"""A thousand groups that appear and vanish between polls, and inside a poll: a scrape has those that exist."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from kafka_groups.protocol import Struct
from tests.exporter.exporter_process import ExporterProcess, start_exporter
from tests.fakes.cluster_profiles import ClusterProfiles
from tests.fakes.reactions import ReceivedRequest
from tests.fakes.scripted_cluster import Group, ScriptedCluster

_GROUPS: Final = 1_000
# `make proof-exporter` polls ten times as often.
_TURNS: Final = 6 * int(os.environ.get("PROOF_REPETITIONS", "1"))
_LAG: Final = "kafka_groups_group_lag_messages"
_MIB: Final = 1024 * 1024
# Memory that a thousand groups take once is not a leak.
_MAX_GROWTH_MIB: Final = 16


def make_groups(numbers: list[int]) -> dict[str, Group]:
    """Return groups; group N has a lag of N % 7."""
    return {
        f"group-{number}": Group(
            coordinator=1 + number % 2, state="Empty", commits={("t", 0): 100 - number % 7, ("t", 1): 100}
        )
        for number in numbers
    }


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Yield two brokers without groups."""
    with ScriptedCluster(brokers=2, topics={"t": {0: 1, 1: 2}}) as cluster:
        yield cluster


@pytest.fixture
def exporter(tmp_path: Path, cluster: ScriptedCluster) -> Iterator[ExporterProcess]:
    """Yield an exporter of the cluster."""
    ClusterProfiles(tmp_path).add("scripted", cluster)
    with start_exporter(tmp_path, "--profile", "scripted", "--by", "partition") as process:
        yield process


@pytest.mark.slow
def test_only_groups_that_exist_have_series(exporter: ExporterProcess, cluster: ScriptedCluster) -> None:
    chance = random.Random(42)
    resident_mib = []
    for turn in range(_TURNS):
        # Ids of one turn are partly those of the turns before.
        numbers = chance.sample(range(2 * _GROUPS), 0 if turn == _TURNS // 2 else _GROUPS)
        cluster.groups.clear()
        cluster.groups.update(make_groups(numbers))
        scraped = exporter.scrape()
        expected = {f"group-{number}": number % 7 for number in numbers}
        assert scraped.values(_LAG, "group") == expected
        assert scraped.values("kafka_groups_partition_lag_messages", "group", partition="0") == expected
        assert scraped.values("kafka_groups_errors_total", "name") == {}
        resident_mib.append(exporter.process.memory_info().rss / _MIB)
    assert resident_mib[-1] - max(resident_mib[:3]) < _MAX_GROWTH_MIB


@pytest.mark.slow
def test_groups_that_vanish_after_their_listing_have_no_series(
    exporter: ExporterProcess, cluster: ScriptedCluster
) -> None:
    cluster.groups.update(make_groups([*range(_GROUPS)]))
    assert len(exporter.scrape().values(_LAG, "group")) == _GROUPS

    def deletes(_request: ReceivedRequest, response: Struct) -> Struct:
        for row in response["groups"][::2]:
            cluster.groups.pop(row["group_id"], None)
        return response

    cluster.script("ListGroups", deletes)
    scraped = exporter.scrape()
    # Brokers return no error for the commits of a deleted group, only for its description.
    left = {*cluster.groups}
    assert len(left) == _GROUPS // 2
    assert scraped.values(_LAG, "group").keys() == left
    assert scraped.value("kafka_groups_up", cluster="scripted") == 1
    assert exporter.scrape().values(_LAG, "group").keys() == left


def test_many_groups_that_appear_at_once_have_series(exporter: ExporterProcess, cluster: ScriptedCluster) -> None:
    assert exporter.scrape().values(_LAG, "group") == {}
    cluster.groups.update(make_groups([*range(_GROUPS)]))
    assert len(exporter.scrape().values(_LAG, "group")) == _GROUPS
