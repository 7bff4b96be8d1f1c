"""Listings of groups: one request per broker, filters in each request, and failures by broker."""

from __future__ import annotations

import pytest

from kafka_groups.model import GroupListing
from tests.fakes.reactions import changed
from tests.fakes.scripted_cluster import Group, ScriptedCluster

GROUPS = {
    "connect-sink": Group(coordinator=1, protocol_type="connect"),
    "orders": Group(coordinator=2, type="Consumer", state="Reconciling"),
    "billing": Group(coordinator=3, state="Empty"),
    "share": Group(coordinator=3, type="Share", protocol_type="share"),
}
STATES = "Stable, Empty, PreparingRebalance, CompletingRebalance, Assigning, Reconciling, NotReady, Dead"


def test_groups_of_every_type_are_listed_by_name_with_their_coordinators() -> None:
    with ScriptedCluster(groups=GROUPS) as cluster, cluster.admin() as admin:
        results = admin.list_groups()
        assert list(results.succeeded.values()) == [
            GroupListing(group="billing", type="Classic", state="Empty", protocol_type="consumer", coordinator=3),
            GroupListing(group="connect-sink", type="Classic", state="Stable", protocol_type="connect", coordinator=1),
            GroupListing(group="orders", type="Consumer", state="Reconciling", protocol_type="consumer", coordinator=2),
            GroupListing(group="share", type="Share", state="Stable", protocol_type="share", coordinator=3),
        ]
        assert results.failed == {}


LISTED_TWICE = {"group_id": "orders", "protocol_type": "consumer", "group_state": "Empty", "group_type": "Classic"}


def test_a_group_that_two_brokers_list_has_no_coordinator_and_no_state_or_type_in_which_they_differ() -> None:
    with ScriptedCluster(groups=GROUPS) as cluster, cluster.admin() as admin:
        cluster.script("ListGroups", changed(groups=[LISTED_TWICE]), brokers=[1])
        listing = GroupListing(group="orders", type=None, state=None, protocol_type="consumer", coordinator=None)
        assert admin.list_groups().succeeded["orders"] == listing


def test_a_group_that_two_brokers_list_has_the_type_and_the_state_that_both_or_only_one_of_them_return() -> None:
    older = {**LISTED_TWICE, "group_state": "reconciling", "group_type": "", "protocol_type": ""}
    with ScriptedCluster(groups=GROUPS) as cluster, cluster.admin() as admin:
        cluster.script("ListGroups", changed(groups=[older]), brokers=[3])
        assert admin.list_groups().succeeded["orders"] == GroupListing(
            group="orders", type="Consumer", state="Reconciling", protocol_type="consumer", coordinator=None
        )


def test_the_coordinator_of_a_group_that_two_brokers_list_is_looked_up() -> None:
    with ScriptedCluster(groups=GROUPS) as cluster, cluster.admin() as admin:
        admin.list_groups()
        cluster.script("ListGroups", changed(groups=[LISTED_TWICE]), brokers=[3])
        admin.list_groups()
        assert list(admin.list_consumer_group_offsets({"orders": None}).all()) == ["orders"]
        assert [request.body["coordinator_keys"] for request in cluster.requests_of("FindCoordinator")] == [["orders"]]
        assert [request.broker for request in cluster.requests_of("OffsetFetch")] == [2]


def test_by_default_requests_have_no_filters() -> None:
    with ScriptedCluster(groups=GROUPS) as cluster, cluster.admin() as admin:
        admin.list_groups()
        assert [request.body for request in cluster.requests_of("ListGroups")] == [
            {"states_filter": [], "types_filter": []}
        ] * 3


def test_filters_are_sent_to_every_broker_in_the_spelling_of_brokers() -> None:
    with ScriptedCluster(groups=GROUPS) as cluster, cluster.admin() as admin:
        admin.list_groups(states=["preparingrebalance", "STABLE", "stable"], types=["consumer", "cLASSIC"])
        bodies = [request.body for request in cluster.requests_of("ListGroups")]
        assert (
            bodies == [{"states_filter": ["PreparingRebalance", "Stable"], "types_filter": ["consumer", "classic"]}] * 3
        )


def test_brokers_apply_the_filters() -> None:
    with ScriptedCluster(groups=GROUPS) as cluster, cluster.admin() as admin:
        assert list(admin.list_groups(states=["Empty"]).succeeded) == ["billing"]
        assert list(admin.list_groups(types=["Consumer", "Share"]).succeeded) == ["orders", "share"]
        assert list(admin.list_groups(states=["Empty"], types=["Consumer"]).succeeded) == []


