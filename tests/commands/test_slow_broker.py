"""A broker that takes a third of the timeout for one API: it costs no results, whatever the command does afterwards."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.fakes.command_line import run
from tests.fakes.reactions import delayed
from tests.fakes.scripted_cluster import Group, ScriptedCluster

SLOW = 2


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedCluster]:
    groups = {
        "quick": Group(coordinator=1, state="Empty", commits={("t", 0): 5}),
        "slow": Group(coordinator=SLOW, state="Empty", commits={("t", 0): 5, ("t", 1): 3}),
    }
    with ScriptedCluster(brokers=2, groups=groups, topics={"t": {0: 1, 1: SLOW}}) as cluster:
        cluster.clock.serve_commands(monkeypatch)
        yield cluster


@pytest.mark.parametrize(
    ("api", "arguments"),
    [
        ("ListGroups", ("describe", "--all-groups")),
        ("ListGroups", ("offsets", "--all-groups")),
        ("ListGroups", ("lag",)),
        ("DescribeGroups", ("describe", "slow", "quick", "--members")),
        ("OffsetFetch", ("lag", "quick", "slow")),
        ("OffsetFetch", ("offsets", "quick", "slow")),
        ("OffsetFetch", ("reset", "quick", "slow", "--all-topics", "--to-earliest")),
        ("OffsetFetch", ("delete-offsets", "quick", "slow", "--topic", "t")),
        ("ListOffsets", ("lag", "quick", "slow")),
        ("ListOffsets", ("reset", "quick", "slow", "--all-topics", "--to-latest")),
    ],
)
def test_one_slow_api_costs_no_results(cluster: ScriptedCluster, api: str, arguments: tuple[str, ...]) -> None:
    cluster.script(api, *[delayed(1.0)] * 6, brokers=[SLOW])
    outcome = run(*arguments, "--timeout", "3s", "--format", "json", bootstrap=str(cluster.addresses[1]))
    document = json.loads(outcome.stdout)
    assert (outcome.exit_code, document["errors"]) == (0, [])
    assert sorted(group["group"] for group in document["groups"]) == ["quick", "slow"]
