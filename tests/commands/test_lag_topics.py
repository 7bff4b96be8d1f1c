"""`kafka-groups lag --topic`: rows and totals of topics alone."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent

import pytest

from tests.commands.lag_groups import document_of
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, member


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    """Add groups that read `t`, `u` or both, and one without a commit."""
    both = [member("m1", {"t": (0, 1), "u": (0,)}), member("m2", {"t": (2,)})]
    cluster.add("both", state="Stable", members=both, commits={("t", 0): 10, ("t", 1): 90, ("u", 0): 3})
    cluster.add("one", commits={("u", 0): 15})
    cluster.add("owner", kind="Consumer", state="Stable", members=[member("m", {"u": (0,)})])
    cluster.add("none")
    cluster.end("t", 100, 100, 100, starts=(0, 0, 0))
    cluster.end("u", 20, starts=(10,))


def rows_of(*arguments: str) -> list[str]:
    """Return the lines of CSV without their header."""
    return run("lag", *arguments, "--format", "csv").stdout.splitlines()[1:]


def test_totals_are_those_of_the_topic() -> None:
    screen = dedent("""\
        GROUP  STATE   MEMBERS  LAG  PARTITIONS-BEHIND  UNCOMMITTED  LOST  MARGIN  MARGIN%  NOTE
        both   Stable        2   17                  1            0     7       0      0.0  data_loss
        one    Empty         0    5                  1            0     0       5     50.0  -
        owner  Stable        1    -                  0            1     -       -        -  -
        """)
    assert run("lag", "--topic", "u") == (0, screen, "")


@pytest.mark.parametrize("by", ["topic", "partition", "member"])
def test_every_row_is_one_of_the_topics(by: str) -> None:
    assert len(rows_of("--by", by, "--topic", "t")) == {"topic": 1, "partition": 3, "member": 2}[by]
    assert sorted(rows_of("--by", by, "--topic", "t", "--topic", "u")) == sorted(rows_of("--by", by))


def test_the_rows_of_a_topic_are_those_without_the_option() -> None:
    everything = [line.split(",") for line in rows_of("--by", "partition")]
    named = {("t",): {"t": "012"}, ("u",): {"u": "0"}, ("t:0,2",): {"t": "02"}, ("t:1", "u:0"): {"t": "1", "u": "0"}}
    for values, partitions in named.items():
        options = [argument for value in values for argument in ("--topic", value)]
        expected = [row for row in everything if row[2] in partitions.get(row[1], "")]
        assert [line.split(",") for line in rows_of("--by", "partition", *options)] == expected != []


def test_a_partition_without_a_commit_is_uncommitted_if_the_group_reads_its_topic(cluster: FakeCluster) -> None:
    cluster.add("added", commits={("t", 0): 5})
    (group,) = document_of("added", "--topic", "t:2", "--by", "partition")["groups"]
    assert (group["lag"], group["uncommitted_partitions"], group["partitions_behind"]) == (None, 1, 0)
    assert [(row["partition"], row["committed_offset"]) for row in group["rows"]] == [(2, None)]


def test_match_and_topic_narrow_both() -> None:
    assert [line.split(",")[0] for line in rows_of("--match", "o.*", "--topic", "u")] == ["one", "owner"]
    assert rows_of("--match", "o.*", "--topic", "t") == []


def test_top_and_conditions_see_only_these_topics() -> None:
    assert run("lag", "--topic", "u", "--fail-if", "lag>20").exit_code == 0
    assert run("lag", "--topic", "t", "--fail-if", "lag>20").exit_code == 4
    assert [line.split(",")[0] for line in rows_of("--topic", "u", "--top", "1")] == ["both"]


def test_metrics_are_those_of_the_topics() -> None:
    text = run("lag", "--topic", "u", "--by", "topic", "--format", "openmetrics").stdout
    assert 'kafka_groups_topic_lag_messages{cluster="fake",group="both",topic="u",type="Classic"} 17' in text
    assert 'topic="t"' not in text


def test_a_named_group_without_the_topic_is_a_note() -> None:
    note = "Group 'one' has no commits on the topic, and no members that own partitions of it.\n"
    outcome = run("lag", "one", "both", "--topic", "t", "--format", "csv")
    assert (outcome.exit_code, outcome.stderr) == (0, note)
    assert [line.split(",")[0] for line in outcome.stdout.splitlines()[1:]] == ["both"]
    document = document_of("one", "--topic", "t")
    assert (document["status"], document["groups"]) == ("complete", [])
    assert [(note["kind"], note["group"]) for note in document["notes"]] == [("no_group_of_topic", "one")]


def test_no_group_of_the_topic_is_one_note(cluster: FakeCluster) -> None:
    cluster.end("unread", 5)
    note = "No group has commits on the topic, or members that own partitions of it.\n"
    outcome = run("lag", "--topic", "unread")
    assert (outcome.exit_code, len(outcome.stdout.splitlines()), outcome.stderr) == (0, 1, note)
    unchecked = run("lag", "--topic", "unread", "--fail-if", "lag>0")
    assert unchecked.exit_code == 1
    assert unchecked.stderr == f"{note}The condition of --fail-if was not checked.\n"


def test_a_topic_that_does_not_exist_is_an_error_with_a_suggestion(cluster: FakeCluster) -> None:
    cluster.end("orders", 5)
    outcome = run("lag", "--topic", "oders", "--topic", "u", "--format", "csv")
    text = "Error: topic 'oders': the topic does not exist; did you mean 'orders'? (UNKNOWN_TOPIC_OR_PARTITION)\n"
    assert (outcome.exit_code, outcome.stderr) == (3, text)
    assert len(outcome.stdout.splitlines()) == 4
    assert run("lag", "--topic", "oders") == (1, "", text)


def test_commits_on_a_deleted_topic_have_a_row_and_one_error(cluster: FakeCluster) -> None:
    cluster.add("late", commits={("deleted", 0): 5})
    outcome = run("lag", "--topic", "deleted", "--format", "csv")
    assert outcome.exit_code == 3
    assert outcome.stderr.count("UNKNOWN_TOPIC_OR_PARTITION") == 1
    assert outcome.stdout.splitlines()[1].startswith("late,Empty,0,,")


def test_a_partition_that_does_not_exist_is_an_error() -> None:
    outcome = run("lag", "--topic", "u:0,7", "--format", "csv")
    assert (outcome.exit_code, len(outcome.stdout.splitlines())) == (3, 4)
    assert outcome.stderr == "Error: partition u-7: it does not exist (UNKNOWN_TOPIC_OR_PARTITION)\n"


def test_a_group_whose_assignments_are_unknown_may_read_the_topic(cluster: FakeCluster) -> None:
    cluster.add("moving", state="PreparingRebalance", members=[member("m")], commits={("u", 0): 10})
    (group,) = [each for each in document_of("--topic", "t")["groups"] if each["group"] == "moving"]
    assert (group["lag"], group["uncommitted_partitions"], group["note"]) == (None, None, ["unknown_assignment"])


def test_a_rebalancing_group_whose_members_own_other_topics_has_no_row(cluster: FakeCluster) -> None:
    owner = [member("m", {"u": (0,)})]
    cluster.add("moving", state="PreparingRebalance", members=owner, commits={("u", 0): 10})
    assert "moving" not in run("lag", "--topic", "t").stdout


def test_refused_commits_of_other_topics_are_no_error(cluster: FakeCluster) -> None:
    cluster.add("partly", commits={("u", 0): 10}, refused={("t", 0): 29})
    assert run("lag", "partly", "--topic", "u").exit_code == 0
    assert run("lag", "partly", "--topic", "t").exit_code == 3


def test_the_start_offsets_of_share_groups_are_narrowed(cluster: FakeCluster) -> None:
    cluster.add("share", kind="Share", protocol_type="share", commits={("t", 0): 7, ("u", 0): 9})
    document = document_of("share", "--by", "partition", "--topic", "u")
    assert [(row["topic"], row["committed_offset"]) for row in document["groups"][0]["rows"]] == [("u", 9)]


def test_a_member_of_a_share_group_that_waits_for_the_topic_reads_it(cluster: FakeCluster) -> None:
    waiting = member("m", subscription=("u",))
    cluster.add("share", kind="Share", protocol_type="share", state="Stable", members=[waiting])
    assert "share" in run("lag", "--topic", "u").stdout
    assert "share" not in run("lag", "--topic", "t").stdout


def test_time_lag_reads_records_of_these_topics_alone(cluster: FakeCluster) -> None:
    run("lag", "--topic", "u", "--time")
    assert {key.topic for positions, _ in cluster.record_requests for key in positions} == {"u"}


def test_polls_of_a_topic_are_a_file_of_their_own(tmp_path: Path) -> None:
    file = tmp_path / "polls"
    assert run("lag", "--topic", "t:1,0", "--polls", str(file)).exit_code == 0
    head, _, *lines = file.read_text().splitlines()
    assert (json.loads(head)["topics"], len(lines)) == (["t:0,1"], 2)
    assert run("lag", "--topic", "t:0", "--topic", "t:1", "--polls", str(file)).exit_code == 0
    outcome = run("lag", "--polls", str(file))
    problem = f"Error: {file} has the polls of --topic t:0,1, and this is all topics; use another file\n"
    assert (outcome.exit_code, outcome.stderr) == (2, problem)


def test_polls_forget_a_commit_on_the_topic_that_was_deleted(cluster: FakeCluster, tmp_path: Path) -> None:
    file = tmp_path / "polls"
    run("lag", "one", "--topic", "u", "--polls", str(file))
    cluster.add("one", commits={("t", 0): 1})
    run("lag", "one", "--topic", "u", "--polls", str(file))
    assert json.loads(file.read_text().splitlines()[1])["partitions"] == 0


def test_a_watch_shows_the_lag_of_the_topic() -> None:
    outcome = run("lag", "both", "--topic", "u", "--watch", "1ms", "--samples", "2", "--format", "ndjson")
    assert [json.loads(line)["lag"] for line in outcome.stdout.splitlines()] == [17, 17]


def test_a_wrong_partition_is_a_usage_error(cluster: FakeCluster) -> None:
    outcome = run("lag", "--topic", "t:x")
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    cluster.admin.list_groups.assert_not_called()
