"""Many groups at once, on three brokers: what it costs in requests, and that each has an answer of its own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from kafka_groups.admin import GroupAdmin, OffsetSpec
from kafka_groups.errors import BrokerError
from tests.live.groups.asking import admin_of, ask
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
    with many_simple(cluster.bootstrap, NUMBER, commits=[(topic, 0, 2), (topic, 5, 6)]) as made:
        yield made


@pytest.fixture(scope="module")
def coordinators(cluster: Cluster, groups: list[str]) -> int:
    with admin_of(cluster.bootstrap) as admin:
        listed = admin.list_groups().all()
    return len({listed[group].coordinator for group in groups})


def _requests(admin: GroupAdmin, question: Callable[[], Any]) -> Counter[str]:
    """How many requests of each kind a question costs, connections apart."""
    admin.brokers()
    before = Counter(name for name, _ in admin.requests_sent.elements())
    question()
    after = Counter(name for name, _ in admin.requests_sent.elements() if name != "ApiVersions")
    return after - before


def test_the_groups_have_several_coordinators(coordinators: int) -> None:
    assert 1 < coordinators <= BROKERS


def test_offsets_of_named_groups_cost_one_lookup_and_a_request_a_coordinator(
    cluster: Cluster, groups: list[str], coordinators: int
) -> None:
    with admin_of(cluster.bootstrap) as admin:
        asked = _requests(admin, lambda: admin.list_consumer_group_offsets(dict.fromkeys(groups)))

    assert asked == {"FindCoordinator": 1, "OffsetFetch": coordinators}


def test_groups_that_were_listed_need_no_lookup(cluster: Cluster, groups: list[str], coordinators: int) -> None:
    with admin_of(cluster.bootstrap) as admin:
        listing = _requests(admin, admin.list_groups)
        describing = _requests(admin, lambda: admin.describe_consumer_groups(groups))
        fetching = _requests(admin, lambda: admin.list_consumer_group_offsets(dict.fromkeys(groups)))

    assert listing == {"ListGroups": BROKERS}
    assert describing == {"DescribeGroups": coordinators}
    assert fetching == {"OffsetFetch": coordinators}


def test_log_offsets_cost_one_lookup_and_a_request_a_leader(cluster: Cluster, topic: str) -> None:
    every = [(topic, partition) for partition in range(6)]
    with admin_of(cluster.bootstrap) as admin:
        ends = _requests(admin, lambda: admin.list_offsets(every))
        starts = _requests(admin, lambda: admin.list_offsets(every, spec=OffsetSpec.earliest()))

    assert ends == {"Metadata": 1, "ListOffsets": BROKERS}
    assert starts == {"ListOffsets": BROKERS}


def test_each_group_has_a_result_of_its_own(cluster: Cluster, groups: list[str], topic: str) -> None:
    with admin_of(cluster.bootstrap) as admin:
        answers = admin.list_consumer_group_offsets(dict.fromkeys(groups))

    assert set(answers.succeeded) == set(groups)
    assert answers.failed == {}
    committed = {key: commit.offset for key, commit in answers.succeeded[groups[0]].items() if commit}
    assert committed == {(topic, 0): 2, (topic, 5): 6}
    assert all(dict(found.rows()) == dict(answers.succeeded[groups[0]].rows()) for found in answers.all().values())


def test_each_group_may_be_asked_for_partitions_of_its_own(cluster: Cluster, groups: list[str], topic: str) -> None:
    first, second, third = groups[:3]
    wanted = {first: [(topic, 0), (topic, 1)], second: [(topic, 5)], third: None}
    with admin_of(cluster.bootstrap) as admin:
        found = admin.list_consumer_group_offsets(wanted).all()

    offsets = {
        group: {key.partition: commit.offset if commit else None for key, commit in told.rows()}
        for group, told in found.items()
    }
    assert offsets == {first: {0: 2, 1: None}, second: {5: 6}, third: {0: 2, 5: 6}}


def test_all_raises_what_one_group_failed_with(cluster: Cluster, groups: list[str]) -> None:
    missing = unique_name("missing")
    with admin_of(cluster.bootstrap) as admin:
        answers = admin.describe_consumer_groups([*groups, missing])

    assert set(answers.succeeded) == set(groups)
    assert set(answers.failed) == {missing}
    with pytest.raises(BrokerError, match="not found") as raised:
        answers.all()
    assert (raised.value.code, raised.value.name) == (69, "GROUP_ID_NOT_FOUND")


@pytest.mark.parametrize("filters", [{"states": []}, {"types": ()}, {"states": ["Sleeping"]}, {"types": ["consumers"]}])
def test_a_filter_that_lets_nothing_through_is_a_mistake(cluster: Cluster, filters: dict[str, Any]) -> None:
    with admin_of(cluster.bootstrap) as admin, pytest.raises(ValueError, match=r"Stable|Classic"):
        admin.list_groups(**filters)


def test_a_group_given_twice_is_answered_once(cluster: Cluster, groups: list[str], topic: str) -> None:
    topics = ["--topic", f"{topic}:0,1", "--topic", f"{topic}:1"]
    twice = ask(cluster.bootstrap, "offsets", groups[0], "-g", groups[0], *topics)

    assert twice.rows == [
        ["GROUP", "TOPIC", "PARTITION", "COMMITTED-OFFSET", "LEADER-EPOCH", "METADATA"],
        [groups[0], topic, "0", "2", "-", "-"],
        [groups[0], topic, "1", "-", "-", "-"],
    ]
    assert (twice.err, twice.code) == ("", 0)


def test_offsets_of_many_groups_are_one_document(cluster: Cluster, groups: list[str], topic: str) -> None:
    answer = ask(cluster.bootstrap, "offsets", *groups, "--topic", f"{topic}:0,1", "--format", "json")

    first = {"topic": topic, "partition": 0, "committed_offset": 2, "leader_epoch": None, "metadata": ""}
    second = {"topic": topic, "partition": 1, "committed_offset": None, "leader_epoch": None, "metadata": None}
    assert answer.json["groups"] == [{"group": group, "offsets": [first, second]} for group in sorted(groups)]
    assert (answer.json["status"], answer.err, answer.code) == ("complete", "", 0)


def test_a_group_that_does_not_exist_is_not_one_without_commits(cluster: Cluster, groups: list[str]) -> None:
    missing = unique_name("missing")
    answer = ask(cluster.bootstrap, "offsets", missing, groups[0])

    assert {row[0] for row in answer.rows[1:]} == {groups[0]}
    assert f"group '{missing}'" in answer.err
    assert "GROUP_ID_NOT_FOUND" in answer.err
    assert answer.code == 3
