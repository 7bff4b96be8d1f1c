"""Which groups are meant: the same in every command."""

from __future__ import annotations

from unittest.mock import ANY

import pytest

from tests.fakes.fake_admin import FakeCluster, run

WHICH = "no group is selected; name groups, or use --match REGEX or --all-groups"


@pytest.fixture(autouse=True)
def four_groups(cluster: FakeCluster) -> None:
    """Four groups with a commit each."""
    for group in ("a", "b", "ab", "b.c"):
        cluster.add(group, commits={("t", 0): 1})
    cluster.end("t", 1)


def answered(command: str, *selectors: str) -> list[str]:
    """The groups of the rows, in their order."""
    outcome = run(command, *selectors, "--format", "csv")
    assert outcome.exit_code == 0
    return [line.split(",")[0] for line in outcome.stdout.splitlines()[1:]]


every_command = pytest.mark.parametrize("command", ["list", "describe", "offsets"])
needs_selector = pytest.mark.parametrize("command", ["describe", "offsets"])


@every_command
@pytest.mark.parametrize(
    ("selectors", "groups"),
    [
        (("a",), ["a"]),
        (("--group", "a"), ["a"]),
        (("-g", "b", "-g", "a"), ["a", "b"]),
        (("b", "a", "--group", "b", "a"), ["a", "b"]),
        (("--match", "a"), ["a"]),
        (("--match", "a.*"), ["a", "ab"]),
        (("--match", "b.c"), ["b.c"]),
        (("--match", "a|b"), ["a", "b"]),
        (("--match", "a", "a", "b"), ["a", "b"]),
        (("--all-groups",), ["a", "ab", "b", "b.c"]),
        (("--all-groups", "--exclude", "b"), ["a", "ab", "b.c"]),
        (("--match", ".*", "--exclude", "a.*|b"), ["b.c"]),
        (("a", "b", "--exclude", "b"), ["a"]),
    ],
)
def test_selectors_mean_the_same_everywhere(command: str, selectors: tuple[str, ...], groups: list[str]) -> None:
    assert answered(command, *selectors) == groups


@every_command
@pytest.mark.parametrize(
    ("selectors", "told"),
    [
        (("--all-groups", "a"), "--all-groups contradicts named groups: give one or the other"),
        (("--all-groups", "-g", "a"), "--all-groups contradicts named groups: give one or the other"),
        (("--all-groups", "--match", "a"), "--all-groups contradicts --match: give one or the other"),
        (("--match", "a["), "--match 'a[' is not a regular expression: unterminated character set at position 1"),
        (("--exclude", "*"), "--exclude '*' is not a regular expression: nothing to repeat at position 0"),
    ],
)
def test_selectors_that_cannot_be_meant_are_usage_errors(command: str, selectors: tuple[str, ...], told: str) -> None:
    assert run(command, *selectors) == (2, "", f"Error: {told}; see kafka-groups {command} --help\n")


@needs_selector
@pytest.mark.parametrize("selectors", [(), ("--exclude", "a"), ("--type", "classic")])
def test_a_command_that_needs_groups_asks_which(command: str, selectors: tuple[str, ...]) -> None:
    assert run(command, *selectors) == (2, "", f"Error: {WHICH}; see kafka-groups {command} --help\n")


def test_list_without_a_selector_means_all_but_the_excluded() -> None:
    assert run("list", "--exclude", "a.*") == (0, "b\nb.c\n", "")


@every_command
@pytest.mark.parametrize("selectors", [("--match", "z"), ("--all-groups", "--exclude", ".*"), ("a", "--exclude", "a")])
def test_selectors_that_match_nothing_are_a_note(command: str, selectors: tuple[str, ...]) -> None:
    outcome = run(command, *selectors, "--format", "ndjson")
    assert outcome == (0, "", "No group matches.\n")


@needs_selector
def test_named_groups_cost_no_listing(cluster: FakeCluster, command: str) -> None:
    run(command, "a", "b")
    cluster.admin.list_groups.assert_not_called()


@needs_selector
def test_all_groups_are_asked_about_in_one_call(cluster: FakeCluster, command: str) -> None:
    run(command, "--all-groups")
    cluster.admin.list_groups.assert_called_once_with(states=None, types=None, timeout=ANY)
    read = {"describe": cluster.admin.describe_with_offsets, "offsets": cluster.admin.list_consumer_group_offsets}
    read[command].assert_called_once()


@pytest.mark.parametrize(("command", "option"), [("describe", "--in-state"), ("offsets", "--state")])
def test_states_and_types_narrow_what_was_selected(cluster: FakeCluster, command: str, option: str) -> None:
    cluster.add("busy", state="Stable", kind="Consumer", commits={("t", 0): 1})
    assert answered(command, "--all-groups", option, "stable", "--type", "CONSUMER") == ["busy"]
    cluster.admin.list_groups.assert_called_once_with(states=("Stable",), types=("Consumer",), timeout=ANY)


def test_in_describe_state_is_the_view_and_takes_no_value() -> None:
    outcome = run("describe", "--all-groups", "--state", "Stable")
    told = "--all-groups contradicts named groups: give one or the other"
    assert outcome == (2, "", f"Error: {told}; see kafka-groups describe --help\n")


@pytest.mark.parametrize("option", ["--state", "--type"])
def test_in_offsets_a_filter_without_a_value_is_a_usage_error(option: str) -> None:
    told = f"Error: Option '{option}' requires an argument; see kafka-groups offsets --help\n"
    assert run("offsets", "--all-groups", option) == (2, "", told)


@pytest.mark.parametrize(
    ("pair", "told"),
    [
        (("--members", "--state"), "--members contradicts --state"),
        (("--offsets", "--state"), "--offsets contradicts --state"),
        (("--members", "--offsets"), "--offsets contradicts --members"),
    ],
)
def test_describe_shows_one_view(pair: tuple[str, str], told: str) -> None:
    outcome = run("describe", "a", *pair)
    assert outcome == (2, "", f"Error: {told}: give one or the other; see kafka-groups describe --help\n")


def test_topics_that_cannot_be_meant_are_usage_errors() -> None:
    see = "; see kafka-groups offsets --help\n"
    named = run("offsets", "a", "--topic", "t:x")
    assert named == (2, "", f"Error: --topic 't:x': 'x' is not a partition{see}")
    empty = run("offsets", "a", "--topic", "t:")
    assert empty == (2, "", f"Error: --topic 't:': no partition is named after the colon{see}")
    twice = run("offsets", "a", "--topic", "t:0:1")
    assert twice == (2, "", f"Error: --topic 't:0:1': write a topic, or a topic and partitions as orders:0,1{see}")
