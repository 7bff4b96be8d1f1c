"""Kafka 4.4: our output for its groups is that of Kafka's own tool of 4.3.1 for the same groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.live.groups.clients import open_admin, run_command
from tests.live.groups.contexts import enter_concurrently
from tests.live.groups.members import empty, mixed, simple, stable
from tests.live.groups.other_kinds import share, streams
from tests.live.groups.tables import group_options, sorted_blocks, sorted_notes, sorted_words
from tests.live.groups.topics import make_topic

if TYPE_CHECKING:
    from tests.live.conftest import Cluster, KafkaTool

pytestmark = pytest.mark.live

# The groups that consumer-group commands describe; the other two are skipped.
DESCRIBED = ("classic", "consumer", "mixed", "classic_empty", "consumer_empty", "simple")


@pytest.fixture(scope="module")
def groups(kafka_4_4: Cluster) -> Iterator[dict[str, str]]:
    bootstrap = kafka_4_4.bootstrap
    topic = make_topic(bootstrap, partitions=3, records=5)
    commits = [(topic, 0, 3), (topic, 2, 5)]
    with enter_concurrently(
        classic=stable(bootstrap, topic, members=2, commits=[(topic, 1, 4)]),
        consumer=stable(bootstrap, topic, members=2, commits=[(topic, 1, 2)], consumer_protocol=True),
        mixed=mixed(bootstrap, topic),
        classic_empty=empty(bootstrap, topic, commits=commits),
        consumer_empty=empty(bootstrap, topic, commits=commits, consumer_protocol=True),
        simple=simple(bootstrap, commits=commits),
        share=share(bootstrap, topic),
        streams=streams(bootstrap, topic),
    ) as groups:
        yield groups


def test_states_and_types_are_those_of_kafkas_tool(
    kafka_4_4: Cluster, groups: dict[str, str], kafka_tool: KafkaTool
) -> None:
    theirs, _, _ = kafka_tool(kafka_4_4, "--list", "--type", "--state")
    exact = run_command(kafka_4_4.bootstrap, "list", "--type", "classic,consumer", "--state", "--format", "kafka")
    others = run_command(kafka_4_4.bootstrap, "list", "--type", "share,streams", "--state")

    assert {groups[kind] for kind in DESCRIBED} <= {row[0] for row in sorted_words(theirs)}
    assert sorted_blocks(exact.out) == sorted_blocks(theirs)
    listed = {tuple(row[:2]) for row in others.rows[1:]}
    assert {(groups["share"], "Share"), (groups["streams"], "Streams")} <= listed
    assert (exact.err, exact.code, others.err, others.code) == ("", 0, "", 0)


@pytest.mark.parametrize("view", [["--offsets"], ["--members", "--verbose"], ["--state", "--verbose"]], ids=" ".join)
def test_describe_prints_the_same_as_kafkas_tool(
    kafka_4_4: Cluster, groups: dict[str, str], kafka_tool: KafkaTool, view: list[str]
) -> None:
    names = [groups[kind] for kind in DESCRIBED]
    theirs, their_notes, _ = kafka_tool(kafka_4_4, "--describe", *group_options(names), *view)
    exact = run_command(kafka_4_4.bootstrap, "describe", *names, *view, "--format", "kafka")

    assert sorted_blocks(exact.out) == sorted_blocks(theirs)
    assert set(sorted_notes(their_notes)) <= set(sorted_notes(exact.err))
    assert exact.code == 0


def test_offsets_are_those_of_the_description_by_kafkas_tool(
    kafka_4_4: Cluster, groups: dict[str, str], kafka_tool: KafkaTool
) -> None:
    names = [groups[kind] for kind in DESCRIBED]
    theirs, _, _ = kafka_tool(kafka_4_4, "--describe", *group_options(names), "--offsets")
    ours = run_command(kafka_4_4.bootstrap, "offsets", *names)

    described = [row[:4] for row in sorted_words(theirs) if row[0] in names and row[3] != "-"]
    assert sorted(row[:4] for row in ours.rows[1:]) == described
    assert (ours.notes, ours.code) == ([f"Consumer group '{groups['mixed']}' has no committed offsets."], 0)


def test_a_deletion_uses_the_version_with_messages_and_each_group_has_one(
    kafka_4_4: Cluster, groups: dict[str, str]
) -> None:
    with open_admin(kafka_4_4.bootstrap) as admin:
        failed = admin.delete_consumer_groups([groups["classic"], "absent"]).failed
        versions = {version for name, version in admin.requests_sent if name == "DeleteGroups"}
    assert versions == {3}
    # 4.4.0 returns no message with these codes; then ours is shown.
    found = [(failed[name].code, failed[name].message) for name in (groups["classic"], "absent")]
    assert found == [(68, "the group is not empty: it has members"), (69, "there is no such group")]
