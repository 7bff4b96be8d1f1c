"""`kafka-groups describe` of real groups in each state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.live.groups.clients import list_member_ids, run_command
from tests.live.groups.contexts import enter_concurrently
from tests.live.groups.members import empty, mixed, preparing_rebalance, reconciling, simple, stable
from tests.live.groups.raw_members import assigning, completing_rebalance
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
def groups(cluster: Cluster, topic: str, other_topic: str) -> Iterator[dict[str, str]]:
    bootstrap, commits = cluster.bootstrap, [(topic, 0, 3)]
    with enter_concurrently(
        classic=stable(bootstrap, topic, commits=commits),
        consumer=stable(bootstrap, topic, commits=commits, consumer_protocol=True),
        classic_idle=stable(bootstrap, other_topic, members=2),
        consumer_idle=stable(bootstrap, other_topic, members=2, consumer_protocol=True),
        static=stable(bootstrap, topic, members=2, is_static=True),
        wandering=stable(bootstrap, other_topic, commits=[(other_topic, 0, 4), (topic, 1, 2)]),
        classic_empty=empty(bootstrap, topic, commits=commits),
        consumer_empty=empty(bootstrap, topic, commits=commits, consumer_protocol=True),
        simple=simple(bootstrap, commits=[(topic, 0, 1), (topic, 1, 5)]),
        preparing=preparing_rebalance(bootstrap, topic, commits=commits),
        completing=completing_rebalance(bootstrap, topic),
        reconciling=reconciling(bootstrap, topic, commits=commits),
    ) as groups:
        yield groups


@pytest.mark.parametrize("kind", ["classic", "consumer"])
def test_partitions_of_a_live_group_have_their_member(
    cluster: Cluster, groups: dict[str, str], topic: str, kind: str
) -> None:
    group = groups[kind]
    result = run_command(cluster.bootstrap, "describe", group)

    ((client, member),) = list_member_ids(cluster.bootstrap, group).items()
    assert result.rows == [
        OFFSETS,
        [group, topic, "0", "3", "5", "2", member, HOST, client],
        [group, topic, "1", "-", "5", "-", member, HOST, client],
    ]
    assert (result.err, result.code) == ("", 0)
    assert run_command(cluster.bootstrap, "describe", group, "--offsets") == result


@pytest.mark.parametrize("kind", ["classic", "consumer"])
def test_verbose_adds_epochs_and_log_start_offsets(
    cluster: Cluster, groups: dict[str, str], topic: str, kind: str
) -> None:
    group = groups[kind]
    result = run_command(cluster.bootstrap, "describe", group, "--verbose")

    header, first, second = result.rows
    assert header == [*OFFSETS[:3], "LEADER-EPOCH", *OFFSETS[3:], "LOG-START-OFFSET", "METADATA"]
    assert (first[:7], first[-2:]) == ([group, topic, "0", "-", "3", "5", "2"], ["0", "-"])
    assert (second[:7], second[-2:]) == ([group, topic, "1", "-", "-", "5", "-"], ["0", "-"])
    assert (result.err, result.code) == ("", 0)


@pytest.mark.parametrize("kind", ["classic_empty", "consumer_empty"])
def test_an_empty_group_has_its_commits_and_a_note(
    cluster: Cluster, groups: dict[str, str], topic: str, kind: str
) -> None:
    group = groups[kind]
    result = run_command(cluster.bootstrap, "describe", group)

    assert result.rows == [OFFSETS, [group, topic, "0", "3", "5", "2", "-", "-", "-"]]
    assert (result.err, result.code) == (f"Consumer group '{group}' has no active members.\n", 0)


def test_a_group_that_never_had_a_member_has_all_its_commits(
    cluster: Cluster, groups: dict[str, str], topic: str
) -> None:
    group = groups["simple"]
    result = run_command(cluster.bootstrap, "describe", group)

    assert result.rows == [
        OFFSETS,
        [group, topic, "0", "1", "5", "4", "-", "-", "-"],
        [group, topic, "1", "5", "5", "0", "-", "-", "-"],
    ]
    assert (result.err, result.code) == (f"Consumer group '{group}' has no active members.\n", 0)


def test_a_live_group_has_commits_on_partitions_that_no_member_owns(
    cluster: Cluster, groups: dict[str, str], topic: str, other_topic: str
) -> None:
    group = groups["wandering"]
    result = run_command(cluster.bootstrap, "describe", group)

    ((client, member),) = list_member_ids(cluster.bootstrap, group).items()
    assert result.rows[1:] == [
        [group, other_topic, "0", "4", "4", "0", member, HOST, client],
        [group, topic, "1", "2", "5", "3", "-", "-", "-"],
    ]
    assert (result.err, result.code) == ("", 0)


@pytest.mark.parametrize("kind", ["classic_idle", "consumer_idle"])
def test_an_idle_member_has_a_row_among_the_members_only(
    cluster: Cluster, groups: dict[str, str], other_topic: str, kind: str
) -> None:
    group = groups[kind]
    offsets = run_command(cluster.bootstrap, "describe", group)
    members = run_command(cluster.bootstrap, "describe", group, "--members", "--verbose")

    assert [row[:6] for row in offsets.rows[1:]] == [[group, other_topic, "0", "-", "4", "-"]]
    header, *rows = members.rows
    assert header[4:] == ["#PARTITIONS", "CURRENT-EPOCH", "CURRENT-ASSIGNMENT", "TARGET-EPOCH", "TARGET-ASSIGNMENT"]
    assert [(row[4], row[6]) for row in rows] == [("1", f"{other_topic}:0"), ("0", "-")]
    assert (offsets.err, members.err, members.code) == ("", "", 0)


def test_members_have_epochs_only_with_the_consumer_protocol(
    cluster: Cluster, groups: dict[str, str], topic: str
) -> None:
    classic = run_command(cluster.bootstrap, "describe", groups["classic"], "--members", "--verbose").rows[1]
    consumer = run_command(cluster.bootstrap, "describe", groups["consumer"], "--members", "--verbose").rows[1]

    assert classic[4:] == ["2", "-", f"{topic}:0,1", "-", "-"]
    assert consumer[4] == "2"
    assert consumer[5] == consumer[7]
    assert consumer[5].isdigit()
    assert consumer[6] == consumer[8] == f"{topic}:0,1"


def test_the_upgraded_column_marks_members_of_the_consumer_protocol_in_a_mixed_group(
    cluster: Cluster, topic: str
) -> None:
    with mixed(cluster.bootstrap, topic) as group:
        result = run_command(cluster.bootstrap, "describe", group, "--members", "--verbose")
        members = list_member_ids(cluster.bootstrap, group)

    assert result.rows[0][-1] == "UPGRADED"
    upgraded = {row[1]: row[-1] for row in result.rows[1:]}
    assert upgraded == {members[f"{group}-c1"]: "true", members[f"{group}-c2"]: "false"}


@pytest.mark.parametrize(
    ("settings", "assignor"),
    [
        ({"partition.assignment.strategy": "roundrobin"}, "roundrobin"),
        ({"group.protocol": "consumer", "group.remote.assignor": "range"}, "range"),
    ],
)
def test_the_assignor_is_that_of_the_members_settings(
    cluster: Cluster, topic: str, settings: dict[str, str], assignor: str
) -> None:
    with stable(cluster.bootstrap, topic, settings=settings) as group:
        result = run_command(cluster.bootstrap, "describe", group, "--state")

    assert result.rows[1][3:] == [assignor, "Stable", "1"]


def test_static_members_have_a_column_for_their_instance_id(cluster: Cluster, groups: dict[str, str]) -> None:
    group = groups["static"]
    result = run_command(cluster.bootstrap, "describe", group, "--members")
    dynamic = run_command(cluster.bootstrap, "describe", groups["classic"], "--members")

    members = list_member_ids(cluster.bootstrap, group)
    expected = [[group, members[f"{group}-c{n}"], f"{group}-i{n}", HOST, f"{group}-c{n}", "1"] for n in (1, 2)]
    assert result.rows[0] == ["GROUP", "CONSUMER-ID", "GROUP-INSTANCE-ID", "HOST", "CLIENT-ID", "#PARTITIONS"]
    assert sorted(result.rows[1:]) == expected
    assert dynamic.rows[0] == ["GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS"]


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
def test_the_state_view_has_the_state_of_a_classic_group(
    cluster: Cluster, groups: dict[str, str], kind: str, cells: list[str]
) -> None:
    result = run_command(cluster.bootstrap, "describe", groups[kind], "--state", "--verbose")

    header, row = result.rows
    assert header[1:5] == ["COORDINATOR", "(ID)", "ASSIGNMENT-STRATEGY", "STATE"]
    assert header[5:] == ["GROUP-EPOCH", "TARGET-ASSIGNMENT-EPOCH", "#MEMBERS"]
    assert row[1] in cluster.bootstrap.split(",")
    assert row[2] in {"(1)", "(2)", "(3)"}
    assert row[3:] == cells
    assert result.code == 0


@pytest.mark.parametrize(
    ("kind", "state", "members"),
    [
        ("consumer", "Stable", 1),
        ("consumer_idle", "Stable", 2),
        ("consumer_empty", "Empty", 0),
        ("reconciling", "Reconciling", 2),
    ],
)
def test_the_state_view_has_the_state_and_the_epochs_of_a_consumer_group(
    cluster: Cluster, groups: dict[str, str], kind: str, state: str, members: int
) -> None:
    verbose = run_command(cluster.bootstrap, "describe", groups[kind], "--state", "--verbose").rows[1]
    plain = run_command(cluster.bootstrap, "describe", groups[kind], "--state").rows[1]

    assert (verbose[3], verbose[4], verbose[7]) == ("uniform", state, str(members))
    assert verbose[5].isdigit()
    assert verbose[6].isdigit()
    assert plain == [*verbose[:5], verbose[7]]


def test_the_target_assignment_epoch_of_an_assigning_group_is_behind_its_group_epoch(
    cluster: Cluster, topic: str
) -> None:
    with assigning(cluster.bootstrap, topic) as group:
        state = run_command(cluster.bootstrap, "describe", group, "--state", "--verbose")
        members = run_command(cluster.bootstrap, "describe", group, "--members")

    row = state.rows[1]
    assert row[4] == "Assigning"
    assert int(row[5]) == int(row[6]) + 1
    assert [cells[-1] for cells in members.rows[1:]] == ["2", "0"]
    assert state.err == members.err == f"Warning: Consumer group '{group}' is rebalancing.\n"


@pytest.mark.parametrize("kind", ["preparing", "completing", "reconciling"])
def test_a_rebalancing_group_has_a_warning(cluster: Cluster, groups: dict[str, str], kind: str) -> None:
    result = run_command(cluster.bootstrap, "describe", groups[kind])

    assert result.notes[0] == f"Warning: Consumer group '{groups[kind]}' is rebalancing."
    assert result.code == 0


def test_a_rebalancing_group_without_assignments_has_no_rows_and_a_note(
    cluster: Cluster, groups: dict[str, str]
) -> None:
    result = run_command(cluster.bootstrap, "describe", groups["completing"])

    assert result.out == ""
    assert result.notes[1] == (
        f"Consumer group '{groups['completing']}' has no committed offsets and no assigned partitions."
    )


@pytest.mark.parametrize("kind", ["preparing", "reconciling"])
def test_partitions_belong_to_a_member_until_it_revokes_them(
    cluster: Cluster, groups: dict[str, str], kind: str
) -> None:
    group = groups[kind]
    result = run_command(cluster.bootstrap, "describe", group)

    owner = list_member_ids(cluster.bootstrap, group)[f"{group}-c1"]
    assert [row[2:7] for row in result.rows[1:]] == [["0", "3", "5", "2", owner], ["1", "-", "5", "-", owner]]


def test_a_reconciling_member_has_its_current_and_its_target_assignment(
    cluster: Cluster, groups: dict[str, str], topic: str
) -> None:
    first, second = run_command(cluster.bootstrap, "describe", groups["reconciling"], "--members", "--verbose").rows[1:]

    assert (first[4], first[6], second[4], second[6]) == ("2", f"{topic}:0,1", "0", "-")
    assert {first[8], second[8]} == {f"{topic}:0", f"{topic}:1"}
