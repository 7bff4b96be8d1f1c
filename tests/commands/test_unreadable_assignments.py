"""Members whose assignments cannot be read: nothing is shown as none, and nothing is concluded from them."""

from __future__ import annotations

import json

import pytest

from kafka_groups.model import Member
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, failure, member

NOTE = "Group 'g': the assignment of m2 cannot be read; the partitions are unknown.\n"
ELSEWHERE = ("list", "--topic", "u")


def unreadable(member_id: str) -> Member:
    """Return a member with an unreadable assignment."""
    return member(member_id)._replace(assignment=None)


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    """Add a group with a member that reads `t`, and one whose topics nobody can read."""
    members = [member("m1", {"t": (0,)}), unreadable("m2")]
    cluster.add("g", state="Stable", members=members, commits={("t", 0): 5, ("u", 0): 7})
    cluster.end("t", 10, starts=(0,))
    cluster.end("u", 10, starts=(0,))
    cluster.end("v", 10, starts=(0,))


def test_the_number_of_partitions_is_missing_and_the_assignment_is_null() -> None:
    outcome = run("describe", "g", "--members", "--verbose")
    rows = {row.split()[1]: row.split() for row in outcome.stdout.splitlines()[2:]}
    assert (rows["m1"][4], rows["m2"][4], rows["m2"][6]) == ("1", "-", "-")
    assert (outcome.exit_code, outcome.stderr) == (0, NOTE)
    documents = json.loads(run("describe", "g", "--format", "json").stdout)["groups"][0]["members"]
    assert {found["member_id"]: found["assignment"] for found in documents} == {
        "m1": [{"topic": "t", "partitions": [0]}],
        "m2": None,
    }


@pytest.mark.parametrize("format_name", ["kafka", "csv"])
def test_other_formats_have_a_missing_value(format_name: str) -> None:
    outcome = run("describe", "g", "--members", "--format", format_name)
    cell = outcome.stdout.splitlines()[-1].split("," if format_name == "csv" else None)[
        5 if format_name == "csv" else 4
    ]
    assert cell == ("" if format_name == "csv" else "-")


def test_commits_of_the_group_show_no_owner_and_the_note_says_why() -> None:
    outcome = run("describe", "g")
    assert [row.split()[1:3] + row.split()[6:7] for row in outcome.stdout.splitlines()[2:]] == [
        ["t", "0", "m1"],
        ["u", "0", "-"],
    ]
    assert outcome.stderr == NOTE


def test_the_number_of_partitions_without_a_commit_is_unknown() -> None:
    outcome = run("lag", "g", "--format", "json")
    (group,) = json.loads(outcome.stdout)["groups"]
    assert (group["lag"], group["uncommitted_partitions"], group["note"]) == (8, None, ["unknown_assignment"])
    assert (outcome.exit_code, outcome.stderr) == (0, NOTE)
    topics = json.loads(run("lag", "g", "--by", "topic", "--format", "json").stdout)["groups"][0]["rows"]
    assert {row["uncommitted_partitions"] for row in topics} == {None}
    assert "uncommitted_partitions{" not in run("lag", "g", "--format", "openmetrics").stdout
    assert run("wait", "g", "--until", "uncommitted_partitions==0", "--for", "1ms").exit_code == 4
    assert run("lag", "g", "--fail-if", "note==unknown_assignment").exit_code == 4


def test_what_a_readable_member_and_a_partition_have_is_known() -> None:
    for key in ("member", "partition"):
        rows = json.loads(run("lag", "g", "--by", key, "--format", "json").stdout)["groups"][0]["rows"]
        assert [row["note"] for row in rows] == [[], []]


def test_no_commit_of_the_group_is_an_orphan() -> None:
    assert run("orphans").stdout == "GROUP  TOPIC  PARTITION  COMMITTED-OFFSET  REASON\n"
    assert run("orphans").stderr == NOTE + "No orphans.\n"


def test_commits_of_deleted_topics_are_orphans_all_the_same(cluster: FakeCluster) -> None:
    cluster.add("g", state="Stable", members=[unreadable("m2")], commits={("gone", 0): 5, ("u", 0): 7})
    assert [line.split()[1:] for line in run("orphans").stdout.splitlines()[1:]] == [
        ["gone", "0", "5", "topic_deleted"]
    ]


@pytest.mark.parametrize("topic", ["u", "v"])
def test_the_group_may_read_any_topic(topic: str) -> None:
    outcome = run("list", "--topic", topic, "--format", "json")
    (group,) = json.loads(outcome.stdout)["groups"]
    assert (group["group"], group["members"], group["committed_partitions"]) == ("g", None, int(topic == "u"))
    assert outcome.stderr == NOTE
    assert run("list", "--topic", topic).stdout.splitlines()[1].split() == ["g", "Stable", "-", f"{int(topic == 'u')}"]


@pytest.mark.parametrize("state", ["PreparingRebalance", "CompletingRebalance"])
def test_the_topics_of_a_rebalancing_group_are_unknown_too(cluster: FakeCluster, state: str) -> None:
    cluster.add("g", state=state, members=[member("m1")], commits={("t", 0): 5})
    outcome = run("list", "--topic", "v")
    assert outcome.stdout.splitlines()[1].split() == ["g", state, "-", "0"]
    assert outcome.stderr == (
        "Group 'g' is rebalancing: whether its members read the topic is unknown until that has ended.\n"
    )
    assert run("lag", "g", "--fail-if", "uncommitted_partitions==0").exit_code == 0
    assert len(run("orphans").stdout.splitlines()) == 1


def test_no_deletion_of_commits_is_planned() -> None:
    outcome = run("delete-offsets", "g", "--topic", "u")
    assert outcome.exit_code == 1
    assert "Error: group 'g', partition u-0: the partitions of a member are unknown" in outcome.stderr


def test_a_topic_without_a_name_in_an_assignment_proves_nothing_either(cluster: FakeCluster) -> None:
    cluster.add(
        "g",
        kind="Consumer",
        state="Stable",
        members=[member("m1", {"t": (0,)})],
        commits={("u", 0): 7},
        unnamed_topics={"id": failure("UNKNOWN_TOPIC_ID", code=100)},
    )
    assert len(run("orphans").stdout.splitlines()) == 1
    assert run("list", "--topic", "v").stdout.splitlines()[1].split() == ["g", "Stable", "-", "0"]
    assert run("delete-offsets", "g", "--topic", "u").exit_code == 1


def test_a_note_names_three_members_at_most(cluster: FakeCluster) -> None:
    cluster.add("g", state="Stable", members=[unreadable(name) for name in "abcd"])
    (note,) = run("describe", "g", "--members").stderr.splitlines()
    assert "of 4 members (a, b, c, …)" in note


def test_many_groups_have_one_note_more(cluster: FakeCluster) -> None:
    for number in range(24):
        cluster.add(f"g{number}", state="Stable", members=[unreadable("a"), unreadable("b")])
    notes = run("describe", "--match", "g.+", "--members").stderr.splitlines()
    assert len(notes) == 21
    assert notes[0] == "Group 'g0': the assignments of 2 members (a, b) cannot be read; the partitions are unknown."
    assert notes[-1] == "The assignments of members of 4 more groups cannot be read."
