"""Groups whose types are not known: share and streams groups are found in a second round."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.fakes.kind_members import connect_member, share_member, streams_member, word_count
from tests.fakes.reactions import delayed, drops
from tests.fakes.scripted_cluster import Group, ScriptedCluster

FIRST = ("DescribeGroups", "ConsumerGroupDescribe")
SECOND = ("ShareGroupDescribe", "StreamsGroupDescribe")
ABSENT = {"ShareGroupDescribe": (0, -1), "StreamsGroupDescribe": (0, -1), "DescribeShareGroupOffsets": (0, -1)}


def groups() -> dict[str, Group]:
    """Return a group of each kind, at three coordinators."""
    members = [streams_member("s-1", active={"0": (0,)})]
    return {
        "old": Group(coordinator=1),
        "new": Group(coordinator=2, type="Consumer"),
        "clicks": Group(coordinator=3, type="Share", members=[share_member("m", {"t": (0,)})]),
        "app": Group(coordinator=1, type="Streams", protocol_type="streams", topology=word_count(), members=members),
        "workers": Group(coordinator=2, protocol_type="connect", members=[connect_member("w-2", [("f", (-1, 0))])]),
    }


def test_a_group_of_each_kind_is_described_as_its_kind() -> None:
    with ScriptedCluster(groups=groups()) as cluster, cluster.admin() as admin:
        described = admin.describe_groups(groups()).all()
        requests = cluster.requests()
    assert [(name, group.type, len(group.members)) for name, group in described.items()] == [
        ("old", "Classic", 0),
        ("new", "Consumer", 0),
        ("clicks", "Share", 1),
        ("app", "Streams", 1),
        ("workers", "Classic", 1),
    ]
    worker = described["workers"].members[0].worker
    assert worker is not None
    assert worker.leader == "w-2"
    # The share group is at broker 3, the streams group at broker 1; each is requested as both types.
    assert requests == Counter({"FindCoordinator": 1, **dict.fromkeys(FIRST, 3), **dict.fromkeys(SECOND, 2)})


def test_a_group_of_known_type_is_described_by_one_request() -> None:
    with ScriptedCluster(groups=groups()) as cluster, cluster.admin() as admin:
        admin.list_groups()
        before = cluster.requests()
        admin.describe_groups(["clicks", "app"]).all()
        assert cluster.requests() - before == {"ShareGroupDescribe": 1, "StreamsGroupDescribe": 1}


def test_the_types_that_one_call_found_are_known_to_the_next() -> None:
    with ScriptedCluster(groups=groups()) as cluster, cluster.admin() as admin:
        admin.describe_groups(["clicks", "app"]).all()
        before = cluster.requests()
        admin.describe_groups(["clicks", "app"]).all()
        assert cluster.requests() - before == {"ShareGroupDescribe": 1, "StreamsGroupDescribe": 1}


def test_groups_of_the_common_kinds_cost_no_second_round() -> None:
    with ScriptedCluster(groups=groups()) as cluster, cluster.admin() as admin:
        admin.describe_groups(["old", "new", "workers"]).all()
        assert cluster.requests() == {"FindCoordinator": 1, **dict.fromkeys(FIRST, 2)}


@pytest.mark.parametrize("versions", [{}, ABSENT], ids=["with the APIs", "without the APIs"])
def test_an_absent_group_is_not_found_whatever_the_broker_supports(versions: dict[str, tuple[int, int]]) -> None:
    with ScriptedCluster(versions=versions) as cluster, cluster.admin() as admin:
        failure = admin.describe_groups(["ghost"]).failed["ghost"]
        assert (failure.code, failure.name) == (69, "GROUP_ID_NOT_FOUND")
        described = [cluster.requests()[api] for api in SECOND]
    assert described == ([0, 0] if versions else [1, 1])


@pytest.mark.parametrize("off", [("share",), ("streams",), ("share", "streams"), ()])
def test_an_absent_group_names_the_kinds_that_are_off(off: tuple[str, ...]) -> None:
    with ScriptedCluster(groups=groups()) as cluster, cluster.admin() as admin:
        cluster.switched_off = frozenset(kind.capitalize() for kind in off)
        failure = admin.describe_groups(["ghost"]).failed["ghost"]
    texts = (f"{kind} groups are not enabled on this cluster (feature {kind}.version)" for kind in off)
    message = "; ".join(("Group ghost not found", *texts)) if off else "Group ghost not found."
    assert (failure.code, failure.name, failure.message) == (69, "GROUP_ID_NOT_FOUND", message)


def test_a_broker_without_the_apis_says_nothing_of_kinds() -> None:
    with ScriptedCluster(versions=ABSENT) as cluster, cluster.admin() as admin:
        assert admin.describe_groups(["ghost"]).failed["ghost"].message == "Group ghost not found."


@pytest.mark.parametrize("kind", ["share", "streams"])
def test_a_listed_group_whose_feature_is_off_has_that_failure(kind: str) -> None:
    name = {"share": "clicks", "streams": "app"}[kind]
    with ScriptedCluster(groups=groups()) as cluster, cluster.admin() as admin:
        admin.list_groups()
        cluster.switched_off = frozenset({"Share", "Streams"})
        failure = admin.describe_groups([name]).failed[name]
    assert failure.message == f"{kind} groups are not enabled on this cluster (feature {kind}.version)"


@pytest.mark.parametrize("name", ["clicks", "app"])
def test_a_denied_share_or_streams_group_has_its_own_error(name: str) -> None:
    with ScriptedCluster(groups=groups()) as cluster, cluster.admin() as admin:
        cluster.groups[name].error = 29
        failure = admin.describe_groups([name]).failed[name]
    assert (failure.code, failure.name) == (29, "TOPIC_AUTHORIZATION_FAILED")


def test_a_group_that_became_a_share_group_is_described_as_one() -> None:
    with ScriptedCluster(groups=groups()) as cluster, cluster.admin() as admin:
        admin.list_groups()
        cluster.groups["old"].type = "Share"
        assert admin.describe_groups(["old"]).all()["old"].type == "Share"


def test_a_late_second_round_is_the_failure_of_the_group_and_not_its_absence() -> None:
    with ScriptedCluster(groups=groups()) as cluster, cluster.admin() as admin:
        for api in SECOND:
            cluster.script(api, *[delayed(60.0)] * 3)
        assert admin.describe_groups(["clicks"], timeout=5).failed["clicks"].name == "TIMEOUT"


def test_a_lost_connection_in_the_second_round_is_repeated() -> None:
    with ScriptedCluster(groups=groups()) as cluster, cluster.admin() as admin:
        cluster.script("ShareGroupDescribe", drops)
        assert admin.describe_groups(["clicks"]).all()["clicks"].type == "Share"


def test_share_groups_are_not_consumer_groups() -> None:
    with ScriptedCluster(groups=groups()) as cluster, cluster.admin() as admin:
        failed = admin.describe_consumer_groups(["clicks", "app"]).failed
        assert {failure.name for failure in failed.values()} == {"GROUP_ID_NOT_FOUND"}
        assert [cluster.requests()[api] for api in SECOND] == [0, 0]
