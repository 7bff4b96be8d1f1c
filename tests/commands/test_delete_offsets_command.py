"""`kafka-groups delete-offsets`: commits on topics that no member of the group reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_groups.changes.change import Action, Change
from kafka_groups.changes.plan_file import format_plan, read_plan
from kafka_groups.model import TopicPartition
from tests.changes.plans import plan
from tests.commands.change_commands import (
    DRY_RUN,
    EXECUTE,
    attempt,
    changes,
    committed,
    journal_files,
    last_line,
    last_run,
)
from tests.fakes.command_line import run
from tests.fakes.fake_admin import CLUSTER_ID, NAMED_TEXT, FakeCluster, failure, member


@pytest.fixture(autouse=True)
def two_groups(cluster: FakeCluster) -> None:
    """Add `a` with commits on two topics, and `busy` with a member that reads `t`."""
    cluster.end("t", 100, 50)
    cluster.end("u", 9)
    cluster.add("a", commits={("t", 0): 60, ("t", 1): 7, ("u", 0): 5})
    cluster.add("busy", state="Stable", members=[member("m", {"t": (0, 1)})], commits={("t", 0): 1, ("u", 0): 2})


def test_the_plan_is_a_row_for_each_commit(cluster: FakeCluster) -> None:
    screen = "GROUP  TOPIC  PARTITION  STATUS\na      t              0  planned\na      t              1  planned\n"
    outcome = run("delete-offsets", "a", "--topic", "t")
    assert outcome == (0, screen, f"2 commits of 1 group.\n{DRY_RUN}\n")
    assert (changes(cluster), journal_files()) == ([], [])


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ("csv", "GROUP,TOPIC,PARTITION,STATUS\na,u,0,planned\n"),
        (
            "ndjson",
            NAMED_TEXT
            + '"group": "a", "topic": "u", "partition": 0, "committed_offset": 5, "note": null, "status": "planned"}\n',
        ),
    ],
)
def test_formats_for_programs_have_the_same_rows(output: str, text: str) -> None:
    assert run("delete-offsets", "a", "--topic", "u", "--format", output).stdout == text


def test_execute_deletes_the_commits_and_records_them(cluster: FakeCluster) -> None:
    outcome = run("delete-offsets", "a", "--topic", "t", "--topic", "u:0", *EXECUTE, "--format", "json")
    rows = json.loads(outcome.stdout)["groups"][0]["offsets"]
    assert [(row["topic"], row["committed_offset"], row["status"]) for row in rows] == [
        ("t", 60, "done"),
        ("t", 7, "done"),
        ("u", 5, "done"),
    ]
    assert (outcome.exit_code, committed(cluster, "a"), len(cluster.changes)) == (0, {}, 1)
    recorded = last_run()
    assert recorded.command == "delete-offsets"
    assert [change.committed_offset for change in recorded.plan.changes] == [60, 7, 5]
    assert last_line(outcome).endswith("takes it back.")


def test_a_topic_that_a_member_reads_is_refused_and_the_others_go_on(cluster: FakeCluster) -> None:
    outcome = run("delete-offsets", "busy", "--topic", "t", "--topic", "u", *EXECUTE, "--format", "csv")
    assert (outcome.exit_code, outcome.stdout.splitlines()[1:]) == (3, ["busy,t,0,refused", "busy,u,0,done"])
    assert "members of the group read the topic (GROUP_SUBSCRIBED_TO_TOPIC)" in outcome.stderr
    assert committed(cluster, "busy") == {("t", 0): 1}


def test_a_topic_that_a_member_reads_alone_is_exit_1(cluster: FakeCluster) -> None:
    outcome = run("delete-offsets", "busy", "--topic", "t", *EXECUTE)
    assert (outcome.exit_code, last_line(outcome), changes(cluster)) == (1, attempt(), [])
    assert (last_run().refused, last_run().other_groups) == (1, ("busy",))


def test_a_partition_that_the_broker_refuses_is_failed(cluster: FakeCluster) -> None:
    key = TopicPartition("t", 1)
    cluster.refused_items["a", key] = failure("TOPIC_AUTHORIZATION_FAILED", code=29, group="a", topic="t", partition=1)
    outcome = run("delete-offsets", "a", "--topic", "t", *EXECUTE, "--format", "csv")
    assert (outcome.exit_code, outcome.stdout.splitlines()[1:]) == (3, ["a,t,0,done", "a,t,1,failed"])


def test_a_group_without_commits_on_the_topic_is_a_note(cluster: FakeCluster) -> None:
    cluster.add("b", commits={("u", 0): 5})
    outcome = run("delete-offsets", "b", "--topic", "t", *EXECUTE)
    assert (outcome.exit_code, outcome.stdout) == (0, "GROUP  TOPIC  PARTITION  STATUS\n")
    assert outcome.stderr == f"Group 'b' has no commits on the named topics.\n{attempt()}\n"


def test_a_named_partition_without_a_commit_is_done(cluster: FakeCluster) -> None:
    cluster.add("b", commits={("u", 0): 5})
    row = json.loads(run("delete-offsets", "b", "--topic", "t:0", *EXECUTE, "--format", "ndjson").stdout)
    assert (row["committed_offset"], row["note"], row["status"]) == (None, "no commit", "done")


def test_an_absent_group_is_an_error() -> None:
    outcome = run("delete-offsets", "absent", "--topic", "t", *EXECUTE)
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert "Error: group 'absent': " in outcome.stderr


@pytest.mark.parametrize("topic", ["typo", "t:9"])
def test_a_topic_or_partition_that_does_not_exist_changes_nothing(cluster: FakeCluster, topic: str) -> None:
    outcome = run("delete-offsets", "a", "--topic", "u", "--topic", topic, *EXECUTE)
    assert (outcome.exit_code, last_line(outcome), changes(cluster)) == (1, attempt(), [])


def test_unreadable_commits_on_other_topics_do_no_harm(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("u", 0): 5}, refused={("t", 0): 29})
    assert run("delete-offsets", "a", "--topic", "u").exit_code == 0
    assert run("delete-offsets", "a", "--topic", "u", "--topic", "t").exit_code == 3


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--topic", "t"), "no group is selected"),
        (("a",), "no partition is selected; give --topic T[:P,…], or --from-file PLAN"),
        (("a", "--topic", "t:"), "no partition is named after the colon"),
        (("a", "--topic", "t", "--from-file", "f"), "--from-file names the partitions; --topic contradicts it"),
        (("a", "--topic", "t", "--execute"), "--execute needs --yes here"),
    ],
)
def test_usage_errors(cluster: FakeCluster, arguments: tuple[str, ...], text: str) -> None:
    outcome = run("delete-offsets", *arguments)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert text in outcome.stderr
    assert changes(cluster) == []


def test_rows_of_an_exported_plan_are_refused_if_their_commits_have_moved(cluster: FakeCluster, tmp_path: Path) -> None:
    file = tmp_path / "plan"
    run("delete-offsets", "a", "--topic", "t", "--export", str(file))
    assert len(read_plan(file.read_text(), name="f").changes) == 2
    cluster.add("a", commits={("t", 0): 61, ("t", 1): 7, ("u", 0): 5})
    outcome = run("delete-offsets", "--from-file", str(file), *EXECUTE)
    assert (outcome.exit_code, committed(cluster, "a")) == (3, {("t", 0): 61, ("u", 0): 5})
    assert "its commit has changed since the plan, from 60 to 61 (REFUSED)" in outcome.stderr
    assert run("delete-offsets", "--from-file", str(file), "--force", *EXECUTE).exit_code == 0
    assert committed(cluster, "a") == {("u", 0): 5}


@pytest.mark.parametrize("extra", [(), ("--all-groups",), ("--type", "Classic")])
def test_a_plan_without_a_row_for_the_command_means_no_group(
    cluster: FakeCluster, tmp_path: Path, extra: tuple[str, ...]
) -> None:
    file = tmp_path / "plan"
    file.write_text(format_plan(plan(Change(Action.DELETE_GROUP, "a", "t", 0, 60), cluster_id=CLUSTER_ID)))
    outcome = run("delete-offsets", "--from-file", str(file), *extra, *EXECUTE)
    assert (outcome.exit_code, last_line(outcome), changes(cluster)) == (0, attempt(), [])
