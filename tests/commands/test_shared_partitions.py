"""A partition that several members own, as assignors of old clients may leave it: it counts once in every total."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.groups.lag.polls_file import read_section, split_file
from tests.fakes.command_line import run
from tests.fakes.fake_admin import CLUSTER_ID, FakeCluster, member


@pytest.fixture(autouse=True)
def groups(cluster: FakeCluster) -> None:
    """Add a group whose members both own partition 0, which has a lag of 40 and has lost 3 messages."""
    members = [member("m1", {"t": (0, 1)}), member("m2", {"t": (0, 2)})]
    cluster.add("g", state="Stable", members=members, commits={("t", 0): 60, ("t", 1): 0, ("t", 2): 100})
    cluster.end("t", 100, 100, 100, starts=(63, 0, 0))


def rows_of(*arguments: str) -> list[dict[str, Any]]:
    """Return the rows that a command prints."""
    outcome = run(*arguments, "--format", "ndjson")
    return [json.loads(line) for line in outcome.stdout.splitlines()]


def test_the_lag_of_the_group_has_each_partition_once() -> None:
    (row,) = rows_of("lag")
    assert (row["lag"], row["partitions_behind"], row["messages_lost"]) == (140, 2, 3)


def test_topics_and_partitions_have_it_once() -> None:
    (topic,) = rows_of("lag", "--by", "topic")
    assert (topic["lag"], topic["partitions_behind"], topic["messages_lost"]) == (140, 2, 3)
    partitions = rows_of("lag", "--by", "partition")
    assert [(row["partition"], row["lag"], row["messages_lost"], row["member_id"]) for row in partitions] == [
        (1, 100, 0, "m1"),
        (0, 40, 3, "m1"),
        (2, 0, 0, "m2"),
    ]


def test_each_member_has_what_it_owns_and_their_group_has_it_once() -> None:
    (group,) = json.loads(run("lag", "--by", "member", "--format", "json").stdout)["groups"]
    assert [(row["member_id"], row["lag"]) for row in group["rows"]] == [("m1", 140), ("m2", 40)]
    assert group["lag"] == 140


def test_members_without_an_id_are_different_if_their_hosts_or_clients_are(cluster: FakeCluster) -> None:
    hosts = (("/h1", "a"), ("/h2", "a"), ("/h2", "b"))
    members = [member("", {"t": (0,)}, host=host, client_id=client) for host, client in hosts]
    cluster.add("g", state="Stable", members=members, commits={("t", 0): 60})
    rows = [row for row in rows_of("lag", "--by", "member") if row["member_id"] is not None]
    assert [(row["host"], row["client_id"], row["lag"], row["messages_lost"]) for row in rows] == [
        (*names, 40, 3) for names in hosts
    ]


def test_members_that_nothing_distinguishes_are_a_row_with_each_partition_once(cluster: FakeCluster) -> None:
    cluster.add(
        "g", state="Stable", members=[member("", {"t": (0, 1)}), member("", {"t": (0,)})], commits={("t", 0): 60}
    )
    (row,) = [row for row in rows_of("lag", "--by", "member") if row["member_id"] is not None]
    assert (row["lag"], row["partitions_behind"], row["uncommitted_partitions"], row["messages_lost"]) == (40, 1, 1, 3)


def test_top_has_it_once() -> None:
    assert [row["partition"] for row in rows_of("lag", "--by", "partition", "--top", "2")] == [1, 0]


@pytest.mark.parametrize("key", ["group", "topic", "member", "partition"])
def test_no_metric_has_two_samples_with_the_same_labels(key: str) -> None:
    lines = run("lag", "--by", key, "--format", "openmetrics").stdout.splitlines()
    series = Counter(line.rpartition(" ")[0] for line in lines if not line.startswith("#"))
    assert set(series.values()) == {1}


def test_a_partition_without_a_commit_is_counted_once(cluster: FakeCluster) -> None:
    cluster.set_commits("g", {})
    assert rows_of("lag")[0]["uncommitted_partitions"] == 3


def test_conditions_compare_what_is_counted_once() -> None:
    assert run("wait", "g", "--until", "lag<=140 and partitions_behind==2", "--for", "1ms").exit_code == 0
    assert run("lag", "--fail-if", "lag>140 or partitions_behind>2").exit_code == 0


def test_a_history_has_the_lag_once(tmp_path: Path) -> None:
    file = tmp_path / "history"
    run("lag", "--polls", str(file))
    history = read_section(split_file(file.read_text(), name="history")[CLUSTER_ID], name="history")
    assert [lag for _, lag in history.lags["g"]] == [140]


def test_describe_shows_both_owners_and_a_note() -> None:
    outcome = run("describe", "g")
    assert [(row.split()[2], row.split()[6]) for row in outcome.stdout.splitlines()[2:]] == [
        ("0", "m1"),
        ("1", "m1"),
        ("0", "m2"),
        ("2", "m2"),
    ]
    assert (outcome.exit_code, outcome.stderr) == (
        0,
        "Group 'g': partition t-0 is assigned to several members.\n",
    )


def test_the_note_names_some_of_many_partitions(cluster: FakeCluster) -> None:
    every = tuple(range(5))
    cluster.add("g", state="Stable", members=[member("m1", {"t": every}), member("m2", {"t": every})])
    assert run("describe", "g", "--members").stderr == (
        "Group 'g': 5 partitions (t-0, t-1, t-2, …) are assigned to several members.\n"
    )


def test_members_that_share_nothing_are_no_note(cluster: FakeCluster) -> None:
    cluster.add("g", state="Stable", members=[member("m1", {"t": (0,)}), member("m2", {"t": (1,)}), member("m3")])
    assert run("describe", "g", "--members").stderr == ""
