"""What is worth knowing and no error: on stderr, exit 0."""

from __future__ import annotations

import pytest

from tests.fakes.fake_admin import FakeCluster, failure, member, run

needs_selector = pytest.mark.parametrize("command", ["describe", "offsets"])


@pytest.mark.parametrize("state", ["PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling"])
def test_a_rebalancing_group_is_a_warning_beside_its_rows(cluster: FakeCluster, state: str) -> None:
    cluster.add("g", state=state, members=[member("m")], commits={("t", 0): 1})
    cluster.end("t", 1)
    outcome = run("describe", "g", "--format", "csv")
    assert outcome.stdout.splitlines()[1:] == ["g,t,0,1,1,0,,,"]
    assert (outcome.exit_code, outcome.stderr) == (0, "Warning: Consumer group 'g' is rebalancing.\n")


@pytest.fixture
def crowd(cluster: FakeCluster) -> FakeCluster:
    """21 Empty groups: one more than speak for themselves."""
    for number in range(21):
        cluster.add(f"g{number:02}", commits={("t", 0): 1})
    return cluster


@pytest.mark.usefixtures("crowd")
def test_many_empty_groups_that_nobody_named_are_one_line() -> None:
    assert run("describe", "--all-groups", "--state").stderr == "21 consumer groups have no active members.\n"


@pytest.mark.usefixtures("crowd")
def test_twenty_empty_groups_speak_for_themselves() -> None:
    outcome = run("describe", "--all-groups", "--exclude", "g00")
    told = [f"Consumer group 'g{number:02}' has no active members." for number in range(1, 21)]
    assert outcome.stderr.splitlines() == told


@pytest.mark.usefixtures("crowd")
def test_a_group_that_was_named_speaks_for_itself_in_any_crowd(cluster: FakeCluster) -> None:
    cluster.add("named")
    outcome = run("describe", "--match", "g.*", "named", "--state")
    told = "Consumer group 'named' has no active members.\n21 more consumer groups have no active members.\n"
    assert outcome.stderr == told


def test_many_groups_with_nothing_to_show_are_one_line(cluster: FakeCluster) -> None:
    for number in range(21):
        cluster.add(f"g{number:02}", state="Stable", members=[member("m")])
    told = "21 consumer groups have no committed offsets and no assigned partitions.\n"
    assert run("describe", "--all-groups") == (0, "", told)


@needs_selector
def test_kinds_that_a_command_cannot_handle_are_a_note(cluster: FakeCluster, command: str) -> None:
    cluster.add("mine", state="Stable", members=[member("m")], commits={("t", 0): 1})
    cluster.add("share", state="Stable", kind="Share", protocol_type="share")
    cluster.add("flow", state="Stable", kind="Streams", protocol_type="streams")
    cluster.add("sink", state="Stable", protocol_type="connect")
    cluster.end("t", 1)
    outcome = run(command, "--all-groups", "--format", "csv")
    assert [line.split(",")[0] for line in outcome.stdout.splitlines()] == ["GROUP", "mine"]
    assert (outcome.exit_code, outcome.stderr) == (
        0,
        "3 groups of other kinds are skipped (Share, Streams, connect).\n",
    )


@needs_selector
def test_if_only_other_kinds_match_nothing_matches(cluster: FakeCluster, command: str) -> None:
    cluster.add("share", state="Stable", kind="Share", protocol_type="share")
    told = "1 group of another kind is skipped (Share).\nNo group matches.\n"
    assert run(command, "--match", "share", "--format", "ndjson") == (0, "", told)


@needs_selector
def test_a_named_group_of_another_kind_is_an_error(cluster: FakeCluster, command: str) -> None:
    cluster.undescribable["share"] = failure("GROUP_ID_NOT_FOUND", code=69, group="share")
    assert run(command, "share") == (1, "", "Error: group 'share': refused (GROUP_ID_NOT_FOUND)\n")


def test_a_group_that_vanished_after_it_was_listed_is_a_note(cluster: FakeCluster) -> None:
    cluster.add("here", state="Stable", members=[member("m", {"t": (0,)})])
    cluster.add("gone", state="Stable")
    del cluster.descriptions["gone"]
    cluster.end("t", 1)
    outcome = run("describe", "--all-groups", "--format", "csv")
    assert outcome.stdout.splitlines()[1:] == ["here,t,0,,1,,m,/10.0.0.1,client"]
    told = "1 of the listed groups were deleted before they were read.\n"
    assert (outcome.exit_code, outcome.stderr) == (0, told)


@needs_selector
def test_a_group_that_vanished_before_its_commits_were_fetched_is_a_note(cluster: FakeCluster, command: str) -> None:
    cluster.add("here", state="Stable", members=[member("m")], commits={("t", 0): 1})
    cluster.add("gone", state="Stable", members=[member("m")])
    cluster.unfetchable["gone"] = failure("GROUP_ID_NOT_FOUND", code=69, group="gone")
    outcome = run(command, "--all-groups", "--format", "ndjson")
    assert outcome.stdout.count("\n") == 1
    told = "1 of the listed groups were deleted before they were read.\n"
    assert (outcome.exit_code, outcome.stderr) == (0, told)


def test_a_named_group_that_vanished_is_an_error(cluster: FakeCluster) -> None:
    cluster.add("gone", state="Stable")
    del cluster.descriptions["gone"]
    told = "Error: group 'gone': there is no such group (GROUP_ID_NOT_FOUND)\n"
    assert run("describe", "--match", ".*", "gone") == (1, "", told)