def test_an_empty_filter_is_refused_before_a_request_is_sent() -> None:
    with ScriptedCluster() as cluster, cluster.admin() as admin:
        with pytest.raises(ValueError, match="states: an empty filter would match nothing; valid names are Stable"):
            admin.list_groups(states=[])
        with pytest.raises(ValueError, match=r"types: an empty filter .* Classic, Consumer, Share, Streams"):
            admin.list_groups(types=set())
        assert cluster.requests_of("ApiVersions") == []


def test_the_error_of_an_unknown_state_or_type_has_the_valid_names() -> None:
    with ScriptedCluster() as cluster, cluster.admin() as admin:
        with pytest.raises(ValueError, match=f"states: unknown name 'Bogus', 'Consumer'; valid names are {STATES}"):
            admin.list_groups(states=["Stable", "Bogus", "Consumer"])
        with pytest.raises(
            ValueError, match="types: unknown name 'Stable'; valid names are Classic, Consumer, Share, Streams"
        ):
            admin.list_groups(types=["Stable"])
        with pytest.raises(ValueError, match="states: unknown name ''"):
            admin.list_groups(states=[""])


def test_a_broker_that_refuses_the_request_fails_alone_under_its_id() -> None:
    with ScriptedCluster(groups=GROUPS) as cluster, cluster.admin() as admin:
        cluster.script("ListGroups", changed(error_code=31), brokers=[2])
        results = admin.list_groups()
        assert list(results.succeeded) == ["billing", "connect-sink", "share"]
        assert list(results.failed) == [2]
        assert (results.failed[2].broker, results.failed[2].name) == (2, "CLUSTER_AUTHORIZATION_FAILED")


@pytest.mark.parametrize("code", [14, 15])
def test_a_request_to_a_broker_whose_coordinator_is_starting_is_retried(code: int) -> None:
    with ScriptedCluster(groups=GROUPS) as cluster, cluster.admin() as admin:
        cluster.script("ListGroups", changed(error_code=code), brokers=[3])
        assert list(admin.list_groups().all()) == ["billing", "connect-sink", "orders", "share"]
        assert sorted(request.broker for request in cluster.requests_of("ListGroups")) == [1, 2, 3, 3]


def test_below_version_5_a_filter_that_includes_classic_groups_is_not_sent_and_all_groups_are_classic() -> None:
    versions = {"ListGroups": (0, 4)}
    with ScriptedCluster(groups=GROUPS, versions=versions) as cluster, cluster.admin() as admin:
        results = admin.list_groups(types=["Consumer", "Classic"])
        assert results.failed == {}
        assert {listing.type for listing in results.succeeded.values()} == {"Classic"}
        assert len(admin.list_groups(types=["Classic"]).all()) == 4
        assert {listing.type for listing in admin.list_groups().succeeded.values()} == {None}


@pytest.mark.parametrize("types", [["Consumer"], ["Share"], ["Classic", "Share"]])
def test_below_version_5_a_filter_of_other_types_fails_and_names_the_kafka_version_that_supports_it(
    types: list[str],
) -> None:
    with ScriptedCluster(groups=GROUPS, versions={"ListGroups": (0, 4)}) as cluster, cluster.admin() as admin:
        results = admin.list_groups(types=types)
        assert results.succeeded == {}
        assert sorted(results.failed) == [1, 2, 3]
        assert results.failed[1].name == "UNSUPPORTED_VERSION"
        assert results.failed[1].message == (
            "a filter by these types needs ListGroups version 5 (Kafka 3.8 or newer); "
            "this broker supports up to 4; a listing without filter works"
        )
        assert cluster.requests() == {}


def test_below_version_4_a_filter_of_states_fails_and_names_the_kafka_version_that_supports_it() -> None:
    with ScriptedCluster(groups=GROUPS, versions={"ListGroups": (0, 3)}) as cluster, cluster.admin() as admin:
        results = admin.list_groups(states=["Stable"])
        assert results.failed[2].message == (
            "a filter by state needs ListGroups version 4 (Kafka 2.6 or newer); "
            "this broker supports up to 3; a listing without filter works"
        )
        assert [listing.state for listing in admin.list_groups().all().values()] == [None] * 4


def test_a_later_listing_includes_brokers_that_joined_the_cluster() -> None:
    with ScriptedCluster(brokers=3, groups={"a": Group(coordinator=1), "c": Group(coordinator=3)}) as cluster:
        cluster.addresses.pop(3)
        with cluster.admin() as admin:
            assert list(admin.list_groups().all()) == ["a"]
            cluster.addresses[3] = cluster.brokers[3].endpoint
            assert list(admin.list_groups().all()) == ["a"]
            cluster.clock.sleep(2)
            assert list(admin.list_groups().all()) == ["a", "c"]
