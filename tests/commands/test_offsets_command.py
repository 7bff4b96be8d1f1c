"""`kafka-groups offsets`: committed offsets, without any other request."""

from __future__ import annotations

import json
from textwrap import dedent
from unittest.mock import ANY

import pytest

from kafka_groups.model import CommittedOffset
from tests.fakes.command_line import run
from tests.fakes.fake_admin import NAMED, NAMED_TEXT, FakeCluster, failure


@pytest.fixture(autouse=True)
def two_groups(cluster: FakeCluster) -> None:
    """Add `a` with commits on two topics, and `b` with a commit on one; neither has members."""
    cluster.add("a", state="Stable", commits={("u", 10): 4, ("u", 9): 3, ("t", 0): CommittedOffset(5, 2, "note")})
    cluster.add("b", commits={("t", 1): 7})
    cluster.end("t", 10, 10)


def test_commits_are_one_table_sorted_by_group_topic_and_partition() -> None:
    screen = dedent("""\
        GROUP  TOPIC  PARTITION  COMMITTED-OFFSET  LEADER-EPOCH  METADATA
        a      t              0                 5             2  note
        a      u              9                 3             -  -
        a      u             10                 4             -  -
        b      t              1                 7             -  -
        """)
    assert run("offsets", "b", "a") == (0, screen, "")


def test_csv_has_empty_fields_for_missing_values() -> None:
    screen = dedent("""\
        GROUP,TOPIC,PARTITION,COMMITTED-OFFSET,LEADER-EPOCH,METADATA
        b,t,0,,,
        b,t,1,7,,
        """)
    assert run("offsets", "b", "--topic", "t", "--format", "csv") == (0, screen, "")


def test_ndjson_is_a_partition_a_line() -> None:
    row = '"group": "b", "topic": "t", "partition": 1, "committed_offset": 7, "leader_epoch": null, "metadata": ""}\n'
    line = NAMED_TEXT + row
    assert run("offsets", "b", "--format", "ndjson") == (0, line, "")


def test_json_is_one_document() -> None:
    outcome = run("offsets", "b", "--format", "json", "--topic", "t:0")
    commit = {"topic": "t", "partition": 0, "committed_offset": None, "leader_epoch": None, "metadata": None}
    text = "Consumer group 'b' has no committed offsets on the named partitions."
    assert json.loads(outcome.stdout) == {
        "schema": "kafka-groups/offsets/1",
        "status": "complete",
        "groups": [{**NAMED, "group": "b", "offsets": [commit]}],
        "notes": [{"kind": "no_offsets", "cluster": "fake", "group": "b", "text": text}],
        "errors": [],
    }
    assert (outcome.exit_code, outcome.stderr) == (0, f"{text}\n")


def test_a_named_topic_has_a_row_for_each_partition_committed_or_not() -> None:
    screen = dedent("""\
        GROUP  TOPIC  PARTITION  COMMITTED-OFFSET  LEADER-EPOCH  METADATA
        a      t              0                 5             2  note
        a      t              1                 -             -  -
        """)
    assert run("offsets", "a", "--topic", "t") == (0, screen, "")


@pytest.mark.parametrize("topics", [("u:9,10",), ("u:10", "u:9"), ("u:10,9,10,",)])
def test_named_partitions_are_printed_once_and_in_order(topics: tuple[str, ...]) -> None:
    arguments = [part for topic in topics for part in ("--topic", topic)]
    outcome = run("offsets", "a", *arguments, "--format", "csv")
    assert outcome.stdout.splitlines()[1:] == ["a,u,9,3,,", "a,u,10,4,,"]


def test_a_topic_that_is_also_named_without_partitions_has_all_of_them() -> None:
    outcome = run("offsets", "a", "--topic", "t:1", "--topic", "t", "--topic", "t:1", "--format", "csv")
    assert outcome.stdout.splitlines()[1:] == ["a,t,0,5,2,note", "a,t,1,,,"]


def test_an_unknown_topic_is_an_error_beside_the_rows() -> None:
    screen = "GROUP,TOPIC,PARTITION,COMMITTED-OFFSET,LEADER-EPOCH,METADATA\na,t,1,,,\n"
    outcome = run("offsets", "a", "--topic", "t:1", "--topic", "nope", "--format", "csv")
    error = "Error: topic 'nope': the topic does not exist (UNKNOWN_TOPIC_OR_PARTITION)\n"
    assert outcome == (3, screen, "Consumer group 'a' has no committed offsets on the named partitions.\n" + error)


def test_unknown_topics_alone_leave_stdout_empty() -> None:
    error = "Error: topic 'nope': the topic does not exist (UNKNOWN_TOPIC_OR_PARTITION)\n"
    assert run("offsets", "a", "--topic", "nope") == (1, "", error)


@pytest.mark.parametrize(("flags", "stable"), [((), False), (("--stable",), True)])
def test_stable_is_requested_from_the_brokers(cluster: FakeCluster, flags: tuple[str, ...], stable: bool) -> None:
    run("offsets", "a", *flags)
    cluster.admin.list_group_offsets.assert_called_once_with({"a": None}, require_stable=stable, timeout=ANY)


def test_neither_members_nor_log_end_offsets_are_fetched(cluster: FakeCluster) -> None:
    run("offsets", "a", "b")
    cluster.admin.describe_groups.assert_not_called()
    cluster.admin.list_offsets.assert_not_called()


