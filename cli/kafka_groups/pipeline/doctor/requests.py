"""Checks of the requests that a sample sends: groups, commits, and log end offsets."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from kafka_groups.admin import GroupAdmin
from kafka_groups.errors import AdminError, SettingsError
from kafka_groups.kinds import Operation, supports
from kafka_groups.model import GroupListing, Results
from kafka_groups.pipeline.doctor.check import FAILED, OK, WARNING, Check

if TYPE_CHECKING:
    from kafka_groups.settings import ConnectionSettings


def check_requests(connection_settings: Callable[[], ConnectionSettings]) -> list[Check]:
    """Send requests as a sample does, each within the timeout of the settings, and return their checks.

    `connection_settings` returns the settings or raises SettingsError. Nothing is raised.
    """
    try:
        with GroupAdmin(connection_settings()) as admin:
            groups = admin.list_groups()
            checks = [_check_listing(groups)]
            checks += _check_description(admin, groups.succeeded)
            checks.append(_check_log_ends(admin))
            return checks
    except SettingsError as error:
        return [Check("sample", WARNING, f"sample and backfill cannot connect to these brokers: {error}")]
    except AdminError as error:
        return [Check("sample", FAILED, str(error))]


def _check_listing(groups: Results[str, GroupListing]) -> Check:
    name = "list groups"
    if groups.failed:
        return Check(name, FAILED, _first_failure(groups))
    if not groups.succeeded:
        return Check(name, WARNING, "no group was listed: there is none, or this user has DESCRIBE on none")
    count = len(groups.succeeded)
    return Check(name, OK, f"{count:,} group{'' if count == 1 else 's'} on which this user has DESCRIBE")


def _check_description(admin: GroupAdmin, groups: Mapping[str, GroupListing]) -> list[Check]:
    """Return the check of the state and commits of the first group that can be described; no check without one."""
    name = "describe groups"
    group = next((group for group, listing in groups.items() if supports(listing, Operation.DESCRIBE)), None)
    if group is None:
        return []
    responses: tuple[Results[Any, Any], ...] = (
        admin.describe_groups([group]),
        admin.list_group_offsets({group: None}),
    )
    for response in responses:
        if response.failed:
            return [Check(name, FAILED, f"{group}: {_first_failure(response)}")]
    return [Check(name, OK, f"state, members and commits of {group} were read")]


def _check_log_ends(admin: GroupAdmin) -> Check:
    """Return how many topics this user may describe, and whether the log end offset of one can be read."""
    name = "log end offsets"
    topics = [topic for topic in admin.list_topics().succeeded.values() if not topic.internal and topic.partitions]
    if not topics:
        return Check(name, WARNING, "no topic was listed: there is none, or this user has DESCRIBE on none")
    topic = topics[0]
    log_ends = admin.list_offsets([(topic.name, topic.partitions[0])])
    if log_ends.failed:
        return Check(name, FAILED, _first_failure(log_ends))
    count = f"{len(topics):,} topic{'' if len(topics) == 1 else 's'}"
    return Check(name, OK, f"{count} on which this user has DESCRIBE; the log end offset of {topic.name} was read")


def _first_failure(responses: Results[Any, Any]) -> str:
    """Return the message of the first failure; there is one."""
    return next(iter(responses.failed.values())).message
