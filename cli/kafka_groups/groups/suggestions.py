"""Suggestions for groups and topics that a caller names and that do not exist.

They may cost one request of a command that has failed items anyway, within a short time. If that request fails, the
errors are those without a suggestion.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from kafka_groups.admin.api import Admin, Deadline
from kafka_groups.errors import AdminError
from kafka_groups.kinds import Operation, supports
from kafka_groups.model import Failure, GroupListing
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND, INVALID_TOPIC_EXCEPTION, UNKNOWN_TOPIC_OR_PARTITION
from kafka_groups.suggestions import nearest_names, suggest

# A suggestion is worth no longer wait, such as for a broker that does not respond.
_LONGEST_S: Final = 2.0
_ABSENT_TOPIC: Final = frozenset({UNKNOWN_TOPIC_OR_PARTITION, INVALID_TOPIC_EXCEPTION})


def nearest_groups(
    groups: Iterable[str], listings: Mapping[str, GroupListing], operation: Operation | None = None
) -> dict[str, str]:
    """Return the nearest listed id of each absent group, from the groups that support the operation."""
    # A group that is listed, but not supported, has no typing error.
    absent = [group for group in groups if group not in listings]
    if operation is None:
        return nearest_names(absent, listings)
    return nearest_names(absent, (name for name, listing in listings.items() if supports(listing, operation)))


def find_nearest_groups(
    admin: Admin,
    failures: Iterable[Failure],
    *,
    named: Collection[str],
    operation: Operation,
    deadline: Deadline | None = None,
) -> dict[str, str]:
    """Return the nearest id of each named group that does not exist, from one listing for all of them."""
    absent = [each.group for each in failures if each.code == GROUP_ID_NOT_FOUND and each.group in named]
    groups = [group for group in absent if group]
    limit = _limit(deadline or admin.deadline()) if groups else None
    if limit is None:
        return {}
    try:
        listings = admin.list_groups(timeout=limit).succeeded
    except AdminError:
        return {}
    return nearest_groups(groups, listings, operation)


def suggest_groups(
    admin: Admin,
    failures: Iterable[Failure],
    *,
    named: Collection[str],
    operation: Operation,
    deadline: Deadline | None = None,
) -> tuple[Failure, ...]:
    """Return the failures; that of a named group that does not exist suggests the nearest id."""
    found = tuple(failures)
    near = find_nearest_groups(admin, found, named=named, operation=operation, deadline=deadline)
    return with_nearest_groups(found, near)


def with_nearest_groups(failures: Iterable[Failure], near: Mapping[str, str]) -> tuple[Failure, ...]:
    """Return the failures; that of a group that does not exist suggests the nearest id."""
    return tuple(_with_hint(each, each.group, near) if each.code == GROUP_ID_NOT_FOUND else each for each in failures)


def suggest_topics(admin: Admin, failures: Iterable[Failure], deadline: Deadline | None) -> tuple[Failure, ...]:
    """Return the failures; that of a topic that does not exist suggests the nearest one, from one request for all."""
    found = tuple(failures)
    absent = [each.topic for each in found if each.topic and _is_absent_topic(each)]
    limit = _limit(deadline or admin.deadline()) if absent else None
    if limit is None:
        return found
    try:
        near = nearest_names(absent, admin.list_topics(timeout=limit).succeeded)
    except AdminError:
        return found
    return tuple(_with_hint(each, each.topic, near) if _is_absent_topic(each) else each for each in found)


def _is_absent_topic(failure: Failure) -> bool:
    return failure.code in _ABSENT_TOPIC and failure.partition is None


def _with_hint(failure: Failure, name: str | None, near: Mapping[str, str]) -> Failure:
    hint = suggest(name, near.get(name)) if name else ""
    # The text of a broker may end with a full stop.
    return failure._replace(message=failure.message.rstrip(".") + hint) if hint else failure


def _limit(deadline: Deadline) -> Deadline | None:
    """Return the deadline of a request for suggestions; None if no time is left."""
    left_s = deadline.at - deadline.clock()
    return Deadline.after(min(left_s, _LONGEST_S), deadline.clock) if left_s > 0 else None
