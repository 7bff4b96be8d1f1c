"""Groups that their brokers call Dead, although they have commits.

Kafka keeps no such group. Other brokers (Azure Event Hubs) describe every group without members so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from kafka_groups.admin.api import Admin, Deadline
from kafka_groups.groups.selection import Selection
from kafka_groups.kinds import Operation, supports
from kafka_groups.model import GroupDescription, GroupListing, GroupOffsets, Results

DEAD: Final = "Dead"


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
    commits = offsets or admin.list_consumer_group_offsets(dict.fromkeys(absent), timeout=deadline)
    present = [group for group in absent if group in commits.succeeded and commits.succeeded[group].has_commits()]
    if not present:
        return {}
    listings = _read_listings(admin, selection, present, deadline)
    brokers = admin.brokers(timeout=deadline)
    dead: dict[str, GroupDescription] = {}
    for group in present:
        # A broker that does not list the group has only classic ones, or hides those without members.
        listing = listings.get(group) or GroupListing(group, None, DEAD, "", None)
        if supports(listing, Operation.DESCRIBE):
            coordinator = None if listing.coordinator is None else brokers.get(listing.coordinator)
            dead[group] = GroupDescription(group, listing.type, DEAD, listing.protocol_type, coordinator)
    return dead


def _read_listings(
    admin: Admin, selection: Selection, groups: Iterable[str], deadline: Deadline | None
) -> Mapping[str, GroupListing]:
    if all(group in selection.listings for group in groups):
        return selection.listings
    return {**admin.list_groups(timeout=deadline).succeeded, **selection.listings}
