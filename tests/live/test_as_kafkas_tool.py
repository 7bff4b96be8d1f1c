"""What we print, compared with what Kafka's own kafka-consumer-groups.sh prints about the same groups.

Byte for byte with `--format kafka`, word for word otherwise. Only the order of groups and rows is not
compared: Java's is that of a hash table.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.live.groups.asking import ask
from tests.live.groups.members import empty, mixed, preparing_rebalance, reconciling, simple, stable
from tests.live.groups.other_kinds import share
from tests.live.groups.raw_members import assigning, completing_rebalance, connect
from tests.live.groups.together import together
from tests.live.groups.topics import make_topic

if TYPE_CHECKING:
    from tests.live.conftest import Cluster, KafkaTool

pytestmark = pytest.mark.live

Blocks = list[tuple[str, list[str]]]
# What consumer-group commands describe; the other two are there to be left out.
DESCRIBED = ("classic", "consumer", "mixed", "idle", "static", "wandering", "classic_empty", "consumer_empty", "simple")
# Other tests leave some behind as well.
OTHER_KINDS = "(connect|share|streams)-.*"
REBALANCING = ("preparing", "completing", "reconciling")


@pytest.fixture(scope="module")
def held(cluster: Cluster) -> Iterator[dict[str, str]]:
    where = cluster.bootstrap
    topic = make_topic(where, partitions=3, records=5)
    other = make_topic(where, partitions=1, records=12)
    commits = [(topic, 0, 3), (topic, 2, 5)]
    with together(
        classic=stable(where, topic, other, members=2, commits=[(other, 0, 7)]),
        consumer=stable(where, topic, other, members=2, consumer_protocol=True),
        mixed=mixed(where, topic),
        idle=stable(where, other, members=2, consumer_protocol=True),
        static=stable(where, topic, is_static=True, commits=commits),
        wandering=stable(where, other, commits=[*commits, (other, 0, 12)]),
        classic_empty=empty(where, topic, commits=commits),
        consumer_empty=empty(where, topic, commits=commits, consumer_protocol=True),
        simple=simple(where, commits=[*commits, (other, 0, 2)]),
        preparing=preparing_rebalance(where, topic, commits=commits),
        completing=completing_rebalance(where, topic),
        reconciling=reconciling(where, topic, commits=commits),
        connect=connect(where),
        share=share(where, topic),
    ) as groups:
        yield groups


def _blocks(text: str) -> Blocks:
    """Each table as its header and its rows, both without regard to order."""
    tables = [table.split("\n") for table in text.strip("\n").split("\n\n")]
    return sorted((header, sorted(rows)) for header, *rows in tables)


def _words(text: str, *, columns: int | None = None) -> list[list[str]]:
    return sorted(line.split()[:columns] for line in text.splitlines() if line.strip())


def _notes(text: str) -> list[str]:
    return sorted(line for line in text.splitlines() if line.strip())


def _named(groups: list[str]) -> list[str]:
    return [word for group in groups for word in ("--group", group)]


@pytest.mark.parametrize(
    "options",
    [["--state"], ["--type"], ["--type", "--state"], ["--state", "stable"], ["--type", "classic"]],
    ids=" ".join,
)
@pytest.mark.usefixtures("held")
def test_the_list_is_kafkas(cluster: Cluster, kafka_tool: KafkaTool, options: list[str]) -> None:
    theirs, _, _ = kafka_tool(cluster, "--list", *options)
    exact = ask(cluster.bootstrap, "list", *options, "--format", "kafka", "--exclude", OTHER_KINDS)
    table = ask(cluster.bootstrap, "list", *options, "--exclude", OTHER_KINDS)

    assert _blocks(exact.out) == _blocks(theirs)
    assert _words(table.out) == _words(theirs)


def test_the_bare_list_is_kafkas_and_the_groups_of_other_kinds(
    cluster: Cluster, held: dict[str, str], kafka_tool: KafkaTool
) -> None:
    theirs, _, _ = kafka_tool(cluster, "--list")
    ours = ask(cluster.bootstrap, "list")
    exact = ask(cluster.bootstrap, "list", "--format", "kafka")

    listed_by_kafka = {*theirs.splitlines()}
    assert {held["connect"], held["share"]} <= {*ours.out.splitlines()} - listed_by_kafka
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
def test_the_description_is_kafkas(
    cluster: Cluster, held: dict[str, str], kafka_tool: KafkaTool, view: list[str]
) -> None:
    groups = [held[kind] for kind in (*DESCRIBED, *REBALANCING)]
    theirs, their_notes, _ = kafka_tool(cluster, "--describe", *_named(groups), *view)
    exact = ask(cluster.bootstrap, "describe", *groups, *view, "--format", "kafka")
    table = ask(cluster.bootstrap, "describe", *groups, *view)

    assert _blocks(exact.out) == _blocks(theirs)
    # Our verbose offsets have two columns more than Kafka's.
    assert _words(table.out, columns=len(_words(theirs)[0])) == _words(theirs)
    assert set(_notes(their_notes)) <= set(_notes(exact.err))
    assert (exact.err, exact.code) == (table.err, 0)


@pytest.mark.parametrize("view", [[], ["--state"]], ids=" ".join)
@pytest.mark.usefixtures("held")
def test_the_description_of_all_groups_is_kafkas(cluster: Cluster, kafka_tool: KafkaTool, view: list[str]) -> None:
    theirs, _, _ = kafka_tool(cluster, "--describe", "--all-groups", *view)
    exact = ask(cluster.bootstrap, "describe", "--all-groups", *view, "--format", "kafka")

    assert _blocks(exact.out) == _blocks(theirs)
    assert exact.code == 0


def test_a_group_that_is_assigning_is_described_as_kafka_does(cluster: Cluster, kafka_tool: KafkaTool) -> None:
    topic = make_topic(cluster.bootstrap, partitions=2)
    with assigning(cluster.bootstrap, topic) as group:
        members, notes, _ = kafka_tool(cluster, "--describe", "--group", group, "--members", "--verbose")
        ours = ask(cluster.bootstrap, "describe", group, "--members", "--verbose", "--format", "kafka")

    assert _blocks(ours.out) == _blocks(members)
    assert _notes(ours.err) == _notes(notes)


def test_a_missing_group_is_told_in_kafkas_words(cluster: Cluster, kafka_tool: KafkaTool) -> None:
    theirs, _, _ = kafka_tool(cluster, "--describe", "--group", "no-such-group")
    ours = ask(cluster.bootstrap, "describe", "no-such-group", "--format", "kafka")

    assert "Group no-such-group not found." in theirs
    assert "Group no-such-group not found." in ours.err
    assert (ours.out, ours.code) == ("", 1)
