"""The current state of groups that are to be changed: members, commits, and what forbids a change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, Timeout
from kafka_groups.errors import ChangeRefusedError
from kafka_groups.groups.kinds import Operation, kind_of, supports
from kafka_groups.model import (
    CommittedOffset,
    Failure,
    GroupDescription,
    GroupListing,
    GroupOffsets,
    Results,
    TopicPartition,
)
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND, INVALID_GROUP_ID, NON_EMPTY_GROUP, broker_error

# The states of a group without members (GroupState.java).
_INACTIVE: Final = frozenset({"Empty", "Dead"})
_MAX_HOSTS: Final = 5


class CurrentGroup(NamedTuple):
    """A group and its commits. `description` is None for a group that has commits only, or does not exist yet."""

    group: str
    description: GroupDescription | None
    offsets: Mapping[TopicPartition, CommittedOffset | None]
    unreadable: Mapping[TopicPartition, Failure]

    @property
    def is_active(self) -> bool:
        """Return whether the group has members, so that brokers refuse changes of its offsets."""
        return self.description is not None and self.description.state not in _INACTIVE


def read_groups(admin: Admin, groups: Iterable[str], *, timeout: Timeout | None = None) -> Results[str, CurrentGroup]:
    """Return the groups with their commits, in one round of requests.

    A group that the brokers call Dead, or do not describe, but that has commits, succeeds without a description: some
    managed services describe every group so. If brokers list it with another type (streams), or with members, it fails.
    An absent group fails with GROUP_ID_NOT_FOUND.
    """
    names = list(dict.fromkeys(groups))
    descriptions, offsets = admin.describe_with_offsets(names, names, timeout=timeout)
    failures = {group: _as_absent(why) for group, why in descriptions.failed.items()}
    found: dict[str, CurrentGroup] = {}
    failed: dict[str, Failure] = {}
    for group in names:
        commits, why = offsets.succeeded.get(group), failures.get(group)
        if commits is None:
            failed[group] = why or offsets.failed[group]
        elif why is not None and not (why.code == GROUP_ID_NOT_FOUND and commits.has_commits()):
            failed[group] = why
        else:
            found[group] = _current(group, descriptions.succeeded.get(group), commits)
    undescribed = [group for group, current in found.items() if current.description is None]
    listed = admin.list_groups(timeout=timeout).succeeded if undescribed else {}
    for group in undescribed:
        if (listing := listed.get(group)) is not None and (why := _refuse_listing(listing)) is not None:
            del found[group]
            failed[group] = why
    return Results(succeeded=found, failed=failed)


def _as_absent(failure: Failure) -> Failure:
    """Return the failure of an absent group: brokers describe the empty id, which they accept, as INVALID_GROUP_ID."""
    if failure.group == "" and failure.code == INVALID_GROUP_ID:
        return Failure.of(broker_error(GROUP_ID_NOT_FOUND), group="")
    return failure


def _refuse_listing(listing: GroupListing) -> Failure | None:
    if not supports(listing, Operation.LIST_OFFSETS):
        return refuse(listing.group, f"it is not a consumer group ({kind_of(listing)})")
    if listing.state is not None and listing.state not in _INACTIVE:
        return Failure.of(broker_error(NON_EMPTY_GROUP, f"it is {listing.state}"), group=listing.group)
    return None


def refuse_active(current: CurrentGroup) -> Failure | None:
    """Return the failure of a group that has members: its state and their hosts; None if it has none."""
    if not current.is_active:
        return None
    assert current.description is not None
    members = current.description.members
    hosts = list(dict.fromkeys(member.host.removeprefix("/") for member in members))
    shown = ", ".join(hosts[:_MAX_HOSTS]) + (", …" if len(hosts) > _MAX_HOSTS else "")
    count = f"{len(members)} member{'' if len(members) == 1 else 's'}"
    where = f"{count} on {shown}" if hosts else count
    text = f"it is {current.description.state} with {where}; stop its consumers first"
    return Failure.of(broker_error(NON_EMPTY_GROUP, text), group=current.group)


def refuse(group: str, message: str, key: TopicPartition | None = None) -> Failure:
    """Return the failure of a change that this tool does not make."""
    topic, partition = key if key is not None else (None, None)
    return Failure.of(ChangeRefusedError(message), group=group, topic=topic, partition=partition)


def _current(group: str, description: GroupDescription | None, offsets: GroupOffsets) -> CurrentGroup:
    return CurrentGroup(group, description, dict(offsets.rows()), offsets.failed)
