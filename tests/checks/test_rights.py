"""The checks of rights: what is requested, and what each answer means."""

from __future__ import annotations

from kafka_groups.acl_operations import AclOperation
from kafka_groups.checks.check import Check, Status
from kafka_groups.checks.rights import Rights, check_rights, find_rights
from kafka_groups.errors import TimeoutExceededError
from kafka_groups.groups.selection import Selection, Selectors
from kafka_groups.model import Failure, Results
from tests.fakes.rights_cluster import RightsCluster
from tests.fakes.scripted_cluster import Group

DESCRIBE = AclOperation.DESCRIBE
READ = AclOperation.READ
DELETE = AclOperation.DELETE
UNKNOWN = "unknown: the broker does not return the operations of its users, as Kafka does since 2.3"


def rights_of(cluster: RightsCluster, *groups: str) -> Rights:
    with cluster.admin() as admin:
        return find_rights(admin, Selectors(named=groups), deadline=admin.deadline())


def checks_of(cluster: RightsCluster, *groups: str) -> dict[str, Check]:
    return {check.subject: check for check in check_rights(rights_of(cluster, *groups))}


def test_each_right_that_is_missing_is_a_warning_with_the_commands_that_need_it() -> None:
    groups = {"billing": Group(commits={("orders", 0): 5})}
    with RightsCluster(
        groups=groups,
        topics={"orders": {0: 1}},
        on_cluster={DESCRIBE},
        on_groups={"billing": {DESCRIBE, READ}},
        on_topics={"orders": {DESCRIBE}},
    ) as cluster:
        checks = checks_of(cluster, "billing")
    assert [*checks] == ["cluster", "group billing", "topic orders"]
    assert {check.status for check in checks.values()} == {Status.WARNING}
    assert checks["cluster"].detail == (
        "DESCRIBE: list of all groups; no DESCRIBE_CONFIGS, which pipeline doctor needs"
    )
    assert checks["group billing"].detail == (
        "DESCRIBE, READ: list, describe, offsets, lag, wait, orphans, reset --execute, undo --execute, "
        "remove-members --execute; no DELETE, which delete --execute and delete-offsets --execute need"
    )
    assert checks["topic orders"].detail.startswith("DESCRIBE: describe, offsets, lag, wait, orphans; no READ, which ")


def test_all_rights_are_ok() -> None:
    groups = {"billing": Group(commits={("orders", 0): 5})}
    with RightsCluster(groups=groups, topics={"orders": {0: 1}}) as cluster:
        checks = checks_of(cluster, "billing")
    assert {check.status for check in checks.values()} == {Status.OK}
    assert "; no " not in "".join(check.detail for check in checks.values())


def test_rights_that_no_broker_returns_are_unknown_and_not_none() -> None:
    groups = {"billing": Group(commits={("orders", 0): 5}), "empty": Group(state="Empty", protocol_type="")}
    with RightsCluster(
        groups=groups,
        topics={"orders": {0: 1}},
        on_cluster=None,
        on_groups={"billing": None, "empty": set()},
        on_topics={"orders": None},
    ) as cluster:
        checks = checks_of(cluster, "billing", "empty")
    assert {(check.status, check.detail) for check in checks.values()} == {(Status.SKIPPED, UNKNOWN)}
    assert len(checks) == 4


def test_a_user_without_describe_on_the_cluster_has_unknown_other_operations() -> None:
    with RightsCluster(groups={"g": Group()}, on_cluster=set()) as cluster:
        check = checks_of(cluster, "g")["cluster"]
    assert check.status is Status.WARNING
    assert check.detail.endswith("other operations are unknown")


def test_a_denied_group_an_absent_one_and_a_denied_topic_fail_alone() -> None:
    groups = {"billing": Group(commits={("orders", 0): 5, ("gone", 0): 1}), "secret": Group(error=30)}
    with RightsCluster(groups=groups, topics={"orders": {0: 1}}, on_topics={"orders": set()}) as cluster:
        checks = checks_of(cluster, "billing", "secret", "nosuch")
    failed = {subject: check.failure.name for subject, check in checks.items() if check.failure is not None}
    assert failed == {
        "group secret": "GROUP_AUTHORIZATION_FAILED",
        "group nosuch": "GROUP_ID_NOT_FOUND",
        "topic orders": "TOPIC_AUTHORIZATION_FAILED",
    }
    assert checks["topic orders"].detail == "not allowed: this needs DESCRIBE on the topic"
    assert (checks["topic gone"].status, checks["group billing"].status) == (Status.SKIPPED, Status.OK)


def test_rights_cost_one_request_of_each_kind_for_all_groups() -> None:
    groups = {f"g{number}": Group(commits={("orders", 0): 5}, state="Empty") for number in range(5)}
    with RightsCluster(brokers=1, groups=groups, topics={"orders": {0: 1}}) as cluster:
        rights_of(cluster, *groups)
        requests = cluster.requests()
    assert requests == {
        "DescribeCluster": 1,
        "FindCoordinator": 1,
        "DescribeGroups": 1,
        "ConsumerGroupDescribe": 1,
        "OffsetFetch": 1,
        "Metadata": 1,
    }


def test_a_cluster_that_cannot_be_described_fails_alone() -> None:
    nothing = Selection(groups=(), named=frozenset())
    (check,) = check_rights(Rights(nothing, TimeoutExceededError("no response within 1 s"), {}, {}, Results()))
    assert (check.status, check.detail) == (Status.FAILED, "no response within 1 s")
    assert check.failure is not None
    assert (check.failure.name, check.failure.message) == ("TIMEOUT", "rights on the cluster: no response within 1 s")


def test_a_broker_that_lists_no_groups_is_a_failed_check_of_that_broker() -> None:
    failure = Failure(None, "TIMEOUT", "no response", broker=2)
    selection = Selection(groups=(), named=frozenset(), failures=(failure,))
    checks = check_rights(Rights(selection, None, {}, {}, Results()))
    assert [(check.subject, check.status, check.failure) for check in checks] == [
        ("cluster", Status.SKIPPED, None),
        ("broker 2", Status.FAILED, failure),
    ]
