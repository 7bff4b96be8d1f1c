"""`describe --format kafka` of share and streams groups: the lines that Kafka's own tools (4.3.1) print for them.

The lines are those of kafka-share-groups.sh and kafka-streams-groups.sh for real groups. This tool prints an empty line
before each block. kafka-streams-groups.sh does not print it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.cluster_of_kinds import connect_group, run_on
from tests.fakes.kind_members import share_member, streams_member, topology
from tests.fakes.scripted_cluster import Commit, Group, ScriptedCluster

INPUT = "streams-plaintext-input"
REPARTITION = "wcapp-KSTREAM-AGGREGATE-STATE-STORE-0000000003-repartition"
# The port of the broker of which Kafka's tools wrote the lines.
PORT = "31555"
_FILE = Path(__file__).with_name("kafka_lines_of_kinds.txt")


def read_lines(text: str) -> dict[str, str]:
    """Return the lines by the arguments before them. A vertical bar shows where a line with blanks at its end ends."""
    blocks = (block.partition("\n") for block in text.removeprefix("$ ").split("$ "))
    return {arguments: lines.replace("|\n", "\n") for arguments, _, lines in blocks}


LINES = read_lines(_FILE.read_text(encoding="utf-8"))


def click_sampler() -> Group:
    """Return the share group with one member."""
    starts = {("clicks", 2): 3005, ("clicks", 0): 3006, ("clicks", 1): 3006}
    member = share_member("WYAd3hXhQKOpjcuBBeIIzQ", {"clicks": (0, 1, 2)}, client_id="click-sampler-1")
    return Group(
        type="Share",
        protocol_type="share",
        commits=starts,
        lags=dict.fromkeys(starts, 0),
        members=[{**member, "client_host": "/127.0.0.1"}],
        epoch=3,
    )


def word_count_application() -> Group:
    """Return the streams group of two instances with a standby task each."""
    one = streams_member(
        "FpQo5nT2R8CbSnyX_BfnIw",
        active={"0": (0,), "1": (0,)},
        standby={"1": (1,)},
        process_id="81cf79e5-d34c-4ae6-94c8-e66dce1a0314",
        client_id="wcapp-1-StreamThread-1-consumer",
        topology_epoch=0,
    )
    two = streams_member(
        "CzDz-X9ZS-mPo3ipHlNZTQ",
        active={"0": (1,), "1": (1,)},
        standby={"1": (0,)},
        process_id="b3b55a4d-526d-4b3f-b93f-11541d0c724c",
        client_id="wcapp-2-StreamThread-1-consumer",
        topology_epoch=0,
    )
    return Group(
        type="Streams",
        protocol_type="streams",
        commits={(INPUT, 0): Commit(50, 0), (REPARTITION, 0): Commit(175, 0), (REPARTITION, 1): Commit(75, 0)},
        members=[two, one],
        topology=topology({"0": (INPUT,), "1": (REPARTITION,)}),
    )


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Return one broker with the groups whose lines Kafka's tools printed."""
    ends = {(INPUT, 0): 50, (INPUT, 1): 0, (REPARTITION, 0): 175, (REPARTITION, 1): 75}
    topics = {"clicks": {0: 1, 1: 1, 2: 1}, INPUT: {0: 1, 1: 1}, REPARTITION: {0: 1, 1: 1}}
    groups = {"click-sampler": click_sampler(), "wcapp": word_count_application()}
    with ScriptedCluster(brokers=1, groups=groups, topics=topics, ends=ends) as running:
        yield running


@pytest.mark.parametrize("arguments", LINES)
def test_lines_are_those_of_kafkas_tool(cluster: ScriptedCluster, arguments: str) -> None:
    outcome = run_on(cluster, "describe", *arguments.split(), "--format", "kafka")
    port = str(cluster.brokers[1].endpoint.port)
    assert outcome.exit_code == 0
    assert outcome.stdout.replace(port, PORT) == f"\n{LINES[arguments]}"


def test_a_lag_without_a_commit_is_counted_from_the_log_start_as_kafkas_tool_does(cluster: ScriptedCluster) -> None:
    cluster.ends[INPUT, 1], cluster.starts[INPUT, 1] = 30, 10
    lines = run_on(cluster, "describe", "wcapp", "--format", "kafka").stdout.splitlines()
    assert [line.split()[-1] for line in lines[2:]] == ["0", "20", "0", "0"]
    table = run_on(cluster, "describe", "wcapp", "--format", "csv").stdout.splitlines()
    assert f"wcapp,{INPUT},1,,30,," in table[3]


def test_share_members_are_sorted_by_id_as_in_kafkas_tool(cluster: ScriptedCluster) -> None:
    members = [share_member("z", {"clicks": (0,)}), share_member("a", {}), share_member("m", {"clicks": (1, 2)})]
    cluster.groups["click-sampler"].members = members
    lines = run_on(cluster, "describe", "click-sampler", "--members", "--format", "kafka").stdout.splitlines()
    assert [line.split()[1] for line in lines[2:]] == ["a", "m", "z"]


def test_columns_of_workers_are_aligned_although_kafka_has_no_tool_for_them(cluster: ScriptedCluster) -> None:
    cluster.groups["workers"] = connect_group()
    cluster.groups["workers"].coordinator = 1
    for options in ((), ("--verbose",)):
        lines = run_on(cluster, "describe", "workers", *options, "--format", "kafka").stdout.splitlines()[1:]
        assert len({len(line) for line in lines}) == 1
        assert ("WORKER-ID" in lines[0]) == bool(options)
