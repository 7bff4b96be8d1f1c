"""Comparison of our output with that of Kafka's own kafka-consumer-groups.sh for the same groups.

It is byte for byte with `--format kafka`, and word for word otherwise. The order of groups and rows is not compared:
Java's is that of a hash table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.live.groups.clients import run_command
from tests.live.groups.contexts import enter_concurrently
from tests.live.groups.members import empty, mixed, preparing_rebalance, reconciling, simple, stable
from tests.live.groups.other_kinds import share
from tests.live.groups.raw_members import assigning, completing_rebalance, connect
from tests.live.groups.tables import group_options, sorted_blocks, sorted_notes, sorted_words
from tests.live.groups.topics import make_topic

if TYPE_CHECKING:
    from tests.live.conftest import Cluster, KafkaTool

pytestmark = pytest.mark.live

# The groups that consumer-group commands describe; the other two are skipped.
DESCRIBED = ("classic", "consumer", "mixed", "idle", "static", "wandering", "classic_empty", "consumer_empty", "simple")
# Other tests leave such groups behind as well.
OTHER_KINDS = "(connect|share|streams)-.*"
REBALANCING = ("preparing", "completing", "reconciling")


@pytest.fixture(scope="module")
def groups(cluster: Cluster) -> Iterator[dict[str, str]]:
    bootstrap = cluster.bootstrap
    topic = make_topic(bootstrap, partitions=3, records=5)
    other = make_topic(bootstrap, partitions=1, records=12)
    commits = [(topic, 0, 3), (topic, 2, 5)]
    with enter_concurrently(
        classic=stable(bootstrap, topic, other, members=2, commits=[(other, 0, 7)]),
        consumer=stable(bootstrap, topic, other, members=2, consumer_protocol=True),
        mixed=mixed(bootstrap, topic),
        idle=stable(bootstrap, other, members=2, consumer_protocol=True),
        static=stable(bootstrap, topic, is_static=True, commits=commits),
        wandering=stable(bootstrap, other, commits=[*commits, (other, 0, 12)]),
        classic_empty=empty(bootstrap, topic, commits=commits),
        consumer_empty=empty(bootstrap, topic, commits=commits, consumer_protocol=True),
        simple=simple(bootstrap, commits=[*commits, (other, 0, 2)]),
        preparing=preparing_rebalance(bootstrap, topic, commits=commits),
        completing=completing_rebalance(bootstrap, topic),
        reconciling=reconciling(bootstrap, topic, commits=commits),
        connect=connect(bootstrap),
        share=share(bootstrap, topic),
    ) as groups:
        yield groups


@pytest.mark.parametrize(
    "options",
    [["--state"], ["--type"], ["--type", "--state"], ["--state", "stable"], ["--type", "classic"]],
    ids=" ".join,
)
@pytest.mark.usefixtures("groups")
def test_list_prints_the_same_as_kafkas_tool(cluster: Cluster, kafka_tool: KafkaTool, options: list[str]) -> None:
    theirs, _, _ = kafka_tool(cluster, "--list", *options)
    exact = run_command(cluster.bootstrap, "list", *options, "--format", "kafka", "--exclude", OTHER_KINDS)
    table = run_command(cluster.bootstrap, "list", *options, "--exclude", OTHER_KINDS)

    assert sorted_blocks(exact.out) == sorted_blocks(theirs)
    assert sorted_words(table.out) == sorted_words(theirs)


def test_the_bare_list_is_that_of_kafkas_tool_and_groups_of_other_kinds(
    cluster: Cluster, groups: dict[str, str], kafka_tool: KafkaTool
) -> None:
    theirs, _, _ = kafka_tool(cluster, "--list")
    ours = run_command(cluster.bootstrap, "list")
    exact = run_command(cluster.bootstrap, "list", "--format", "kafka")

    listed_by_kafka = {*theirs.splitlines()}
    assert {groups["connect"], groups["share"]} <= {*ours.out.splitlines()} - listed_by_kafka
    assert listed_by_kafka <= {*ours.out.splitlines()}
    assert exact == ours


@pytest.mark.parametrize(
    "view",
    [
        [],
        ["--offsets", "--verbose"],
        ["--members"],
        ["--members", "--verbose"],
        ["--state"],
        ["--state", "--verbose"],
    ],
    ids=" ".join,
)
def test_describe_prints_the_same_as_kafkas_tool(
    cluster: Cluster, groups: dict[str, str], kafka_tool: KafkaTool, view: list[str]
) -> None:
    names = [groups[kind] for kind in (*DESCRIBED, *REBALANCING)]
    theirs, their_notes, _ = kafka_tool(cluster, "--describe", *group_options(names), *view)
    exact = run_command(cluster.bootstrap, "describe", *names, *view, "--format", "kafka")
    table = run_command(cluster.bootstrap, "describe", *names, *view)

    assert sorted_blocks(exact.out) == sorted_blocks(theirs)
    # Our verbose offsets have two columns more than Kafka's.
    assert sorted_words(table.out, columns=len(sorted_words(theirs)[0])) == sorted_words(theirs)
    assert set(sorted_notes(their_notes)) <= set(sorted_notes(exact.err))
    assert (exact.err, exact.code) == (table.err, 0)


@pytest.mark.parametrize("view", [[], ["--state"]], ids=" ".join)
@pytest.mark.usefixtures("groups")
def test_describe_of_all_groups_prints_the_same_as_kafkas_tool(
    cluster: Cluster, kafka_tool: KafkaTool, view: list[str]
) -> None:
    theirs, _, _ = kafka_tool(cluster, "--describe", "--all-groups", *view)
    # Kafka's tool for consumer groups leaves out the other kinds.
    consumers = ("--all-groups", "--exclude", "(share|streams|connect)-.*")
    exact = run_command(cluster.bootstrap, "describe", *consumers, *view, "--format", "kafka")

    assert sorted_blocks(exact.out) == sorted_blocks(theirs)
    assert exact.code == 0


def test_an_assigning_group_is_described_as_by_kafkas_tool(cluster: Cluster, kafka_tool: KafkaTool) -> None:
    topic = make_topic(cluster.bootstrap, partitions=2)
    with assigning(cluster.bootstrap, topic) as group:
        members, notes, _ = kafka_tool(cluster, "--describe", "--group", group, "--members", "--verbose")
        ours = run_command(cluster.bootstrap, "describe", group, "--members", "--verbose", "--format", "kafka")

    assert sorted_blocks(ours.out) == sorted_blocks(members)
    assert sorted_notes(ours.err) == sorted_notes(notes)


def test_the_error_for_a_missing_group_has_the_words_of_kafkas_tool(cluster: Cluster, kafka_tool: KafkaTool) -> None:
    theirs, _, _ = kafka_tool(cluster, "--describe", "--group", "no-such-group")
    ours = run_command(cluster.bootstrap, "describe", "no-such-group", "--format", "kafka")

    assert "Group no-such-group not found." in theirs
    assert "Group no-such-group not found." in ours.err
    assert (ours.out, ours.code) == ("", 1)
