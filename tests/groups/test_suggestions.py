"""Suggestions for groups and topics from a cluster of real sockets: the requests, and brokers that do not respond."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_groups.groups.suggestions import suggest_groups, suggest_topics
from kafka_groups.kinds import Operation
from kafka_groups.model import Failure
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND, UNKNOWN_TOPIC_OR_PARTITION, broker_error
from tests.fakes.command_line import run
from tests.fakes.reactions import silent
from tests.fakes.scripted_cluster import Group, ScriptedCluster

GROUPS = {
    "checkout": Group(coordinator=1, state="Empty", commits={("orders", 0): 5}),
    "billing": Group(coordinator=2, state="Empty", commits={("orders", 0): 5}),
}


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Three brokers, two of which coordinate a group."""
    with ScriptedCluster(brokers=3, groups=GROUPS, topics={"orders": {0: 1}, "payments": {0: 2}}) as cluster:
        yield cluster


def absent_group(group: str) -> Failure:
    """Return the failure of a group that does not exist."""
    return Failure.of(broker_error(GROUP_ID_NOT_FOUND), group=group)


def absent_topic(topic: str) -> Failure:
    """Return the failure of a topic that does not exist."""
    return Failure.of(broker_error(UNKNOWN_TOPIC_OR_PARTITION), topic=topic)


def test_all_groups_get_suggestions_from_one_request_to_each_broker(cluster: ScriptedCluster) -> None:
    names = ("chekout", "biling", "other")
    with cluster.admin() as admin:
        found = suggest_groups(admin, map(absent_group, names), named=names, operation=Operation.DESCRIBE)
    assert [why.message for why in found] == [
        "there is no such group; did you mean 'checkout'?",
        "there is no such group; did you mean 'billing'?",
        "there is no such group",
    ]
    assert cluster.requests() == {"ListGroups": 3}


def test_a_group_that_nobody_named_costs_no_request(cluster: ScriptedCluster) -> None:
    with cluster.admin() as admin:
        failures = (absent_group("chekout"),)
        assert suggest_groups(admin, failures, named=(), operation=Operation.DESCRIBE) == failures
    assert cluster.requests() == {}


def test_all_topics_get_suggestions_from_one_request(cluster: ScriptedCluster) -> None:
    with cluster.admin() as admin:
        found = suggest_topics(admin, map(absent_topic, ("ordres", "paymets", "x")), None)
    assert [why.message.partition("; ")[2] for why in found] == [
        "did you mean 'orders'?",
        "did you mean 'payments'?",
        "",
    ]
    assert cluster.requests() == {"Metadata": 1}


@pytest.mark.parametrize("command", [("describe",), ("lag",), ("offsets",)], ids=" ".join)
def test_a_command_with_a_misspelt_group_sends_one_listing_more(
    cluster: ScriptedCluster, command: tuple[str, ...]
) -> None:
    address = str(cluster.brokers[1].endpoint)
    assert run(*command, "checkout", bootstrap=address).exit_code == 0
    before = cluster.requests()
    assert before["ListGroups"] == 0
    outcome = run(*command, "checkout", "chekout", bootstrap=address)
    assert outcome.exit_code == 3
    assert "did you mean 'checkout'?" in outcome.stderr
    assert cluster.requests()["ListGroups"] == 3


def test_a_broker_that_does_not_list_its_groups_costs_two_seconds(
    cluster: ScriptedCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.clock.serve_commands(monkeypatch)
    cluster.script("ListGroups", silent, brokers=[3])
    started = cluster.clock()
    outcome = run("describe", "chekout", bootstrap=str(cluster.brokers[1].endpoint))
    assert 1.9 < cluster.clock() - started < 2.1
    assert outcome.exit_code == 1
    assert "did you mean 'checkout'?" in outcome.stderr
    assert outcome.stderr.count("\n") == 1
