"""`kafka-groups describe` of groups that are really in the state that it tells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.live.groups.asking import ask, member_ids
from tests.live.groups.members import empty, mixed, preparing_rebalance, reconciling, simple, stable
from tests.live.groups.raw_members import assigning, completing_rebalance
from tests.live.groups.together import together
from tests.live.groups.topics import make_topic

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = pytest.mark.live

OFFSETS = ["GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST", "CLIENT-ID"]
HOST = "/127.0.0.1"


@pytest.fixture(scope="module")
def topic(cluster: Cluster) -> str:
    return make_topic(cluster.bootstrap, partitions=2, records=5)


@pytest.fixture(scope="module")
def other_topic(cluster: Cluster) -> str:
    return make_topic(cluster.bootstrap, partitions=1, records=4)


@pytest.fixture(scope="module")
def held(cluster: Cluster, topic: str, other_topic: str) -> Iterator[dict[str, str]]:
    where, commits = cluster.bootstrap, [(topic, 0, 3)]
    with together(
        classic=stable(where, topic, commits=commits),
        consumer=stable(where, topic, commits=commits, consumer_protocol=True),
        classic_idle=stable(where, other_topic, members=2),
        consumer_idle=stable(where, other_topic, members=2, consumer_protocol=True),
        static=stable(where, topic, members=2, is_static=True),
        wandering=stable(where, other_topic, commits=[(other_topic, 0, 4), (topic, 1, 2)]),
        classic_empty=empty(where, topic, commits=commits),
        consumer_empty=empty(where, topic, commits=commits, consumer_protocol=True),
        simple=simple(where, commits=[(topic, 0, 1), (topic, 1, 5)]),
        preparing=preparing_rebalance(where, topic, commits=commits),
        completing=completing_rebalance(where, topic),
        reconciling=reconciling(where, topic, commits=commits),
    ) as groups:
        yield groups


@pytest.mark.parametrize("kind", ["classic", "consumer"])
def test_a_live_groups_partitions_are_told_with_their_member(
    cluster: Cluster, held: dict[str, str], topic: str, kind: str
) -> None:
    group = held[kind]
    answer = ask(cluster.bootstrap, "describe", group)

    ((client, member),) = member_ids(cluster.bootstrap, group).items()
    assert answer.rows == [
        OFFSETS,
        [group, topic, "0", "3", "5", "2", member, HOST, client],
        [group, topic, "1", "-", "5", "-", member, HOST, client],
    ]
    assert (answer.err, answer.code) == ("", 0)
    assert ask(cluster.bootstrap, "describe", group, "--offsets") == answer


@pytest.mark.parametrize("kind", ["classic", "consumer"])
def test_verbose_adds_epochs_and_log_starts(cluster: Cluster, held: dict[str, str], topic: str, kind: str) -> None:
    group = held[kind]
    answer = ask(cluster.bootstrap, "describe", group, "--verbose")

    header, first, second = answer.rows
    assert header == [*OFFSETS[:3], "LEADER-EPOCH", *OFFSETS[3:], "LOG-START-OFFSET", "METADATA"]
    assert (first[:7], first[-2:]) == ([group, topic, "0", "-", "3", "5", "2"], ["0", "-"])
    assert (second[:7], second[-2:]) == ([group, topic, "1", "-", "-", "5", "-"], ["0", "-"])
    assert (answer.err, answer.code) == ("", 0)


@pytest.mark.parametrize("kind", ["classic_empty", "consumer_empty"])
def test_an_empty_group_shows_what_it_committed_and_says_so(
    cluster: Cluster, held: dict[str, str], topic: str, kind: str
) -> None:
    group = held[kind]
    answer = ask(cluster.bootstrap, "describe", group)

    assert answer.rows == [OFFSETS, [group, topic, "0", "3", "5", "2", "-", "-", "-"]]
    assert (answer.err, answer.code) == (f"Consumer group '{group}' has no active members.\n", 0)


def test_a_group_that_never_had_a_member_shows_all_its_commits(
    cluster: Cluster, held: dict[str, str], topic: str
) -> None:
    group = held["simple"]
    answer = ask(cluster.bootstrap, "describe", group)

    assert answer.rows == [
        OFFSETS,
        [group, topic, "0", "1", "5", "4", "-", "-", "-"],
        [group, topic, "1", "5", "5", "0", "-", "-", "-"],
    ]
    assert (answer.err, answer.code) == (f"Consumer group '{group}' has no active members.\n", 0)


def test_a_live_group_shows_commits_on_partitions_that_no_member_owns(
    cluster: Cluster, held: dict[str, str], topic: str, other_topic: str
) -> None:
    group = held["wandering"]
    answer = ask(cluster.bootstrap, "describe", group)

    ((client, member),) = member_ids(cluster.bootstrap, group).items()
    assert answer.rows[1:] == [
        [group, other_topic, "0", "4", "4", "0", member, HOST, client],
        [group, topic, "1", "2", "5", "3", "-", "-", "-"],
    ]
    assert (answer.err, answer.code) == ("", 0)


@pytest.mark.parametrize("kind", ["classic_idle", "consumer_idle"])
def test_an_idle_member_has_a_row_among_the_members_only(
    cluster: Cluster, held: dict[str, str], other_topic: str, kind: str
) -> None:
    group = held[kind]
    offsets = ask(cluster.bootstrap, "describe", group)
    members = ask(cluster.bootstrap, "describe", group, "--members", "--verbose")

    assert [row[:6] for row in offsets.rows[1:]] == [[group, other_topic, "0", "-", "4", "-"]]
    header, *rows = members.rows
    assert header[4:] == ["#PARTITIONS", "CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT"]
    assert [(row[4], row[6]) for row in rows] == [("1", f"{other_topic}:0"), ("0", "-")]
    assert (offsets.err, members.err, members.code) == ("", "", 0)


def test_epochs_of_members_are_numbers_only_under_the_newer_protocol(
    cluster: Cluster, held: dict[str, str], topic: str
) -> None:
    classic = ask(cluster.bootstrap, "describe", held["classic"], "--members", "--verbose").rows[1]
    consumer = ask(cluster.bootstrap, "describe", held["consumer"], "--members", "--verbose").rows[1]

    assert classic[4:] == ["2", "-", f"{topic}:0,1", "-", "-"]
    assert consumer[4] == "2"
    assert consumer[5] == consumer[7]
    assert consumer[5].isdigit()
    assert consumer[6] == consumer[8] == f"{topic}:0,1"


def test_a_group_between_both_protocols_tells_which_members_are_upgraded(cluster: Cluster, topic: str) -> None:
    with mixed(cluster.bootstrap, topic) as group:
        answer = ask(cluster.bootstrap, "describe", group, "--members", "--verbose")
        members = member_ids(cluster.bootstrap, group)

    assert answer.rows[0][-1] == "UPGRADED"
    upgraded = {row[1]: row[-1] for row in answer.rows[1:]}
    assert upgraded == {members[f"{group}-c1"]: "true", members[f"{group}-c2"]: "false"}


@pytest.mark.parametrize(
    ("settings", "assignor"),
    [
        ({"partition.assignment.strategy": "roundrobin"}, "roundrobin"),
        ({"group.protocol": "consumer", "group.remote.assignor": "range"}, "range"),
    ],
)
def test_the_assignor_is_the_one_that_the_members_agreed_on(
    cluster: Cluster, topic: str, settings: dict[str, str], assignor: str
) -> None:
    with stable(cluster.bootstrap, topic, settings=settings) as group:
        answer = ask(cluster.bootstrap, "describe", group, "--state")

    assert answer.rows[1][3:] == [assignor, "Stable", "1"]


def test_static_members_are_told_by_their_instance(cluster: Cluster, held: dict[str, str]) -> None:
    group = held["static"]
    answer = ask(cluster.bootstrap, "describe", group, "--members")
    without = ask(cluster.bootstrap, "describe", held["classic"], "--members")

    members = member_ids(cluster.bootstrap, group)
    expected = [[group, members[f"{group}-c{n}"], f"{group}-i{n}", HOST, f"{group}-c{n}", "1"] for n in (1, 2)]
    assert answer.rows[0] == ["GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS"]
    assert sorted(answer.rows[1:]) == expected
    assert without.rows[0] == ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS"]


@pytest.mark.parametrize(
    ("kind", "cells"),
    [
        ("classic", ["range", "Stable", "-", "-", "1"]),
        ("classic_idle", ["range", "Stable", "-", "-", "2"]),
        ("classic_empty", ["-", "Empty", "-", "-", "0"]),
        ("simple", ["-", "Empty", "-", "-", "0"]),
        ("preparing", ["-", "PreparingRebalance", "-", "-", "2"]),
        ("completing", ["-", "CompletingRebalance", "-", "-", "1"]),
    ],
)
def test_the_state_view_of_a_classic_group(cluster: Cluster, held: dict[str, str], kind: str, cells: list[str]) -> None:
    answer = ask(cluster.bootstrap, "describe", held[kind], "--state", "--verbose")

    header, row = answer.rows
    assert header[1:5] == ["COORDINATOR", "(ID)", "ASSIGNMENT-STRATEGY", "STATE"]
    assert header[5:] == ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH", "#MEMBERS"]
    assert row[1] in cluster.bootstrap.split(",")
    assert row[2] in {"(1)", "(2)", "(3)"}
    assert row[3:] == cells
    assert answer.code == 0


@pytest.mark.parametrize(
    ("kind", "state", "members"),
    [
        ("consumer", "Stable", 1),
        ("consumer_idle", "Stable", 2),
        ("consumer_empty", "Empty", 0),
        ("reconciling", "Reconciling", 2),
    ],
)
def test_the_state_view_of_a_consumer_group(
    cluster: Cluster, held: dict[str, str], kind: str, state: str, members: int
) -> None:
    verbose = ask(cluster.bootstrap, "describe", held[kind], "--state", "--verbose").rows[1]
    plain = ask(cluster.bootstrap, "describe", held[kind], "--state").rows[1]

    assert (verbose[3], verbose[4], verbose[7]) == ("uniform", state, str(members))
    assert verbose[5].isdigit()
    assert verbose[6].isdigit()
    assert plain == [*verbose[:5], verbose[7]]


def test_assignments_lag_behind_the_epoch_of_a_group_that_is_assigning(cluster: Cluster, topic: str) -> None:
    with assigning(cluster.bootstrap, topic) as group:
        state = ask(cluster.bootstrap, "describe", group, "--state", "--verbose")
        members = ask(cluster.bootstrap, "describe", group, "--members")

    row = state.rows[1]
    assert row[4] == "Assigning"
    assert int(row[5]) == int(row[6]) + 1
    assert [cells[-1] for cells in members.rows[1:]] == ["2", "0"]
    assert state.err == members.err == f"Warning: Consumer group '{group}' is rebalancing.\n"


@pytest.mark.parametrize("kind", ["preparing", "completing", "reconciling"])
def test_a_rebalancing_group_is_warned_of(cluster: Cluster, held: dict[str, str], kind: str) -> None:
    answer = ask(cluster.bootstrap, "describe", held[kind])

    assert answer.notes[0] == f"Warning: Consumer group '{held[kind]}' is rebalancing."
    assert answer.code == 0


def test_a_rebalancing_group_without_assignments_has_no_rows_and_says_so(
    cluster: Cluster, held: dict[str, str]
) -> None:
    answer = ask(cluster.bootstrap, "describe", held["completing"])

    assert answer.out == ""
    assert answer.notes[1] == (
        f"Consumer group '{held['completing']}' has no committed offsets and no assigned partitions."
    )


@pytest.mark.parametrize("kind", ["preparing", "reconciling"])
def test_partitions_stay_with_the_member_that_has_not_given_them_up(
    cluster: Cluster, held: dict[str, str], kind: str
) -> None:
    group = held[kind]
    answer = ask(cluster.bootstrap, "describe", group)

    owner = member_ids(cluster.bootstrap, group)[f"{group}-c1"]
    assert [row[2:7] for row in answer.rows[1:]] == [["0", "3", "5", "2", owner], ["1", "-", "5", "-", owner]]


def test_a_target_that_is_not_reached_stands_beside_what_is_owned(
    cluster: Cluster, held: dict[str, str], topic: str
) -> None:
    first, second = ask(cluster.bootstrap, "describe", held["reconciling"], "--members", "--verbose").rows[1:]

    assert (first[4], first[6], second[4], second[6]) == ("2", f"{topic}:0,1", "0", "-")
    assert {first[8], second[8]} == {f"{topic}:0", f"{topic}:1"}
