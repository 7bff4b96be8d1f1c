"""Offsets of groups that are deleted, or recreated as share groups, just after their listing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kafka_groups.protocol import Struct
from tests.fakes.cluster_of_kinds import run_on
from tests.fakes.reactions import ReceivedRequest
from tests.fakes.scripted_cluster import Group, ScriptedCluster

SHARE: dict[str, Any] = {"type": "Share", "protocol_type": "share"}
CSV = "GROUP,TOPIC,PARTITION,START-OFFSET,LEADER-EPOCH,LAG\n"


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Return a broker with a classic group without commits."""
    with ScriptedCluster(brokers=1, groups={"g": Group()}, topics={"t": {0: 1}}) as cluster:
        yield cluster


def recreate_after_listing(cluster: ScriptedCluster, *groups: Group) -> None:
    """Delete the group after the next listing, or replace it by another one."""

    def recreate(_request: ReceivedRequest, response: Struct) -> Struct:
        cluster.groups.clear()
        cluster.groups.update(dict.fromkeys(["g"], *groups) if groups else {})
        return response

    cluster.script("ListGroups", recreate)


@pytest.mark.parametrize("selectors", [("--match", "g"), ("--all-groups",), ("g", "--type", "Classic")])
def test_a_group_that_becomes_a_share_group_has_its_start_offsets(
    cluster: ScriptedCluster, selectors: tuple[str, ...]
) -> None:
    recreate_after_listing(cluster, Group(**SHARE, commits={("t", 0): 7}, lags={("t", 0): 3}))
    outcome = run_on(cluster, "offsets", *selectors, "--format", "csv")
    assert (outcome.exit_code, outcome.stdout, outcome.stderr) == (0, f"{CSV}g,t,0,7,0,3\n", "")


def test_a_named_group_that_becomes_a_share_group_without_start_offsets_is_a_note(cluster: ScriptedCluster) -> None:
    recreate_after_listing(cluster, Group(**SHARE))
    outcome = run_on(cluster, "offsets", "g", "--type", "Classic", "--format", "json")
    assert (outcome.exit_code, outcome.stderr) == (0, "Share group 'g' has no start offsets.\n")
    assert [note["kind"] for note in json.loads(outcome.stdout)["notes"]] == ["no_offsets"]


def test_a_named_group_that_is_deleted_after_its_listing_is_an_error(cluster: ScriptedCluster) -> None:
    recreate_after_listing(cluster)
    outcome = run_on(cluster, "offsets", "g", "--type", "Classic")
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert outcome.stderr.endswith("(GROUP_ID_NOT_FOUND)\n")


def test_a_group_whose_start_offsets_cannot_be_read_is_an_error(cluster: ScriptedCluster) -> None:
    def deny(request: ReceivedRequest, _response: Struct) -> Struct:
        rows = request.body["groups"]
        return {"groups": [{"group_id": row["group_id"], "topics": [], "error_code": 30} for row in rows]}

    recreate_after_listing(cluster, Group(**SHARE, commits={("t", 0): 7}))
    cluster.script("DescribeShareGroupOffsets", deny)
    outcome = run_on(cluster, "offsets", "--match", "g")
    assert (outcome.exit_code, outcome.stdout) == (1, "")
    assert "GROUP_AUTHORIZATION_FAILED" in outcome.stderr
