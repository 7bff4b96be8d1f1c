"""A scripted cluster with a group of each kind, for the tests of commands."""

from __future__ import annotations

from typing import Any, Final

from tests.fakes.command_line import Outcome, run
from tests.fakes.kind_members import (
    connect_member,
    share_member,
    streams_member,
    task_offset,
    word_count,
    word_count_nodes,
)
from tests.fakes.scripted_cluster import Group, ScriptedCluster

TOPICS: Final = {
    "clicks": {0: 1, 1: 2},
    "lines": {0: 1, 1: 2},
    "app-repartition": {0: 2, 1: 1},
    "orders": {0: 1},
}
# Brokers of Kafka 4.4, which have the nodes of topologies.
WITH_NODES: Final = {"StreamsGroupDescribe": (0, 1)}


def kinds_cluster(**versions: tuple[int, int]) -> ScriptedCluster:
    """Return two brokers with the groups orders, clicks-sampler, app and workers, each with all of its parts."""
    return ScriptedCluster(
        brokers=2,
        groups={
            "orders": Group(coordinator=1, state="Empty", assignor="", commits={("orders", 0): 90}),
            "clicks-sampler": share_group(),
            "app": streams_group(),
            "workers": connect_group(),
        },
        topics=TOPICS,
        versions=versions,
    )


def share_group() -> Group:
    """Return a share group with two members that share a partition; the lag of partition 1 is unknown."""
    return Group(
        coordinator=2,
        type="Share",
        protocol_type="share",
        assignor="simple",
        commits={("clicks", 0): 40, ("clicks", 1): 70},
        lags={("clicks", 0): 50},
        members=[share_member("m-2", {"clicks": (1,)}), share_member("m-1", {"clicks": (0, 1)})],
    )


def streams_group() -> Group:
    """Return a streams group of two members, each with a standby task of the other one's."""
    offsets: dict[str, Any] = {
        "task_offsets": [task_offset("1", 1, 175)],
        "task_end_offsets": [task_offset("1", 1, 178)],
    }
    members = [
        streams_member("s-2", active={"0": (1,), "1": (1,)}, standby={"1": (0,)}),
        streams_member("s-1", active={"0": (0,), "1": (0,)}, standby={"1": (1,)}, **offsets),
    ]
    return Group(
        coordinator=1,
        type="Streams",
        protocol_type="streams",
        assignor="",
        commits={("lines", 0): 95, ("app-repartition", 0): 100, ("app-repartition", 1): 60},
        members=members,
        topology=word_count(),
        nodes=word_count_nodes(),
    )


def connect_group() -> Group:
    """Return a Connect group of two workers; `w-2` is the leader."""
    workers = [
        connect_member("w-2", [("files", (1,)), ("sink", (-1, 0))]),
        connect_member("w-1", [("files", (-1, 0))]),
    ]
    return Group(coordinator=2, protocol_type="connect", assignor="sessioned", members=workers)


def run_on(cluster: ScriptedCluster, *arguments: str) -> Outcome:
    """Run a command on the cluster."""
    return run(*arguments, bootstrap=str(cluster.brokers[1].endpoint))
