"""Notes on stderr, which are no errors: the exit code is 0."""

from __future__ import annotations

import pytest

from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, failure, member

needs_selector = pytest.mark.parametrize("command", ["describe", "offsets"])


@pytest.mark.parametrize("state", ["PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"])
def test_a_rebalancing_group_is_a_warning_beside_its_rows(cluster: FakeCluster, state: str) -> None:
    cluster.add("g", state=state, members=[member("m")], commits={("t", 0): 1})
    cluster.end("t", 1)
    outcome = run("describe", "g", "--format", "csv")
    assert outcome.stdout.splitlines()[1:] == ["g,t,0,1,1,0,,,"]
    assert (outcome.exit_code, outcome.stderr) == (0, "Warning: Consumer group 'g' is rebalancing.\n")


@pytest.fixture
def twenty_one_empty_groups(cluster: FakeCluster) -> FakeCluster:
    """Add 21 Empty groups: one more than have a note each."""
    for number in range(21):
        cluster.add(f"g{number:02}", commits={("t", 0): 1})
    return cluster


@pytest.mark.usefixtures("twenty_one_empty_groups")
def test_more_than_twenty_empty_groups_that_were_not_named_are_one_note() -> None:
    assert run("describe", "--all-groups", "--state").stderr == "21 consumer groups have no active members.\n"


@pytest.mark.usefixtures("twenty_one_empty_groups")
def test_twenty_empty_groups_have_a_note_each() -> None:
    outcome = run("describe", "--all-groups", "--exclude", "g00")
    notes = [f"Consumer group 'g{number:02}' has no active members." for number in range(1, 21)]
    assert outcome.stderr.splitlines() == notes


@pytest.mark.usefixtures("twenty_one_empty_groups")
def test_a_named_empty_group_has_a_note_of_its_own(cluster: FakeCluster) -> None:
    cluster.add("named")
    outcome = run("describe", "--match", "g.*", "named", "--state")
    notes = "Consumer group 'named' has no active members.\n21 more consumer groups have no active members.\n"
    assert outcome.stderr == notes


def test_many_groups_without_rows_are_one_note(cluster: FakeCluster) -> None:
    for number in range(21):
        cluster.add(f"g{number:02}", state="Stable", members=[member("m")])
    note = "21 consumer groups have no committed offsets and no assigned partitions.\n"
    assert run("describe", "--all-groups") == (0, "", note)


@needs_selector
def test_skipped_groups_of_other_kinds_are_a_note(cluster: FakeCluster, command: str) -> None:
    cluster.add("mine", state="Stable", members=[member("m")], commits={("t", 0): 1})
    cluster.add("queue", state="Stable", kind="Queue", protocol_type="queue")
    cluster.add("flow", state="Stable", kind="Flow", protocol_type="flow")
    cluster.add("registry", state="Stable", protocol_type="sr")
    cluster.end("t", 1)
    outcome = run(command, "--all-groups", "--format", "csv")
    assert [line.split(",")[0] for line in outcome.stdout.splitlines()] == ["GROUP", "mine"]
    assert (outcome.exit_code, outcome.stderr) == (
        0,
        "3 groups of other kinds are skipped (Flow, Queue, sr).\n",
    )


@needs_selector
def test_a_selector_that_matches_other_kinds_only_matches_no_group(cluster: FakeCluster, command: str) -> None:
    cluster.add("queue", state="Stable", kind="Queue", protocol_type="queue")
    notes = "1 group of another kind is skipped (Queue).\nNo group matches.\n"
    assert run(command, "--match", "queue", "--format", "ndjson") == (0, "", notes)


@needs_selector
def test_a_named_group_of_another_kind_is_an_error(cluster: FakeCluster, command: str) -> None:
    cluster.undescribable["share"] = failure("GROUP_ID_NOT_FOUND", code=69, group="share")
    assert run(command, "share") == (1, "", "Error: group 'share': refused (GROUP_ID_NOT_FOUND)\n")


def test_a_group_that_is_deleted_after_it_was_listed_is_a_note(cluster: FakeCluster) -> None:
    cluster.add("here", state="Stable", members=[member("m", {"t": (0,)})])
    cluster.add("gone", state="Stable")
    del cluster.descriptions["gone"]
    cluster.end("t", 1)
    outcome = run("describe", "--all-groups", "--format", "csv")
    assert outcome.stdout.splitlines()[1:] == ["here,t,0,,1,,m,/10.0.0.1,client"]
    note = "1 of the listed groups were deleted before they were read.\n"
    assert (outcome.exit_code, outcome.stderr) == (0, note)


@needs_selector
def test_a_group_that_is_deleted_before_its_commits_are_fetched_is_a_note(cluster: FakeCluster, command: str) -> None:
    cluster.add("here", state="Stable", members=[member("m")], commits={("t", 0): 1})
    cluster.add("gone", state="Stable", members=[member("m")])
    cluster.unfetchable["gone"] = failure("GROUP_ID_NOT_FOUND", code=69, group="gone")
    outcome = run(command, "--all-groups", "--format", "ndjson")
    assert outcome.stdout.count("\n") == 1
    note = "1 of the listed groups were deleted before they were read.\n"
    assert (outcome.exit_code, outcome.stderr) == (0, note)


def test_a_named_group_that_is_deleted_is_an_error(cluster: FakeCluster) -> None:
    cluster.add("gone", state="Stable")
    del cluster.descriptions["gone"]
    error = "Error: group 'gone': there is no such group (GROUP_ID_NOT_FOUND)\n"
    assert run("describe", "--match", ".*", "gone") == (1, "", error)
