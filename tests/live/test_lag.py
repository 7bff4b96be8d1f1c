"""Lag, waiting and orphans on real brokers: the totals are those of Kafka's own tool."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.live.groups.clients import read_offsets, run_command
from tests.live.groups.contexts import enter_concurrently
from tests.live.groups.members import commit_from_outside, empty, simple, stable
from tests.live.groups.tables import group_options, sorted_words
from tests.live.groups.topics import delete_records, make_topic

if TYPE_CHECKING:
    from tests.live.conftest import Cluster, KafkaTool

pytestmark = pytest.mark.live

_LAG = 5


@pytest.fixture(scope="module")
def topic(cluster: Cluster) -> str:
    return make_topic(cluster.bootstrap, partitions=3, records=9)


def test_totals_are_those_of_kafkas_tool(cluster: Cluster, topic: str, kafka_tool: KafkaTool) -> None:
    commits = [(topic, 0, 2), (topic, 1, 9)]
    with enter_concurrently(
        classic=empty(cluster.bootstrap, topic, commits=commits),
        consumer=empty(cluster.bootstrap, topic, commits=commits, consumer_protocol=True),
        simple=simple(cluster.bootstrap, commits=[*commits, (topic, 2, 12)]),
        stable=stable(cluster.bootstrap, topic),
    ) as groups:
        names = sorted(groups.values())
        theirs, _, _ = kafka_tool(cluster, "--describe", *group_options(names))
        ours = run_command(cluster.bootstrap, "lag", *names, "--format", "json")
    expected = dict.fromkeys(names, 0)
    for row in sorted_words(theirs, columns=_LAG + 1):
        if row and row[0] in expected and row[_LAG].lstrip("-").isdigit():
            expected[row[0]] += max(0, int(row[_LAG]))
    assert {each["group"]: each["lag"] or 0 for each in ours.json["groups"]} == expected
    assert [each["lag"] for each in ours.json["groups"] if each["group"] == groups["simple"]] == [7]
    assert [each["note"] for each in ours.json["groups"] if each["group"] == groups["simple"]] == [["beyond_end"]]


def test_messages_that_retention_deleted_are_lost(cluster: Cluster) -> None:
    topic = make_topic(cluster.bootstrap, partitions=1, records=9)
    with simple(cluster.bootstrap, commits=[(topic, 0, 2)]) as name:
        delete_records(cluster.bootstrap, topic, 0, before=6)
        (found,) = run_command(cluster.bootstrap, "lag", name, "--format", "json").json["groups"]
    assert (found["lag"], found["messages_lost"], found["retention_margin"], found["note"]) == (7, 4, 0, ["data_loss"])


def test_wait_ends_when_the_group_has_caught_up(cluster: Cluster, topic: str) -> None:
    with simple(cluster.bootstrap, commits=[(topic, 0, 2)]) as name:
        late = run_command(cluster.bootstrap, "wait", name, "--until", "lag<=0", "--for", "1s")
        timer = threading.Timer(2.0, commit_from_outside, (cluster.bootstrap, [name], [(topic, 0, 9)]))
        timer.start()
        done = run_command(cluster.bootstrap, "wait", name, "--until", "lag<=0", "--for", "30s", "--format", "json")
        timer.join()
    assert (late.code, late.notes[-1]) == (4, f"Error: the condition of --until does not hold for '{name}'")
    assert (done.code, [each["lag"] for each in done.json["groups"]]) == (0, [0])


def test_a_condition_that_holds_is_exit_code_4(cluster: Cluster, topic: str) -> None:
    with simple(cluster.bootstrap, commits=[(topic, 0, 2)]) as name:
        held = run_command(cluster.bootstrap, "lag", name, "--fail-if", "lag>=7 and state==Empty")
        other = run_command(cluster.bootstrap, "lag", name, "--fail-if", "lag>7 or members>0")
    assert (held.code, other.code) == (4, 0)


def test_the_groups_of_a_topic_are_those_with_commits_or_members(cluster: Cluster) -> None:
    topic, other = (make_topic(cluster.bootstrap, partitions=2, records=1) for _ in range(2))
    with enter_concurrently(
        commits=simple(cluster.bootstrap, commits=[(topic, 1, 1)]),
        members=stable(cluster.bootstrap, topic),
        none=simple(cluster.bootstrap, commits=[(other, 0, 1)]),
    ) as groups:
        found = run_command(cluster.bootstrap, "list", "--topic", topic, "--format", "json").json["groups"]
    # A group of another test that cannot be described may read the topic, too.
    own = [each for each in found if each["group"] in groups.values()]
    counts = {each["group"]: (each["members"] > 0, each["committed_partitions"]) for each in own}
    assert counts.keys() == {groups["commits"], groups["members"]}
    assert counts[groups["commits"]] == (False, 1)
    assert counts[groups["members"]][0]


def test_orphans_of_a_live_group_are_deleted_by_their_plan(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    left = make_topic(cluster.bootstrap, partitions=1, records=1)
    plan = tmp_path / "orphans.json"
    with simple(cluster.bootstrap, commits=[(left, 0, 1)]) as name, stable(cluster.bootstrap, topic, name=name):
        found = run_command(cluster.bootstrap, "orphans", name, "--export", str(plan), "--format", "json")
        deleted = run_command(
            cluster.bootstrap, "delete-offsets", "--from-file", str(plan), "--execute", "--yes", home=tmp_path
        )
        offsets = read_offsets(cluster.bootstrap, name)
    rows = [(row["topic"], row["reason"]) for each in found.json["groups"] for row in each["offsets"]]
    assert rows == [(left, "not_subscribed")]
    assert (deleted.code, (left, 0) in offsets) == (0, False)
    assert json.loads(plan.read_text())["changes"][0]["action"] == "delete_offsets"
