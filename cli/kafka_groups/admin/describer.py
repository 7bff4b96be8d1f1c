"""Describe groups whose types may be unknown: one driver for each type of group, one result for each group."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import reduce
from typing import Any
from uuid import UUID

from kafka_groups.admin.api_handler import STATE_AND_MEMBERS, DescribeOptions
from kafka_groups.admin.driver import ApiDriver
from kafka_groups.admin.handlers.kind_handlers import handlers_by_type
from kafka_groups.admin.handlers.list_topic_names import ListTopicNamesHandler
from kafka_groups.admin.handlers.member_assignment import sort_assignments
from kafka_groups.admin.lookup import CoordinatorStrategy
from kafka_groups.admin.network.connection_pool import ANY_BROKER
from kafka_groups.errors import MissingFromResponseError, UnsupportedVersionError
from kafka_groups.kinds import SIMPLE, Kind, common_types
from kafka_groups.model import Assignment, Broker, Failure, GroupDescription, Results
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND, UNSUPPORTED_VERSION
from kafka_groups.protocol.topic_ids import format_topic_id


class GroupDescriber:
    """The drivers of one call, by the type of group that each describes.

    A group of unknown type is described as a classic and as a KIP-848 group at once; if it is neither, as every other
    type. `types` are the types known from earlier calls, `coordinators` maps groups to broker ids. `kinds` are those to
    describe, None for every kind; a group of another kind fails. `options` are what descriptions have, too.
    """

    def __init__(
        self,
        groups: Iterable[str],
        *,
        types: Mapping[str, str | None],
        coordinators: Mapping[str, int],
        kinds: Collection[Kind] | None = None,
        options: DescribeOptions = STATE_AND_MEMBERS,
    ) -> None:
        self._groups = tuple(groups)
        self._coordinators = coordinators
        self._handlers = handlers_by_type(kinds, options)
        self._types = self._first_types(types)
        self._first = {
            group_type: self._driver(group_type, groups_of_type)
            for group_type in self._handlers
            if (groups_of_type := [group for group in self._groups if group_type in self._types[group]])
        }
        self._second: list[ApiDriver[str, GroupDescription]] = []
        self._topic_names: list[ApiDriver[UUID, str]] = []
        self._found_types: dict[str, str | None] = {}
        # The numbers of failures and of descriptions that `follow_up` has seen.
        self._seen = {"failed": 0, "completed": 0}

    def _first_types(self, known: Mapping[str, str | None]) -> dict[str, tuple[str | None, ...]]:
        """Return the types that each group is described as first: its known type, or the common ones.

        To describe it as every type would cost each coordinator a request more for each rare type.
        """
        common = tuple(each for each in self._handlers if each in common_types()) or tuple(self._handlers)
        types: dict[str, tuple[str | None, ...]] = {
            group: (known[group],) if known.get(group) in self._handlers else common for group in self._groups
        }
        if "" in types:
            # Only a simple group has the empty id. Kafka 4.0 returns UNKNOWN_SERVER_ERROR to any other describe of it.
            types[""] = (SIMPLE.group_type,)
        return types

    def drivers(self) -> Sequence[ApiDriver[str, GroupDescription]]:
        """Return the drivers to run first."""
        return list(self._first.values())

    def follow_up(self) -> Sequence[ApiDriver[Any, Any]]:
        """Return the drivers that the present results make necessary: for groups whose types changed, then for topics.

        A broker may identify the topics of assignments only by their ids (franz-go's kfake leaves the names empty).
        """
        return [*self._retries(), *self._lookups_of_topics()]

    def _retries(self) -> Sequence[ApiDriver[str, GroupDescription]]:
        """Return, once the first drivers are settled, the drivers that describe groups as their remaining types.

        The type of such a group was not known, or it has changed, as an online upgrade to KIP-848 or back changes it.
        """
        first = list(self._first.values())
        if not self._has_more(first, "failed"):
            return ()
        retried = {group for driver in self._second for group in driver.keys}
        failed = dict.fromkeys(group for driver in first for group in driver.failed if group and group not in retried)
        changed = [group for group in failed if self._has_another_type(group)]
        if not changed:
            return ()
        # The first drivers may have found other coordinators.
        self._coordinators = {**self._coordinators, **self.locations()}
        drivers = [
            self._driver(group_type, untried)
            for group_type in self._handlers
            if (untried := [group for group in changed if group_type not in self._types[group]])
        ]
        self._second += drivers
        return drivers

    def _has_another_type(self, group: str) -> bool:
        """Return whether no broker found the group as one of the types described first, and other types are left."""
        tried = self._types[group]
        failures = [driver.failed[group] for driver in self._first.values() if group in driver.failed]
        if len(failures) < len(tried) or len(tried) == len(self._handlers):
            return False
        is_absent = any(failure.code == GROUP_ID_NOT_FOUND for failure in failures)
        return is_absent and all(map(_lacks_group, failures))

    def _lookups_of_topics(self) -> Sequence[ApiDriver[UUID, str]]:
        """Return, once all groups are described or late, the driver for the topics without names."""
        if not self._has_more(self._all(), "completed"):
            return ()
        requested = {topic_id for driver in self._topic_names for topic_id in driver.keys}
        groups = (group for driver in self._all() for group in driver.completed.values())
        unnamed = {topic_id for group in groups for topic_id in _unnamed_topics(group) if topic_id.int} - requested
        known = dict.fromkeys(unnamed, ANY_BROKER)
        drivers = [ApiDriver(known, handler=ListTopicNamesHandler(), lookup=None, known=known)] if known else []
        self._topic_names += drivers
        return drivers

    def _has_more(self, drivers: Sequence[ApiDriver[str, GroupDescription]], outcome: str) -> bool:
        """Return whether drivers that wait only for late responses have failures or descriptions not seen before."""
        if not all(driver.is_settled() for driver in drivers):
            return False
        number = sum(len(getattr(driver, outcome)) for driver in drivers)
        seen, self._seen[outcome] = self._seen[outcome], number
        return number > seen

    def types(self) -> Mapping[str, str | None]:
        """Return the types of the groups that are described by now, as soon as all of them are, or none before."""
        drivers = self._all()
        if not all(driver.is_settled() for driver in drivers):
            return {}
        number = sum(len(driver.completed) for driver in drivers)
        if len(self._found_types) != number:
            described = (item for driver in drivers for item in driver.completed.items())
            self._found_types = {group: description.type for group, description in described}
        return self._found_types

    def locations(self) -> dict[str, int]:
        """Return the broker id of each group's coordinator, as the drivers found it last."""
        return {group: broker for driver in self._all() for group, broker in driver.locations.items()}

    def results(self, brokers: Mapping[int, Broker]) -> Results[str, GroupDescription]:
        """Return each group's description with its coordinator, or the most informative of its failures."""
        succeeded: dict[str, GroupDescription] = {}
        failed: dict[str, Failure] = {}
        locations = {driver: driver.locations for driver in self._all()}
        for group in self._groups:
            driver = next((driver for driver in self._all() if group in driver.completed), None)
            if driver is not None:
                coordinator = brokers.get(locations[driver][group])
                succeeded[group] = self._with_topic_names(driver.completed[group]._replace(coordinator=coordinator))
            else:
                failed[group] = self._failure(group)
        return Results(succeeded=succeeded, failed=failed)

    def _all(self) -> Sequence[ApiDriver[str, GroupDescription]]:
        return [*self._first.values(), *self._second]

    def _with_topic_names(self, group: GroupDescription) -> GroupDescription:
        unnamed = _unnamed_topics(group)
        if not unnamed:
            return group
        names = {topic_id: name for driver in self._topic_names for topic_id, name in driver.completed.items()}
        lookups = {topic_id: why for driver in self._topic_names for topic_id, why in driver.failed.items()}
        failed = {topic_id: lookups.get(topic_id) or _unnamed(topic_id) for topic_id in unnamed - {*names}}
        return group._replace(
            members=tuple(
                member._replace(
                    assignment=_named(member.assignment, names),
                    target_assignment=_named(member.target_assignment, names),
                )
                for member in group.members
            ),
            unnamed_topics={
                format_topic_id(topic_id): why._replace(group=group.group) for topic_id, why in failed.items()
            },
        )

    def _failure(self, group: str) -> Failure:
        # A retry that was not finished says more than the first driver, which did not find the group.
        retries = [driver.failed[group] for driver in self._second if group in driver.failed]
        unfinished = [failure for failure in retries if not _lacks_group(failure)]
        first = [driver.failed[group] for driver in self._first.values() if group in driver.failed]
        return _with_switched_off(reduce(_more_informative, unfinished or first), retries)

    def _driver(self, group_type: str, groups: Iterable[str]) -> ApiDriver[str, GroupDescription]:
        handler = self._handlers[group_type]()
        return ApiDriver(groups, handler=handler, lookup=CoordinatorStrategy(), known=self._coordinators)


def _lacks_group(failure: Failure) -> bool:
    """Return whether a broker does not have the group as one of a type: it lacks the group, or groups of the type."""
    return failure.code == GROUP_ID_NOT_FOUND or failure.name == UnsupportedVersionError.name


def _more_informative(newer: Failure, older: Failure) -> Failure:
    """Return the failure that names the cause, of a newer and an older describe API.

    Each API returns GROUP_ID_NOT_FOUND for a group of another type, and an old broker lacks the newer API. If both
    do not find the group, the newer API's message names the type that the group is not (Kafka shows that one, too).
    """
    if newer.name == UnsupportedVersionError.name:
        return older
    return older if newer.code == GROUP_ID_NOT_FOUND != older.code else newer


def _with_switched_off(failure: Failure, retries: Iterable[Failure]) -> Failure:
    """Return the failure of an absent group with the kinds that the cluster has not enabled: it may have one of them.

    A broker returns UNSUPPORTED_VERSION for such a kind. A broker that lacks the API itself returns nothing.
    """
    switched_off = [retry.message for retry in retries if retry.code == UNSUPPORTED_VERSION]
    if failure.code != GROUP_ID_NOT_FOUND or not switched_off:
        return failure
    return failure._replace(message="; ".join((failure.message.rstrip("."), *switched_off)))


def _unnamed_topics(group: GroupDescription) -> set[UUID]:
    """Return the ids of the topics that the assignments of the group do not name."""
    return {
        assigned.topic_id
        for member in group.members
        for assigned in (*(member.assignment or ()), *(member.target_assignment or ()))
        if assigned.topic_id is not None
    }


def _unnamed(topic_id: UUID) -> Failure:
    """Return the failure of a topic that was not looked up: it has no id, or the deadline passed before."""
    error = MissingFromResponseError("the name of the topic is missing from the broker's response")
    return ListTopicNamesHandler().to_failure(topic_id, error, None)


def _named(assignment: Iterable[Assignment] | None, names: Mapping[UUID, str]) -> tuple[Assignment, ...] | None:
    """Return an assignment with the names of its topics, without topics whose names are unknown; None stays None."""
    if assignment is None:
        return None
    named = (
        (each.topic if each.topic_id is None else names.get(each.topic_id, ""), each.partitions) for each in assignment
    )
    return sort_assignments((topic, partitions) for topic, partitions in named if topic)
