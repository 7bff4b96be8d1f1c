"""The number of requests for share, streams and Connect groups, counted by the brokers that received them."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.fakes.kind_members import share_member, streams_member, word_count
from tests.fakes.scripted_cluster import Group, ScriptedCluster

COORDINATORS = 3
GROUPS = 30


def share_groups() -> dict[str, Group]:
    """Return share groups at all coordinators, each with members and twelve partitions."""
    starts = {("t", number): 5 for number in range(12)}
    lags = dict.fromkeys(starts, 2)
    members = [share_member("m", {"t": tuple(range(12))})]
    return {
        f"s{at:02}": Group(
            coordinator=1 + at % COORDINATORS,
            type="Share",
            protocol_type="share",
            commits=starts,
            lags=lags,
            members=members,
        )
        for at in range(GROUPS)
    }


def streams_groups() -> dict[str, Group]:
    """Return streams groups at all coordinators."""
    members = [streams_member("m", active={"0": (0,), "1": (0,)})]
    return {
        f"a{at:02}": Group(
            coordinator=1 + at % COORDINATORS,
            type="Streams",
            protocol_type="streams",
            topology=word_count(),
            commits={("lines", 0): 3},
            members=members,
        )
        for at in range(GROUPS)
    }


def test_listed_share_groups_cost_a_describe_and_their_offsets_per_coordinator() -> None:
    with ScriptedCluster(groups=share_groups()) as cluster, cluster.admin() as admin:
        names = [*admin.list_groups().succeeded]
        before = cluster.requests()
        descriptions, offsets = admin.describe_with_offsets(names, dict.fromkeys(names))
        assert cluster.requests() - before == {"ShareGroupDescribe": 3, "DescribeShareGroupOffsets": 3}
    assert (len(descriptions.all()), len(offsets.all())) == (GROUPS, GROUPS)
    assert all(read.lags is not None and len(read) == 12 for read in offsets.succeeded.values())


def test_named_share_groups_cost_one_lookup_and_a_describe_per_coordinator() -> None:
    with ScriptedCluster(groups=share_groups()) as cluster, cluster.admin() as admin:
        assert len(admin.describe_share_groups(share_groups()).all()) == GROUPS
        assert cluster.requests() == {"FindCoordinator": 1, "ShareGroupDescribe": 3}


def test_named_start_offsets_cost_one_lookup_and_one_request_per_coordinator() -> None:
    with ScriptedCluster(groups=share_groups()) as cluster, cluster.admin() as admin:
        assert len(admin.list_share_group_offsets(dict.fromkeys(share_groups())).all()) == GROUPS
        assert cluster.requests() == {"FindCoordinator": 1, "DescribeShareGroupOffsets": 3}


def test_share_groups_of_unknown_type_cost_one_request_per_api_and_coordinator() -> None:
    apis = (
        "DescribeGroups",
        "ConsumerGroupDescribe",
        "ShareGroupDescribe",
        "StreamsGroupDescribe",
        "OffsetFetch",
        "DescribeShareGroupOffsets",
    )
    with ScriptedCluster(groups=share_groups()) as cluster, cluster.admin() as admin:
        descriptions, offsets = admin.describe_with_offsets(share_groups(), dict.fromkeys(share_groups()))
        assert cluster.requests() == Counter({"FindCoordinator": 1, **dict.fromkeys(apis, 3)})
    assert {group.type for group in descriptions.all().values()} == {"Share"}
    assert {len(read) for read in offsets.all().values()} == {12}


def test_listed_streams_groups_cost_a_describe_and_a_fetch_per_coordinator() -> None:
    with ScriptedCluster(groups=streams_groups()) as cluster, cluster.admin() as admin:
        names = [*admin.list_groups().succeeded]
        before = cluster.requests()
        descriptions, offsets = admin.describe_with_offsets(names, dict.fromkeys(names))
        assert cluster.requests() - before == {"StreamsGroupDescribe": 3, "OffsetFetch": 3}
    assert (len(descriptions.all()), len(offsets.all())) == (GROUPS, GROUPS)


@pytest.mark.parametrize("requested", ["all", "named"])
def test_start_offsets_of_all_kinds_are_read_in_one_round(requested: str) -> None:
    groups = {**share_groups(), **streams_groups()}
    partitions = None if requested == "all" else [("t", 0), ("lines", 0)]
    with ScriptedCluster(groups=groups) as cluster, cluster.admin() as admin:
        admin.list_groups()
        before = cluster.requests()
        offsets = admin.list_group_offsets(dict.fromkeys(groups, partitions)).all()
        assert cluster.requests() - before == {"OffsetFetch": 3, "DescribeShareGroupOffsets": 3}
    assert offsets["s00"].lags is not None
    assert offsets["a00"].lags is None
    assert offsets["a00"]["lines", 0] is not None
