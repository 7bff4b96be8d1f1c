"""Selection of listed groups: named groups that no broker lists, and brokers that fail to list theirs."""

from __future__ import annotations

from kafka_groups.groups.selection import NO_MATCH, Selectors, list_selected
from tests.fakes.reactions import changed, plain
from tests.fakes.scripted_cluster import Group, ScriptedCluster

STABLE = Selectors(named=("nope",), states=("Stable",))


def _cluster(**groups: Group) -> ScriptedCluster:
    return ScriptedCluster(brokers=3, groups={"orders": Group(coordinator=1), **groups})


def test_a_failure_of_the_second_unfiltered_listing_is_reported_and_not_a_success() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("ListGroups", plain, changed(error_code=31), brokers=[2])
        selection = list_selected(admin, STABLE)
        assert [(failure.broker, failure.name) for failure in selection.failures] == [
            (2, "CLUSTER_AUTHORIZATION_FAILED")
        ]
        assert (selection.groups, selection.notes()) == ((), [])
        assert cluster.requests() == {"ListGroups": 6}


def test_a_named_group_that_no_broker_lists_is_not_found() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        selection = list_selected(admin, STABLE)
        assert [(failure.group, failure.name) for failure in selection.failures] == [("nope", "GROUP_ID_NOT_FOUND")]


def test_a_named_group_in_another_state_is_neither_selected_nor_a_failure() -> None:
    with _cluster(nope=Group(coordinator=2, state="Empty")) as cluster, cluster.admin() as admin:
        selection = list_selected(admin, STABLE)
        assert (selection.groups, selection.failures) == ((), ())
        assert selection.notes() == [NO_MATCH]


def test_without_a_filter_the_first_listing_shows_which_groups_are_absent() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        selection = list_selected(admin, Selectors(named=("orders", "nope")))
        assert selection.groups == ("orders",)
        assert [(failure.group, failure.name) for failure in selection.failures] == [("nope", "GROUP_ID_NOT_FOUND")]
        assert cluster.requests() == {"ListGroups": 3}


def test_a_named_group_may_be_at_the_broker_that_failed_to_list_its_groups() -> None:
    with _cluster() as cluster, cluster.admin() as admin:
        cluster.script("ListGroups", changed(error_code=31), brokers=[2])
        selection = list_selected(admin, Selectors(named=("orders", "nope")))
        assert (selection.groups, selection.unlisted) == (("orders",), ("nope",))
        assert [(failure.broker, failure.group) for failure in selection.failures] == [(2, None)]
