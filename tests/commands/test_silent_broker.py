"""A broker that accepts requests and sends no response: results of the other brokers are printed at the deadline."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.fakes.command_line import run
from tests.fakes.reactions import silent
from tests.fakes.scripted_cluster import Group, ScriptedCluster

SILENT = 3
GROUPS = {"a": 1, "b": 2, "c": SILENT}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedCluster]:
    groups = {name: Group(coordinator=broker, state="Empty", commits={("t", 0): 5}) for name, broker in GROUPS.items()}
    with ScriptedCluster(groups=groups, topics={"t": {0: 1}, "u": {0: SILENT}}) as cluster:
        cluster.clock.serve_commands(monkeypatch)
        yield cluster


def _bootstrap(cluster: ScriptedCluster) -> str:
    return str(cluster.addresses[1])


@pytest.mark.parametrize(
    ("api", "arguments"),
    [
        ("ListGroups", ["describe", "--all-groups"]),
        ("DescribeGroups", ["describe", "a", "b", "c", "--state"]),
        ("OffsetFetch", ["describe", "--all-groups"]),
        ("OffsetFetch", ["offsets", "a", "b", "c"]),
    ],
)
def test_one_silent_broker_hides_only_its_own_groups(cluster: ScriptedCluster, api: str, arguments: list[str]) -> None:
    cluster.script(api, *[silent] * 20, brokers=[SILENT])
    started = cluster.clock()
    outcome = run(*arguments, "--timeout", "1s", "--format", "ndjson", bootstrap=_bootstrap(cluster))
    assert cluster.clock() - started < 1.01
    assert [json.loads(line)["group"] for line in outcome.stdout.splitlines()] == ["a", "b"]
    assert outcome.exit_code == 3
    assert "TIMEOUT" in outcome.stderr


def test_groups_whose_broker_describes_none_are_printed_with_their_offsets(cluster: ScriptedCluster) -> None:
    cluster.script("DescribeGroups", *[silent] * 20, brokers=[SILENT])
    outcome = run("describe", "a", "b", "c", "--timeout", "1s", "--format", "ndjson", bootstrap=_bootstrap(cluster))
    assert [json.loads(line)["group"] for line in outcome.stdout.splitlines()] == ["a", "b", "c"]
    assert outcome.exit_code == 3
    assert "group 'c': no response within" in outcome.stderr


def test_commits_on_a_silent_leader_are_printed_without_log_end_offsets(cluster: ScriptedCluster) -> None:
    cluster.groups["a"].commits = {("t", 0): 5, ("u", 0): 7}
    cluster.script("ListOffsets", *[silent] * 20, brokers=[SILENT])
    outcome = run("describe", "a", "--timeout", "1s", "--format", "csv", bootstrap=_bootstrap(cluster))
    assert outcome.stdout.splitlines()[1:] == ["a,t,0,5,100,95,,,", "a,u,0,7,,,,,"]
    assert outcome.exit_code == 3
    assert "partition u-0" in outcome.stderr


def test_the_error_of_a_silent_broker_has_its_address(cluster: ScriptedCluster) -> None:
    cluster.script("OffsetFetch", *[silent] * 20, brokers=[SILENT])
    outcome = run("offsets", "c", "--timeout", "1s", bootstrap=_bootstrap(cluster))
    assert outcome.exit_code == 1
    assert f"broker {SILENT} ({cluster.addresses[SILENT]}) has sent nothing for" in outcome.stderr
