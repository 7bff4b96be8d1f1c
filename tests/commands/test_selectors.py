"""Selection of groups, which is the same in every command."""

from __future__ import annotations

import json
from unittest.mock import ANY

import pytest

from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster

NO_SELECTOR = "no group is selected; name groups, or use --match REGEX or --all-groups"


@pytest.fixture(autouse=True)
def four_groups(cluster: FakeCluster) -> None:
    """Add four groups with a commit each."""
    for group in ("a", "b", "ab", "b.c"):
        cluster.add(group, commits={("t", 0): 1})
    cluster.end("t", 1)


def selected(command: str, *selectors: str) -> list[str]:
    """Return the groups of the rows, in their order."""
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
def test_selectors_select_the_same_groups_in_every_command(
    command: str, selectors: tuple[str, ...], groups: list[str]
) -> None:
    assert selected(command, *selectors) == groups


@every_command
@pytest.mark.parametrize("option", ["--match", "--exclude"])
@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("a{99999999999}", "the repetition number is too large"),
        ("(" * 10_000 + ")" * 10_000, "it is nested too deeply"),
    ],
    ids=["repetition", "nesting"],
)
def test_a_pattern_that_is_too_large_is_a_usage_error(command: str, option: str, pattern: str, problem: str) -> None:
    message = f"{option} '{pattern}' is not a regular expression: {problem}"
    assert run(command, option, pattern) == (2, "", f"Error: {message}; see kafka-groups {command} --help\n")


@every_command
def test_a_pattern_that_python_warns_of_prints_no_warning(command: str) -> None:
    assert "nested set" not in run(command, "--match", "[[a]").stderr


@every_command
def test_a_pattern_matches_ids_with_newlines(cluster: FakeCluster, command: str) -> None:
    cluster.add("a\nb", commits={("t", 0): 1})
    ids = [
        json.loads(line)["group"] for line in run(command, "--match", "a.+", "--format", "ndjson").stdout.splitlines()
    ]
    assert ids == ["a\nb", "ab"]
    assert run("list", "--exclude", "a.*") == (0, "b\nb.c\n", "")


@every_command
@pytest.mark.parametrize(
    ("selectors", "message"),
    [
        (("--all-groups", "a"), "--all-groups contradicts named groups: give one or the other"),
        (("--all-groups", "-g", "a"), "--all-groups contradicts named groups: give one or the other"),
        (("--all-groups", "--match", "a"), "--all-groups contradicts --match: give one or the other"),
        (("--match", "a["), "--match 'a[' is not a regular expression: unterminated character set at position 1"),
        (("--exclude", "*"), "--exclude '*' is not a regular expression: nothing to repeat at position 0"),
    ],
)
def test_contradicting_or_invalid_selectors_are_usage_errors(
    command: str, selectors: tuple[str, ...], message: str
) -> None:
    assert run(command, *selectors) == (2, "", f"Error: {message}; see kafka-groups {command} --help\n")


@needs_selector
@pytest.mark.parametrize("selectors", [(), ("--exclude", "a"), ("--type", "classic")])
def test_a_command_that_needs_groups_fails_without_a_selector(command: str, selectors: tuple[str, ...]) -> None:
    assert run(command, *selectors) == (2, "", f"Error: {NO_SELECTOR}; see kafka-groups {command} --help\n")


def test_list_without_a_selector_prints_all_groups_except_excluded_ones() -> None:
    assert run("list", "--exclude", "a.*") == (0, "b\nb.c\n", "")


@every_command
@pytest.mark.parametrize("selectors", [("--match", "z"), ("--all-groups", "--exclude", ".*"), ("a", "--exclude", "a")])
def test_selectors_that_match_nothing_are_a_note(command: str, selectors: tuple[str, ...]) -> None:
    outcome = run(command, *selectors, "--format", "ndjson")
    assert outcome == (0, "", "No group matches.\n")


@needs_selector
def test_named_groups_need_no_list_groups_request(cluster: FakeCluster, command: str) -> None:
    run(command, "a", "b")
    cluster.admin.list_groups.assert_not_called()


@needs_selector
def test_all_groups_are_read_in_one_call(cluster: FakeCluster, command: str) -> None:
    run(command, "--all-groups")
    cluster.admin.list_groups.assert_called_once_with(states=None, types=None, timeout=ANY)
    calls = {"describe": cluster.admin.describe_with_offsets, "offsets": cluster.admin.list_group_offsets}
    calls[command].assert_called_once()


@pytest.mark.parametrize(("command", "option"), [("describe", "--in-state"), ("offsets", "--state")])
def test_states_and_types_filter_the_selected_groups(cluster: FakeCluster, command: str, option: str) -> None:
    cluster.add("busy", state="Stable", kind="Consumer", commits={("t", 0): 1})
    assert selected(command, "--all-groups", option, "stable", "--type", "CONSUMER") == ["busy"]
    cluster.admin.list_groups.assert_called_once_with(states=("Stable",), types=("Consumer",), timeout=ANY)


def test_state_of_describe_is_a_view_and_takes_no_value() -> None:
    outcome = run("describe", "--all-groups", "--state", "Stable")
    message = "--all-groups contradicts named groups: give one or the other"
    assert outcome == (2, "", f"Error: {message}; see kafka-groups describe --help\n")


@pytest.mark.parametrize("option", ["--state", "--type"])
def test_a_filter_of_offsets_without_a_value_is_a_usage_error(option: str) -> None:
    message = f"Error: Option '{option}' requires an argument; see kafka-groups offsets --help\n"
    assert run("offsets", "--all-groups", option) == (2, "", message)


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (("--members", "--state"), "--members contradicts --state"),
        (("--offsets", "--state"), "--offsets contradicts --state"),
        (("--members", "--offsets"), "--offsets contradicts --members"),
    ],
)
def test_two_views_of_describe_are_a_usage_error(pair: tuple[str, str], message: str) -> None:
    outcome = run("describe", "a", *pair)
    assert outcome == (2, "", f"Error: {message}: give one or the other; see kafka-groups describe --help\n")


@pytest.mark.parametrize("number", ["2147483648", "9" * 5_000, "0" * 5_000], ids=len)
def test_a_partition_that_is_too_large_is_a_usage_error(number: str) -> None:
    message = f"--topic 't:{number}': '{number}' is not a partition; write partitions as orders:0,1"
    assert run("offsets", "a", "--topic", f"t:{number}") == (
        2,
        "",
        f"Error: {message}; see kafka-groups offsets --help\n",
    )


def test_topics_that_cannot_be_parsed_are_usage_errors() -> None:
    write, hint = "; write partitions as orders:0,1", "; see kafka-groups offsets --help\n"
    unknown = run("offsets", "a", "--topic", "t:x")
    assert unknown == (2, "", f"Error: --topic 't:x': 'x' is not a partition{write}{hint}")
    empty = run("offsets", "a", "--topic", "t:")
    assert empty == (2, "", f"Error: --topic 't:': no partition is named after the colon{write}{hint}")
    twice = run("offsets", "a", "--topic", "t:0:1")
    assert twice == (
        2,
        "",
        f"Error: --topic 't:0:1' cannot be parsed; write a topic, or a topic and partitions as orders:0,1{hint}",
    )
    after_the_whole_topic = run("offsets", "a", "--topic", "t", "--topic", "t:x")
    assert after_the_whole_topic == unknown
