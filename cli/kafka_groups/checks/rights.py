"""The rights of the user on the cluster, on groups, and on the topics of their commits (KIP-430). Nothing is tried."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_groups.acl_operations import AclOperation
from kafka_groups.admin.api import Deadline, TimePlan, Topic
from kafka_groups.checks.check import Check, Status, Subject
from kafka_groups.checks.operations import Resource, describe_operations
from kafka_groups.errors import AdminError
from kafka_groups.groups import steps
from kafka_groups.groups.selection import Selection, Selectors, listing_steps, select_groups
from kafka_groups.kinds import Operation
from kafka_groups.model import Failure, GroupDescription, GroupOffsets, Results
from kafka_groups.protocol.errors import UNKNOWN_TOPIC_OR_PARTITION

if TYPE_CHECKING:
    from kafka_groups.admin import GroupAdmin

RIGHTS: Final = "rights"
_UNKNOWN: Final = "unknown: the broker does not return the operations of its users, as Kafka does since 2.3"
_ABSENT: Final = "the topic does not exist, and the group has commits on it"


class Rights(NamedTuple):
    """What brokers returned about the rights of the user; `cluster` is the error of the request if that failed.

    `failed` has the failures of groups, and `topics` the topics that have commits of the groups.
    """

    selection: Selection
    cluster: frozenset[AclOperation] | AdminError | None
    groups: Mapping[str, GroupDescription]
    failed: Mapping[str, Failure]
    topics: Results[str, Topic]


def find_rights(admin: GroupAdmin, selectors: Selectors, *, deadline: Deadline) -> Rights:
    """Request the operations that the user has on the cluster, the selected groups, and the topics of their commits."""
    listing = listing_steps(selectors)
    plan = TimePlan(deadline, (steps.CLUSTER_RIGHTS, *listing, steps.GROUPS, steps.TOPIC_RIGHTS))
    cluster: frozenset[AclOperation] | AdminError | None
    try:
        cluster = admin.describe_cluster(timeout=plan.until(steps.CLUSTER_RIGHTS)).authorized_operations
    except AdminError as error:
        cluster = error
    selection = select_groups(admin, selectors, operation=Operation.DESCRIBE, plan=plan)
    groups, offsets = admin.describe_with_offsets(
        selection.groups,
        dict.fromkeys(selection.groups),
        authorized_operations=True,
        timeout=plan.until(steps.GROUPS),
    )
    names = sorted({name for group in selection.groups for name in _topics_of(group, groups, offsets)})
    topics: Results[str, Topic] = Results()
    if names:
        topics = admin.describe_topics(names, authorized_operations=True, timeout=plan.until(steps.TOPIC_RIGHTS))
    return Rights(selection, cluster, groups.succeeded, {**offsets.failed, **groups.failed}, topics)


def check_rights(rights: Rights) -> list[Check]:
    """Return the checks of the cluster, of the groups and of the topics."""
    return [_check_cluster(rights.cluster), *_check_groups(rights), *_check_topics(rights.topics)]


def _topics_of(
    group: str, groups: Results[str, GroupDescription], offsets: Results[str, GroupOffsets]
) -> Iterator[str]:
    """Yield the topics that a group has commits on, and those that its members have partitions of."""
    if group in offsets.succeeded:
        yield from (topic for topic, _ in offsets.succeeded[group].topics)
        yield from (partition.topic for partition in offsets.succeeded[group].failed)
    if group in groups.succeeded:
        for member in groups.succeeded[group].members:
            yield from (assigned.topic for assigned in member.assignment or () if assigned.topic)


def _check_cluster(operations: frozenset[AclOperation] | AdminError | None) -> Check:
    subject = Subject()
    if isinstance(operations, AdminError):
        return subject.failed(RIGHTS, str(operations), type(operations)(f"rights on the cluster: {operations}"))
    if operations is None:
        return subject.check(RIGHTS, Status.SKIPPED, _UNKNOWN)
    if AclOperation.DESCRIBE not in operations:
        # Brokers return no operation to a user without DESCRIBE, whatever else the user may do.
        detail = "no DESCRIBE: list shows the groups on which this user has DESCRIBE; other operations are unknown"
        return subject.check(RIGHTS, Status.WARNING, detail)
    return subject.check(RIGHTS, *describe_operations(Resource.CLUSTER, operations))


def _check_groups(rights: Rights) -> Iterator[Check]:
    for failure in rights.selection.failures:
        if failure.group is None:
            yield Check(RIGHTS, Status.FAILED, failure.message, broker=failure.broker, failure=failure)
    absent = {failure.group: failure for failure in rights.selection.failures if failure.group is not None}
    for group in sorted({*rights.groups, *rights.failed, *absent}):
        subject = Subject(group=group)
        failed = rights.failed.get(group) or absent.get(group)
        if failed is not None:
            yield subject.check(RIGHTS, Status.FAILED, failed.message)._replace(failure=failed._replace(group=group))
        else:
            yield _check_operations(subject, Resource.GROUP, rights.groups[group].authorized_operations)


def _check_topics(topics: Results[str, Topic]) -> Iterator[Check]:
    for name in sorted({*topics.succeeded, *topics.failed}):
        subject = Subject(topic=name)
        if name in topics.succeeded:
            yield _check_operations(subject, Resource.TOPIC, topics.succeeded[name].authorized_operations)
        elif (failure := topics.failed[name]).code == UNKNOWN_TOPIC_OR_PARTITION:
            yield subject.check(RIGHTS, Status.SKIPPED, _ABSENT)
        else:
            yield subject.check(RIGHTS, Status.FAILED, failure.message)._replace(failure=failure)


def _check_operations(subject: Subject, resource: Resource, operations: frozenset[AclOperation] | None) -> Check:
    # A group or a topic that was described has DESCRIBE, so a set without it is no information.
    if operations is None or AclOperation.DESCRIBE not in operations:
        return subject.check(RIGHTS, Status.SKIPPED, _UNKNOWN)
    return subject.check(RIGHTS, *describe_operations(resource, operations))
