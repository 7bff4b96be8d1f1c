"""Groups that their brokers do not describe, although they have commits: a failure, or the state Dead.

Kafka keeps no dead group with commits. Other brokers (Azure Event Hubs) describe every group without members so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from kafka_groups.admin.api import Admin, Deadline
from kafka_groups.groups.selection import Selection
from kafka_groups.kinds import kind_of, kind_with_start_offsets
from kafka_groups.model import GroupDescription, GroupListing, GroupOffsets, Results
from kafka_groups.protocol.errors import (
    GROUP_AUTHORIZATION_FAILED,
    GROUP_ID_NOT_FOUND,
    INCONSISTENT_GROUP_PROTOCOL,
    TOPIC_AUTHORIZATION_FAILED,
)

DEAD: Final = "Dead"
# A group that fails with one of these is absent, of another kind, or denied. Any other error is about its description.
_NOT_VISIBLE: Final = frozenset({GROUP_ID_NOT_FOUND, INCONSISTENT_GROUP_PROTOCOL, GROUP_AUTHORIZATION_FAILED})


def read_dead_groups(
    admin: Admin,
    selection: Selection,
    absent: Sequence[str],
    offsets: Results[str, GroupOffsets] | None,
    *,
    deadline: Deadline | None,
) -> dict[str, GroupDescription]:
    """Return descriptions of those groups that have commits, although their brokers describe them as absent.

    The describe APIs return Dead, or GROUP_ID_NOT_FOUND, for an absent group and for one of another type. So only
    commits show that it exists, and only a listing shows its type. `offsets` are the commits that were read, None if
    none were: then those of the absent groups are requested. Groups are listed only if one was not listed before.
    """
    commits = offsets or admin.list_group_offsets(dict.fromkeys(absent), timeout=deadline)
    present = [group for group in absent if group in commits.succeeded and commits.succeeded[group].has_commits()]
    if not present:
        return {}
    listings = _read_listings(admin, selection, present, deadline)
    brokers = admin.brokers(timeout=deadline)
    dead: dict[str, GroupDescription] = {}
    for group in present:
        # A broker that does not list the group has only classic ones, or hides those without members.
        listing = listings.get(group) or GroupListing(group, None, DEAD, "", None)
        if kind_of(listing).is_common:
            coordinator = None if listing.coordinator is None else brokers.get(listing.coordinator)
            dead[group] = GroupDescription(group, listing.type, DEAD, listing.protocol_type, coordinator)
    return dead


def _read_listings(
    admin: Admin, selection: Selection, groups: Iterable[str], deadline: Deadline | None
) -> Mapping[str, GroupListing]:
    if all(group in selection.listings for group in groups):
        return selection.listings
    return {**admin.list_groups(timeout=deadline).succeeded, **selection.listings}


def find_undescribed_groups(
    selection: Selection,
    descriptions: Results[str, GroupDescription],
    offsets: Results[str, GroupOffsets],
    *,
    shows_failed: bool,
) -> dict[str, GroupDescription]:
    """Return the groups whose descriptions failed although they have commits, which the failure does not hide.

    Without `shows_failed` only those whose members one topic hides.
    """
    return {
        group: _without_members(group, selection.listings.get(group), visible)
        for group, failure in descriptions.failed.items()
        if failure.code not in _NOT_VISIBLE
        and (shows_failed or failure.code == TOPIC_AUTHORIZATION_FAILED)
        and (visible := offsets.succeeded.get(group)) is not None
        and visible.has_commits()
    }


def _without_members(group: str, listing: GroupListing | None, offsets: GroupOffsets) -> GroupDescription:
    """Return what is known of a group without its description. Only share groups have lags beside their offsets."""
    group_type, protocol_type = (None, None) if listing is None else (listing.type, listing.protocol_type)
    if offsets.lags is not None:
        kind = kind_with_start_offsets()
        group_type, protocol_type = kind.group_type, max(kind.protocol_types or ("",))
    return GroupDescription(
        group=group, type=group_type, state=None, protocol_type=protocol_type, coordinator=None, is_described=False
    )
