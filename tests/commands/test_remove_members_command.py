"""`kafka-groups remove-members`: static members that are stuck, or all members of a group."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kafka_groups.admin.api import MemberIdentity
from kafka_groups.changes.plan_file import read_plan
from tests.commands.change_commands import DRY_RUN, EXECUTE, attempt, changes, journal_files, last_line, last_run
from tests.fakes.command_line import run
from tests.fakes.fake_admin import NAMED_TEXT, FakeCluster, failure, member

GROUP = ("remove-members", "--group", "a")


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    """Add `a` with a static and a dynamic member, `new` on the new protocol, and `idle` without members."""
    cluster.add("a", state="Stable", members=[member("m1", group_instance_id="i1"), member("m2")])
    cluster.add("new", kind="Consumer", state="Stable", members=[member("m3", upgraded=True)])
    cluster.add("idle")


def test_the_plan_is_a_row_for_each_member(cluster: FakeCluster) -> None:
    screen = "GROUP  CONSUMER-ID  GROUP-INSTANCE-ID  STATUS\na      m1           i1                 planned\n"
    assert run(*GROUP, "--instance", "i1") == (0, screen, f"1 member.\n{DRY_RUN}\n")
    assert (changes(cluster), journal_files()) == ([], [])


@pytest.mark.parametrize(
    ("output", "lines"),
    [
        ("csv", ["GROUP,CONSUMER-ID,GROUP-INSTANCE-ID,STATUS", "a,m1,i1,planned", "a,m2,,planned"]),
        (
            "ndjson",
            [
                NAMED_TEXT
                + '"group": "a", "member_id": "m1", "group_instance_id": "i1", "note": null, "status": "planned"}',
                NAMED_TEXT
                + '"group": "a", "member_id": "m2", "group_instance_id": null, "note": null, "status": "planned"}',
            ],
        ),
    ],
)
def test_formats_for_programs_have_the_same_rows(output: str, lines: list[str]) -> None:
    assert run(*GROUP, "--all", "--format", output).stdout.splitlines() == lines


def test_execute_removes_the_members_and_says_that_this_is_for_good(cluster: FakeCluster) -> None:
    outcome = run(*GROUP, "--all", *EXECUTE, "--format", "json")
    (group,) = json.loads(outcome.stdout)["groups"]
    assert [(row["member_id"], row["status"]) for row in group["members"]] == [("m1", "done"), ("m2", "done")]
    assert (outcome.exit_code, cluster.descriptions["a"].members) == (0, ())
    recorded = last_run()
    assert recorded.command == "remove-members"
    assert [change.member_id for change in recorded.plan.changes] == ["m1", "m2"]
    assert last_line(outcome).endswith("; it cannot be undone.")


def test_an_absent_instance_is_exit_3_and_the_others_are_removed(cluster: FakeCluster) -> None:
    outcome = run(*GROUP, "--instance", "i1", "--instance", "typo", *EXECUTE)
    assert outcome.exit_code == 3
    assert "no member has the group instance id 'typo' (UNKNOWN_MEMBER_ID)" in outcome.stderr
    assert [each.member_id for each in cluster.descriptions["a"].members] == ["m2"]


@pytest.mark.parametrize(
    ("group", "text"),
    [
        ("new", "member 'm3' does not use the classic protocol; brokers remove only classic members (REFUSED)"),
        ("absent", "group 'absent': there is no such group (GROUP_ID_NOT_FOUND)"),
    ],
)
def test_what_is_refused_alone_is_exit_1(cluster: FakeCluster, group: str, text: str) -> None:
    outcome = run("remove-members", "-g", group, "--all", *EXECUTE)
    assert (outcome.exit_code, last_line(outcome), changes(cluster)) == (1, attempt(), [])
    assert last_run().plan.changes == ()
    assert text in outcome.stderr


def test_a_group_without_members_is_a_note() -> None:
    outcome = run("remove-members", "-g", "idle", "--all", *EXECUTE)
    assert (outcome.exit_code, outcome.stderr) == (0, f"Consumer group 'idle' has no active members.\n{attempt()}\n")


def test_a_member_that_left_in_the_meantime_is_failed(cluster: FakeCluster) -> None:
    cluster.refused_items["a", MemberIdentity("m2", None)] = failure("UNKNOWN_MEMBER_ID", code=25, group="a")
    outcome = run(*GROUP, "--all", *EXECUTE, "--format", "csv")
    assert (outcome.exit_code, outcome.stdout.splitlines()[1:]) == (3, ["a,m1,i1,done", "a,m2,,failed"])


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("--all",), "Missing option '-g' / '--group'"),
        (("-g", "a"), "no member is selected; give --instance ID, or --all"),
        (("-g", "a", "--all", "--instance", "i1"), "--all contradicts --instance: give one or the other"),
        (("-g", "a", "--all", "--execute"), "--execute needs --yes here"),
    ],
)
def test_usage_errors(cluster: FakeCluster, arguments: tuple[str, ...], text: str) -> None:
    outcome = run("remove-members", *arguments)
    assert (outcome.exit_code, outcome.stdout) == (2, "")
    assert text in outcome.stderr
    assert changes(cluster) == []


def test_the_plan_is_exported(tmp_path: Path) -> None:
    run(*GROUP, "--all", "--export", str(tmp_path / "plan"))
    exported = read_plan((tmp_path / "plan").read_text(), name="f").changes
    assert [(change.member_id, change.group_instance_id) for change in exported] == [("m1", "i1"), ("m2", None)]


@pytest.mark.parametrize(
    ("kind", "protocol_type", "noun"),
    [
        ("Share", "share", "Share group"),
        ("Streams", "streams", "Streams group"),
        ("Classic", "connect", "Connect group"),
    ],
)
def test_a_group_of_another_kind_is_refused_and_the_error_says_which_kinds_kafka_has_it_for(
    cluster: FakeCluster, kind: str, protocol_type: str, noun: str
) -> None:
    cluster.add("a", kind=kind, protocol_type=protocol_type, state="Stable", members=[member("m1")])
    outcome = run(*GROUP, "--all", *EXECUTE)
    text = f"it is a {noun}; Kafka removes members of consumer groups only, if they use the classic protocol"
    assert (outcome.exit_code, outcome.stdout, changes(cluster)) == (1, "", [])
    assert f"Error: group 'a': {text} (REFUSED)" in outcome.stderr
