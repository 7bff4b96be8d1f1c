"""Many groups at once, on three brokers: the number of requests, and a result for each group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any
from unittest.mock import ANY

import pytest

from kafka_groups.admin import GroupAdmin, OffsetSpec
from kafka_groups.errors import BrokerError
from tests.live.groups.clients import open_admin, run_command
from tests.live.groups.members import many_simple
from tests.live.groups.topics import make_topic, unique_name

if TYPE_CHECKING:
    from tests.live.conftest import Cluster

pytestmark = pytest.mark.live

NUMBER = 40
BROKERS = 3


@pytest.fixture(scope="module")
def topic(cluster: Cluster) -> str:
    return make_topic(cluster.bootstrap, records=6, replicas=[[1], [2], [3], [1], [2], [3]])


@pytest.fixture(scope="module")
def groups(cluster: Cluster, topic: str) -> Iterator[list[str]]:
    with many_simple(cluster.bootstrap, NUMBER, commits=[(topic, 0, 2), (topic, 5, 6)]) as groups:
        yield groups


@pytest.fixture(scope="module")
def coordinators(cluster: Cluster, groups: list[str]) -> int:
    with open_admin(cluster.bootstrap) as admin:
        listed = admin.list_groups().all()
    return len({listed[group].coordinator for group in groups})


def _count_requests(admin: GroupAdmin, operation: Callable[[], Any]) -> Counter[str]:
    """Return the number of requests of an operation by API, without those of connection set-up."""
    admin.brokers()
    before = Counter(name for name, _ in admin.requests_sent.elements())
    operation()
    after = Counter(name for name, _ in admin.requests_sent.elements() if name != "ApiVersions")
    return after - before


def test_the_groups_have_several_coordinators(coordinators: int) -> None:
    assert 1 < coordinators <= BROKERS


def test_offsets_of_named_groups_cost_one_lookup_and_a_request_a_coordinator(
    cluster: Cluster, groups: list[str], coordinators: int
) -> None:
    with open_admin(cluster.bootstrap) as admin:
        requests = _count_requests(admin, lambda: admin.list_consumer_group_offsets(dict.fromkeys(groups)))

    assert requests == {"FindCoordinator": 1, "OffsetFetch": coordinators}


def test_groups_that_were_listed_need_no_lookup(cluster: Cluster, groups: list[str], coordinators: int) -> None:
    with open_admin(cluster.bootstrap) as admin:
        listing = _count_requests(admin, admin.list_groups)
        describing = _count_requests(admin, lambda: admin.describe_consumer_groups(groups))
        fetching = _count_requests(admin, lambda: admin.list_consumer_group_offsets(dict.fromkeys(groups)))

    assert listing == {"ListGroups": BROKERS}
    assert describing == {"DescribeGroups": coordinators}
    assert fetching == {"OffsetFetch": coordinators}


def test_log_offsets_cost_one_metadata_request_and_a_request_a_leader(cluster: Cluster, topic: str) -> None:
    partitions = [(topic, partition) for partition in range(6)]
    with open_admin(cluster.bootstrap) as admin:
        ends = _count_requests(admin, lambda: admin.list_offsets(partitions))
        starts = _count_requests(admin, lambda: admin.list_offsets(partitions, spec=OffsetSpec.earliest()))

    assert ends == {"Metadata": 1, "ListOffsets": BROKERS}
    assert starts == {"ListOffsets": BROKERS}


def test_each_group_has_a_result_of_its_own(cluster: Cluster, groups: list[str], topic: str) -> None:
    with open_admin(cluster.bootstrap) as admin:
        results = admin.list_consumer_group_offsets(dict.fromkeys(groups))

    assert set(results.succeeded) == set(groups)
    assert results.failed == {}
    committed = {key: commit.offset for key, commit in results.succeeded[groups[0]].items() if commit}
    assert committed == {(topic, 0): 2, (topic, 5): 6}
    assert all(dict(found.rows()) == dict(results.succeeded[groups[0]].rows()) for found in results.all().values())


def test_partitions_can_be_selected_for_each_group(cluster: Cluster, groups: list[str], topic: str) -> None:
    first, second, third = groups[:3]
    wanted = {first: [(topic, 0), (topic, 1)], second: [(topic, 5)], third: None}
    with open_admin(cluster.bootstrap) as admin:
        found = admin.list_consumer_group_offsets(wanted).all()

    committed = {
        group: {key.partition: commit.offset if commit else None for key, commit in offsets.rows()}
        for group, offsets in found.items()
    }
    assert committed == {first: {0: 2, 1: None}, second: {5: 6}, third: {0: 2, 5: 6}}


def test_all_raises_the_error_of_a_failed_group(cluster: Cluster, groups: list[str]) -> None:
    missing = unique_name("missing")
    with open_admin(cluster.bootstrap) as admin:
        results = admin.describe_consumer_groups([*groups, missing])

    assert set(results.succeeded) == set(groups)
    assert set(results.failed) == {missing}
    with pytest.raises(BrokerError, match="not found") as raised:
        results.all()
    assert (raised.value.code, raised.value.name) == (69, "GROUP_ID_NOT_FOUND")


@pytest.mark.parametrize("filters", [{"states": []}, {"types": ()}, {"states": ["Sleeping"]}, {"types": ["consumers"]}])
def test_an_empty_filter_or_an_unknown_name_raises_value_error(cluster: Cluster, filters: dict[str, Any]) -> None:
    with open_admin(cluster.bootstrap) as admin, pytest.raises(ValueError, match=r"Stable|Classic"):
        admin.list_groups(**filters)


def test_a_group_that_is_named_twice_has_its_rows_once(cluster: Cluster, groups: list[str], topic: str) -> None:
    topics = ["--topic", f"{topic}:0,1", "--topic", f"{topic}:1"]
    twice = run_command(cluster.bootstrap, "offsets", groups[0], "-g", groups[0], *topics)

    assert twice.rows == [
        ["GROUP", "TOPIC", "PARTITION", "COMMITTED-OFFSET", "LEADER-EPOCH", "METADATA"],
        [groups[0], topic, "0", "2", "-", "-"],
        [groups[0], topic, "1", "-", "-", "-"],
    ]
    assert (twice.err, twice.code) == ("", 0)


def test_offsets_of_many_groups_are_one_document(cluster: Cluster, groups: list[str], topic: str) -> None:
    result = run_command(cluster.bootstrap, "offsets", *groups, "--topic", f"{topic}:0,1", "--format", "json")

    first = {"topic": topic, "partition": 0, "committed_offset": 2, "leader_epoch": None, "metadata": ""}
    second = {"topic": topic, "partition": 1, "committed_offset": None, "leader_epoch": None, "metadata": None}
    assert result.json["groups"] == [
        {"cluster": ANY, "cluster_id": ANY, "group": group, "offsets": [first, second]} for group in sorted(groups)
    ]
    assert (result.json["status"], result.err, result.code) == ("complete", "", 0)


def test_a_missing_group_is_an_error_and_not_a_group_without_commits(cluster: Cluster, groups: list[str]) -> None:
    missing = unique_name("missing")
    result = run_command(cluster.bootstrap, "offsets", missing, groups[0])

    assert {row[0] for row in result.rows[1:]} == {groups[0]}
    assert f"group '{missing}'" in result.err
    assert "GROUP_ID_NOT_FOUND" in result.err
    assert result.code == 3
