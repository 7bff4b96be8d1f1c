"""The rules for commits that nobody reads: of deleted topics, of topics without a member, of idle groups."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_groups.groups.lag.polls import Polls
from kafka_groups.groups.orphans import IdleRule, Reason, Topics, orphans_of
from kafka_groups.model import Assignment, GroupDescription, OffsetRow
from tests.fakes.fake_admin import Commits, committed, failure, member

TOPICS: Topics = {"t": {0, 1}, "u": {0}}
DAY_MS = 86_400_000


def described(state: str = "Stable", **values: Any) -> GroupDescription:
    """Return a group."""
    return GroupDescription("g", "Classic", state, "consumer", None, **values)


def reasons(group: GroupDescription, commits: Commits, idle: IdleRule | None = None) -> dict[tuple[str, int], Reason]:
    """Return the reason of each orphan of a group by partition."""
    found = orphans_of(group, committed("g", commits), TOPICS, idle)
    return {(orphan.topic, orphan.partition): orphan.reason for orphan in found}


def rule(*polls: tuple[int, dict[tuple[str, int], int]], now: int = 100, days: int = 7) -> IdleRule:
    """Return the rule on day `now`, after polls (day, commits) of which every log end is 1,000."""
    history = Polls()
    for day, commits in polls:
        rows = [OffsetRow("g", *key, None, at, 1000, 1000 - at, None, None, None, 0, "") for key, at in commits.items()]
        history.observe(rows, day * DAY_MS)
    return IdleRule(history, idle_ms=days * DAY_MS, now_ms=now * DAY_MS)


# Deleted topics.


@pytest.mark.parametrize("state", ["Stable", "Empty", "PreparingRebalance", "Dead", None])
def test_a_commit_of_a_deleted_topic_is_an_orphan_in_every_state(state: str) -> None:
    assert reasons(described(state), {("gone", 0): 5, ("t", 0): 5}) == {("gone", 0): Reason.TOPIC_DELETED}


def test_a_partition_that_a_recreated_topic_lacks_is_deleted() -> None:
    assert reasons(described("Empty"), {("t", 1): 5, ("t", 2): 5}) == {("t", 2): Reason.TOPIC_DELETED}


def test_a_topic_that_could_not_be_read_is_not_deleted() -> None:
    found = orphans_of(described("Empty"), committed("g", {("t", 0): 5}), {"t": None})
    assert found == ()


def test_a_partition_without_a_commit_is_no_orphan() -> None:
    assert reasons(described("Empty"), {("gone", 0): None}) == {}


# Topics without a member.


def test_a_topic_of_which_no_member_has_a_partition_is_not_subscribed() -> None:
    group = described(members=(member("a", {"t": (0,)}), member("b", {})))
    # Partition 1 of the topic is not assigned, but the topic is.
    commits: Commits = {("t", 0): 5, ("t", 1): 5, ("u", 0): 7}
    assert reasons(group, commits) == {("u", 0): Reason.NOT_SUBSCRIBED}


@pytest.mark.parametrize("state", ["PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling", "Empty"])
def test_only_a_stable_group_shows_what_it_reads(state: str) -> None:
    assert reasons(described(state, members=(member("a", {"t": (0,)}),)), {("u", 0): 7}) == {}


def test_a_group_without_any_assigned_partition_shows_nothing() -> None:
    assert reasons(described(members=(member("a"), member("b", {"t": ()}))), {("u", 0): 7}) == {}


def test_a_topic_of_the_target_assignment_is_subscribed() -> None:
    target = (Assignment(topic="u", partitions=(0,)),)
    group = described(members=(member("a", {"t": (0,)}, target_assignment=target),))
    assert reasons(group, {("u", 0): 7}) == {}


def test_a_topic_to_which_a_share_member_subscribes_is_subscribed() -> None:
    group = described(members=(member("a", {"t": (0,)}), member("b", subscription=("u",))))._replace(type="Share")
    assert reasons(group, {("u", 0): 7}) == {}


def test_a_group_with_topics_whose_names_are_unknown_shows_nothing() -> None:
    group = described(members=(member("a", {"t": (0,)}),), unnamed_topics={"id": failure()})
    assert reasons(group, {("u", 0): 7}) == {}


# Idle groups.

AT_5 = {("t", 0): 5, ("t", 1): 5}


def test_a_group_whose_commits_were_seen_unchanged_for_long_enough_is_idle_with_all_of_them() -> None:
    idle = rule((90, {("t", 0): 4, ("t", 1): 5}), (93, AT_5), (99, AT_5))
    assert reasons(described("Empty"), AT_5, idle) == dict.fromkeys(AT_5, Reason.IDLE)


@pytest.mark.parametrize(
    ("commits", "idle"),
    [
        (AT_5, rule((94, AT_5))),
        (AT_5, rule((90, AT_5), (95, {("t", 0): 5, ("t", 1): 4}), (96, AT_5))),
        ({**AT_5, ("u", 0): 1}, rule((90, AT_5))),
        ({("t", 0): 6, ("t", 1): 5}, rule((90, AT_5))),
        (AT_5, rule()),
        ({("gone", 0): 1}, rule((90, AT_5))),
        ({}, rule((90, AT_5))),
    ],
    ids=["too short", "moved", "new partition", "moved since the last poll", "no history", "deleted topic", "nothing"],
)
def test_a_group_is_not_idle(commits: Commits, idle: IdleRule) -> None:
    assert Reason.IDLE not in reasons(described("Empty"), commits, idle).values()


def test_a_group_with_members_is_not_idle() -> None:
    group = described(members=(member("m", {"t": (0,)}),))
    assert reasons(group, AT_5, rule((90, AT_5))) == {}


def test_commits_of_deleted_topics_belong_to_an_idle_group() -> None:
    commits = {**AT_5, ("gone", 0): 1}
    assert reasons(described("Empty"), commits, rule((90, AT_5))) == dict.fromkeys(commits, Reason.IDLE)


def test_a_group_with_a_commit_that_cannot_be_read_is_not_idle() -> None:
    offsets = committed("g", dict(AT_5), {("u", 0): 29})
    assert orphans_of(described("Empty"), offsets, TOPICS, rule((90, AT_5))) == ()


def test_the_time_is_that_of_the_option() -> None:
    assert len(reasons(described("Empty"), AT_5, rule((90, AT_5), days=10))) == 2
    assert reasons(described("Empty"), AT_5, rule((90, AT_5), days=11)) == {}
