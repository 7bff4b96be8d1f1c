"""Listing through the door: every broker is asked, filters travel to them, a broker fails alone."""

from __future__ import annotations

import time

import pytest

from kafka_groups.admin import GroupAdmin
from kafka_groups.model import GroupListing
from tests.fakes.scripted_broker import changed
from tests.fakes.scripted_cluster import Group, ScriptedCluster

GROUPS = {
    "connect-sink": Group(coordinator=1, protocol_type="connect"),
    "orders": Group(coordinator=2, type="Consumer", state="Reconciling"),
    "billing": Group(coordinator=3, state="Empty"),
    "share": Group(coordinator=3, type="Share", protocol_type="share"),
}
STATES = "Stable, Empty, PreparingRebalance, CompletingRebalance, Assigning, Reconciling, NotReady, Dead"


def test_groups_of_every_kind_are_listed_by_name_with_their_coordinators() -> None:
    with ScriptedCluster(groups=GROUPS) as cluster, cluster.admin() as admin:
        answers = admin.list_groups()
        assert list(answers.succeeded.values()) == [
            GroupListing(group="billing", type="Classic", state="Empty", protocol_type="consumer", coordinator=3),
            GroupListing(group="connect-sink", type="Classic", state="Stable", protocol_type="connect", coordinator=1),
            GroupListing(group="orders", type="Consumer", state="Reconciling", protocol_type="consumer", coordinator=2),
            GroupListing(group="share", type="Share", state="Stable", protocol_type="share", coordinator=3),
        ]
        assert answers.failed == {}


def test_without_filters_none_are_sent() -> None:
    with ScriptedCluster(groups=GROUPS) as cluster, cluster.admin() as admin:
        admin.list_groups()
        assert [asked.body for asked in cluster.requests_of("ListGroups")] == [
            {"states_filter": [], "types_filter": []}
        ] * 3


def test_filters_travel_to_every_broker_in_kafkas_own_spelling() -> None:
    with ScriptedCluster(groups=GROUPS) as cluster, cluster.admin() as admin:
        admin.list_groups(states=["preparingrebalance", "STABLE", "stable"], types=["consumer", "cLASSIC"])
        bodies = [asked.body for asked in cluster.requests_of("ListGroups")]
        assert (
            bodies == [{"states_filter": ["PreparingRebalance", "Stable"], "types_filter": ["Consumer", "Classic"]}] * 3
        )


def test_what_a_filter_lets_through_is_what_the_brokers_say() -> None:
    with ScriptedCluster(groups=GROUPS) as cluster, cluster.admin() as admin:
        assert list(admin.list_groups(states=["Empty"]).succeeded) == ["billing"]
        assert list(admin.list_groups(types=["Consumer", "Share"]).succeeded) == ["orders", "share"]
        assert list(admin.list_groups(states=["Empty"], types=["Consumer"]).succeeded) == []


def test_an_empty_set_of_states_is_refused_before_anything_is_asked() -> None:
    with ScriptedCluster() as cluster, cluster.admin() as admin:
        with pytest.raises(ValueError, match="states: an empty filter would match nothing; valid names are Stable"):
            admin.list_groups(states=[])
        with pytest.raises(ValueError, match=r"types: an empty filter .* Classic, Consumer, Share, Streams"):
            admin.list_groups(types=set())
        assert cluster.requests_of("ApiVersions") == []


def test_unknown_states_and_types_are_named_beside_the_valid_ones() -> None:
    with ScriptedCluster() as cluster, cluster.admin() as admin:
        with pytest.raises(ValueError, match=f"states: unknown name 'Bogus', 'Consumer'; valid names are {STATES}"):
            admin.list_groups(states=["Stable", "Bogus", "Consumer"])
        with pytest.raises(
            ValueError, match="types: unknown name 'Stable'; valid names are Classic, Consumer, Share, Streams"
        ):
            admin.list_groups(types=["Stable"])
        with pytest.raises(ValueError, match="states: unknown name ''"):
            admin.list_groups(states=[""])


def test_a_broker_that_refuses_to_list_fails_alone_under_its_id() -> None:
    with ScriptedCluster(groups=GROUPS) as cluster, cluster.admin() as admin:
        cluster.script("ListGroups", changed(error_code=31), brokers=[2])
        answers = admin.list_groups()
        assert list(answers.succeeded) == ["billing", "connect-sink", "share"]
        assert list(answers.failed) == [2]
        assert (answers.failed[2].broker, answers.failed[2].name) == (2, "CLUSTER_AUTHORIZATION_FAILED")


@pytest.mark.parametrize("code", [14, 15])
def test_a_broker_whose_coordinator_is_starting_is_asked_again(code: int) -> None:
    with ScriptedCluster(groups=GROUPS) as cluster, cluster.admin() as admin:
        cluster.script("ListGroups", changed(error_code=code), brokers=[3])
        assert list(admin.list_groups().all()) == ["billing", "connect-sink", "orders", "share"]
        assert sorted(asked.broker for asked in cluster.requests_of("ListGroups")) == [1, 2, 3, 3]


def test_below_version_5_a_filter_for_classic_groups_is_dropped_and_believed() -> None:
    versions = {"ListGroups": (0, 4)}
    with ScriptedCluster(groups=GROUPS, versions=versions) as cluster, cluster.admin() as admin:
        answers = admin.list_groups(types=["Consumer", "Classic"])
        assert answers.failed == {}
        assert {listing.type for listing in answers.succeeded.values()} == {"Classic"}
        assert len(admin.list_groups(types=["Classic"]).all()) == 4
        assert {listing.type for listing in admin.list_groups().succeeded.values()} == {None}


@pytest.mark.parametrize("types", [["Consumer"], ["Share"], ["Classic", "Share"]])
def test_below_version_5_other_types_are_refused_naming_the_kafka_that_can(types: list[str]) -> None:
    with ScriptedCluster(groups=GROUPS, versions={"ListGroups": (0, 4)}) as cluster, cluster.admin() as admin:
        answers = admin.list_groups(types=types)
        assert answers.succeeded == {}
        assert sorted(answers.failed) == [1, 2, 3]
        assert answers.failed[1].name == "UNSUPPORTED_VERSION"
        assert answers.failed[1].message == (
            "a filter by these types needs ListGroups version 5 (Kafka 3.8 or newer); "
            "this broker supports up to 4; a listing without filter works"
        )
        assert cluster.requests() == {}


def test_below_version_4_states_are_refused_naming_the_kafka_that_can() -> None:
    with ScriptedCluster(groups=GROUPS, versions={"ListGroups": (0, 3)}) as cluster, cluster.admin() as admin:
        answers = admin.list_groups(states=["Stable"])
        assert answers.failed[2].message == (
            "a filter by state needs ListGroups version 4 (Kafka 2.6 or newer); "
            "this broker supports up to 3; a listing without filter works"
        )
        assert [listing.state for listing in admin.list_groups().all().values()] == [None] * 4


def test_a_listing_some_time_later_asks_the_brokers_that_there_are_then() -> None:
    ahead = [0.0]
    with ScriptedCluster(brokers=3, groups={"a": Group(coordinator=1), "c": Group(coordinator=3)}) as cluster:
        cluster.addresses.pop(3)
        with GroupAdmin(cluster.settings(), clock=lambda: time.monotonic() + ahead[0]) as admin:
            assert list(admin.list_groups().all()) == ["a"]
            cluster.addresses[3] = cluster.brokers[3].endpoint
            assert list(admin.list_groups().all()) == ["a"]
            ahead[0] = 2.0
            assert list(admin.list_groups().all()) == ["a", "c"]