def test_a_named_group_without_commits_is_a_note_and_a_missing_one_an_error(cluster: FakeCluster) -> None:
    cluster.add("new")
    stderr = (
        "Consumer group 'new' has no committed offsets on the named partitions.\n"
        "Error: group 'nope': there is no such group (GROUP_ID_NOT_FOUND)\n"
    )
    outcome = run("offsets", "a", "new", "nope", "--topic", "t:0", "--format", "csv")
    assert outcome.stdout.splitlines()[1:] == ["a,t,0,5,2,note", "new,t,0,,,"]
    assert (outcome.exit_code, outcome.stderr) == (3, stderr)
    cluster.admin.describe_groups.assert_called_once_with(["new", "nope"], timeout=ANY)


def test_a_named_group_that_never_committed_is_a_note(cluster: FakeCluster) -> None:
    cluster.add("new")
    outcome = run("offsets", "new", "--format", "ndjson")
    assert outcome == (0, "", "Consumer group 'new' has no committed offsets.\n")


def test_a_missing_group_alone_leaves_stdout_empty() -> None:
    assert run("offsets", "nope") == (1, "", "Error: group 'nope': there is no such group (GROUP_ID_NOT_FOUND)\n")


def test_listed_groups_without_commits_are_not_described(cluster: FakeCluster) -> None:
    cluster.add("new")
    assert run("offsets", "--match", "new|b", "--format", "ndjson").exit_code == 0
    cluster.admin.describe_groups.assert_not_called()


def test_a_denied_partition_is_one_error_and_does_not_hide_others(cluster: FakeCluster) -> None:
    cluster.add("a", commits={("t", 0): 5}, refused={("secret", 0): 29})
    outcome = run("offsets", "a", "--format", "json")
    document = json.loads(outcome.stdout)
    assert [row["topic"] for row in document["groups"][0]["offsets"]] == ["t"]
    assert document["errors"] == [
        {
            "cluster": "fake",
            "group": "a",
            "topic": "secret",
            "partition": 0,
            "broker": None,
            "code": 29,
            "name": "TOPIC_AUTHORIZATION_FAILED",
            "message": "not allowed: this needs DESCRIBE on the topic",
        }
    ]
    error = "group 'a', partition secret-0: not allowed: this needs DESCRIBE on the topic (TOPIC_AUTHORIZATION_FAILED)"
    assert (outcome.exit_code, document["status"], outcome.stderr) == (3, "partial", f"Error: {error}\n")


def test_a_denied_group_does_not_hide_others(cluster: FakeCluster) -> None:
    cluster.unfetchable["a"] = failure(group="a")
    outcome = run("offsets", "a", "b", "--format", "csv")
    assert outcome.stdout.splitlines()[1:] == ["b,t,1,7,,"]
    assert (outcome.exit_code, outcome.stderr) == (3, "Error: group 'a': refused (GROUP_AUTHORIZATION_FAILED)\n")


@pytest.fixture
def share_group(cluster: FakeCluster) -> None:
    """Add a share group with a start offset on one partition, which sorts before the others."""
    cluster.add("A", kind="Share", protocol_type="share", commits={("t", 0): CommittedOffset(5, 2, ""), ("t", 1): None})


@pytest.mark.usefixtures("share_group")
def test_start_offsets_are_a_table_of_their_own_behind_commits() -> None:
    screen = dedent("""\
        GROUP  TOPIC  PARTITION  COMMITTED-OFFSET  LEADER-EPOCH  METADATA
        b      t              1                 7             -  -

        GROUP  TOPIC  PARTITION  START-OFFSET  LEADER-EPOCH  LAG
        A      t              0             5             2    -
        A      t              1             -             -    -
        """)
    assert run("offsets", "A", "b") == (0, screen, "")


@pytest.mark.usefixtures("share_group")
def test_share_groups_alone_are_one_table_and_one_csv() -> None:
    assert run("offsets", "A").stdout.startswith("GROUP  TOPIC  PARTITION  START-OFFSET")
    screen = "GROUP,TOPIC,PARTITION,START-OFFSET,LEADER-EPOCH,LAG\nA,t,0,5,2,\nA,t,1,,,\n"
    assert run("offsets", "A", "--format", "csv") == (0, screen, "")


@pytest.mark.usefixtures("share_group")
def test_csv_of_commits_and_start_offsets_is_a_usage_error_that_names_the_selectors() -> None:
    outcome = run("offsets", "A", "b", "--format", "csv")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert "select one kind by --type, --match or names" in outcome.stderr


@pytest.mark.usefixtures("share_group")
def test_json_is_one_document_of_both_in_the_order_of_groups() -> None:
    groups = json.loads(run("offsets", "A", "b", "--format", "json").stdout)["groups"]
    start = {"topic": "t", "partition": 0, "start_offset": 5, "leader_epoch": 2, "lag": None}
    assert [(group["group"], group["offsets"][0].get("committed_offset")) for group in groups] == [
        ("A", None),
        ("b", 7),
    ]
    assert groups[0]["offsets"][0] == start


def test_a_named_group_without_offsets_is_a_note_that_names_its_kind(cluster: FakeCluster) -> None:
    cluster.add("empty", kind="Share", protocol_type="share")
    cluster.add("workers", protocol_type="connect")
    outcome = run("offsets", "empty", "workers")
    assert (outcome.exit_code, outcome.stderr.splitlines()) == (
        0,
        ["Share group 'empty' has no start offsets.", "Connect group 'workers' has no offsets."],
    )
