"""Other groups of the cluster, which show whether a group is behind alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, TimePlan
from kafka_groups.errors import AdminError, AuthenticationFailedError
from kafka_groups.groups import steps
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.groups.observation.logs import reason_of
from kafka_groups.kinds import kind_of
from kafka_groups.model import GroupListing, GroupOffsets, TopicPartition

# The number of other groups that are compared, and of their partitions.
MOST_GROUPS: Final = 200
MOST_PARTITIONS: Final = 10_000


class OtherGroups(NamedTuple):
    """The other groups to observe, with the ids of their coordinators, and a reason if they are unknown.

    `total` is the number of all that the cluster has.
    """

    coordinators: Mapping[str, int | None] = MappingProxyType({})
    total: int = 0
    unseen: str | None = None

    def notes(self) -> tuple[Note, ...]:
        """Return a note if only a sample is observed."""
        observed = len(self.coordinators)
        if observed == self.total:
            return ()
        text = f"{observed:,} of {self.total:,} other groups are compared, those of the same coordinators first."
        return (Note(NoteKind.OTHER_GROUPS_SAMPLED, None, text),)


def choose_others(admin: Admin, selected: Collection[str], plan: TimePlan) -> OtherGroups:
    """List the groups, and choose those to observe beside the selected ones: all, or a sample.

    Half of a sample has the coordinators of the selected groups. Only groups with committed offsets are chosen: start
    offsets of share groups say little about their progress.
    """
    try:
        listed = admin.list_groups(timeout=plan.until(steps.OTHER_LISTING))
    except AuthenticationFailedError:
        raise
    except AdminError as error:
        return OtherGroups(unseen=str(error))
    selected_ids = frozenset(selected)
    coordinators = {listed.succeeded[group].coordinator for group in selected_ids if group in listed.succeeded}
    candidates = [
        listing
        for group, listing in sorted(listed.succeeded.items())
        if group not in selected_ids and kind_of(listing).has_commits
    ]
    near = [listing for listing in candidates if listing.coordinator in coordinators]
    far = [listing for listing in candidates if listing.coordinator not in coordinators]
    chosen = [*_sample(near, MOST_GROUPS - min(len(far), MOST_GROUPS // 2))]
    chosen += _sample(far, MOST_GROUPS - len(chosen))
    reasons = [reason_of(failure) for failure in listed.failed.values()]
    return OtherGroups(
        {listing.group: listing.coordinator for listing in chosen},
        total=len(candidates),
        unseen=reasons[0] if reasons else None,
    )


def read_commits(admin: Admin, groups: Collection[str], plan: TimePlan) -> Mapping[str, GroupOffsets]:
    """Return the commits of other groups; one that fails is absent. Groups beyond the most partitions are skipped."""
    if not groups:
        return {}
    _, offsets = admin.describe_with_offsets((), dict.fromkeys(groups), timeout=plan.until(steps.OTHER_COMMITS))
    known: dict[str, GroupOffsets] = {}
    partitions = 0
    for group in groups:
        found = offsets.succeeded.get(group)
        if found is None or not len(found) or partitions + len(found) > MOST_PARTITIONS:
            continue
        partitions += len(found)
        known[group] = found
    return known


def partitions_of(offsets: Mapping[str, GroupOffsets]) -> list[TopicPartition]:
    """Return the partitions with commits of these groups, each once."""
    return [*dict.fromkeys(key for found in offsets.values() for key in found)]


def _sample(listings: Sequence[GroupListing], size: int) -> Sequence[GroupListing]:
    """Return at most `size` listings, spread evenly."""
    if len(listings) <= size:
        return listings
    return [listings[at * len(listings) // size] for at in range(size)]
