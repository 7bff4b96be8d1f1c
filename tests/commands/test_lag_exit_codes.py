"""The exit code of `lag --fail-if`, and the status of the document beside it."""

from __future__ import annotations

import json

import pytest

from kafka_groups.model import TopicPartition
from tests.commands.lag_groups import NOTE, add_lag_groups
from tests.fakes.command_line import run
from tests.fakes.fake_admin import FakeCluster, failure, member

UNCHECKED = "The condition of --fail-if was not checked.\n"
FAIL_IF = ("--fail-if", "lag>1000")


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    """Add groups with a lag, and two without a commit: the second has no partition either."""
    add_lag_groups(cluster)
    cluster.add("bare")
    cluster.add("idle", state="Stable", members=[member("m")])


def judged(*arguments: str) -> tuple[int, str]:
    """Return the exit code and the status of the document."""
    outcome = run("lag", *arguments, "--format", "json")
    return outcome.exit_code, json.loads(outcome.stdout)["status"]


@pytest.mark.parametrize("selector", [("--match", "nope.*"), ("behind", "--exclude", ".*"), ("--state", "Dead")])
def test_nothing_that_matches_is_not_checked(selector: tuple[str, ...]) -> None:
    outcome = run("lag", *selector, *FAIL_IF)
    assert (outcome.exit_code, outcome.stderr) == (1, f"No group matches.\n{UNCHECKED}")
    assert judged(*selector, *FAIL_IF) == (1, "failed")


def test_nothing_that_matches_succeeds_without_a_condition() -> None:
    assert judged("--match", "nope.*") == (0, "complete")
    assert run("lag", "--match", "nope.*").stderr == "No group matches.\n"


def test_groups_that_are_skipped_are_not_checked() -> None:
    outcome = run("lag", "--match", "connect.*", *FAIL_IF)
    assert (outcome.exit_code, outcome.stderr) == (1, f"{NOTE}No group matches.\n{UNCHECKED}")


@pytest.mark.parametrize("group", ["bare", "idle"])
@pytest.mark.parametrize("key", ["group", "topic", "member", "partition"])
def test_a_readable_group_without_rows_was_checked(group: str, key: str) -> None:
    assert judged(group, "--by", key, *FAIL_IF) == (0, "complete")
    assert run("lag", group, "--by", key, *FAIL_IF).stderr == ""


@pytest.mark.parametrize("key", ["group", "partition"])
def test_a_group_that_cannot_be_read_is_exit_code_1_alone_and_3_beside_another(cluster: FakeCluster, key: str) -> None:
    cluster.unfetchable["lost"] = failure(group="lost")
    assert judged("lost", "--by", key, *FAIL_IF) == (1, "failed")
    assert judged("bare", "lost", "--by", key, *FAIL_IF) == (3, "partial")
    assert UNCHECKED not in run("lag", "lost", *FAIL_IF).stderr


def test_a_broker_that_does_not_list_its_groups_leaves_nothing_checked(cluster: FakeCluster) -> None:
    cluster.unlistable[2] = failure("TIMEOUT", code=None, broker=2)
    cluster.brokers[2] = cluster.brokers[1]._replace(id=2)
    assert judged("--match", "nope.*") == (3, "partial")
    assert judged("--match", "nope.*", *FAIL_IF) == (1, "failed")


def test_an_unknown_log_end_is_a_part_that_failed(cluster: FakeCluster) -> None:
    cluster.leaderless[TopicPartition("u", 0)] = failure("LEADER_NOT_AVAILABLE", code=5, topic="u", partition=0)
    assert judged("lost", *FAIL_IF) == (3, "partial")


def test_a_condition_that_holds_is_exit_code_4_and_the_status_is_that_of_the_reading() -> None:
    assert judged("behind", "--fail-if", "lag>0") == (4, "complete")
    assert judged("behind", "nope", "--fail-if", "lag>0") == (4, "partial")


def test_a_watch_whose_last_poll_has_no_group_is_not_checked() -> None:
    outcome = run("lag", "--match", "nope.*", "--watch", "1s", "--samples", "1", *FAIL_IF)
    assert (outcome.exit_code, outcome.stderr) == (1, f"No group matches.\n{UNCHECKED}")
    assert run("lag", "--match", "nope.*", "--watch", "1s", "--samples", "1").exit_code == 0
