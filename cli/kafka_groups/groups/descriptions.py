"""Describe groups: state and members, committed offsets and log offsets, in as few requests as possible."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, Deadline, IsolationLevel, OffsetSpec
from kafka_groups.groups.assignments import note_unreadable
from kafka_groups.groups.dead_groups import read_dead_groups
from kafka_groups.groups.selection import NOT_LAST, Selection
from kafka_groups.kinds import KINDS, Operation, kind_of, supports
from kafka_groups.model import (
    Broker,
    Failure,
    GroupDescription,
    GroupListing,
    GroupOffsets,
    Results,
    TopicPartition,
)
from kafka_groups.protocol.errors import (
    GROUP_AUTHORIZATION_FAILED,
    GROUP_ID_NOT_FOUND,
    INCONSISTENT_GROUP_PROTOCOL,
    TOPIC_AUTHORIZATION_FAILED,
    UNKNOWN_TOPIC_ID,
)

# A group that fails with one of these is absent, of another kind, or denied. Any other error is about its description.
_NOT_VISIBLE: Final = frozenset({GROUP_ID_NOT_FOUND, INCONSISTENT_GROUP_PROTOCOL, GROUP_AUTHORIZATION_FAILED})
# A poll sees a partition that was added to a topic this late at most.
_PARTITIONS_MAX_AGE_S: Final = 10.0
# The number of topic ids in a note.
_MAX_IDS: Final = 5


@dataclass(frozen=True, kw_only=True)
class Details:
    """What a caller wants to know of the groups besides their states.

    `offsets`: committed offsets, with `log_offsets` log end offsets, and with `log_start_offsets` log start offsets,
    too. `whole_topics`: also the partitions of these topics that have neither an owner nor a commit, such as those that
    were added to a topic. `members`: members and epochs even of an empty group, which an `offsets` view does not show.
    `undescribed`: a group whose description failed is there without members, if it has commits. `offsets_only` implies
    it; a group whose committed offsets are unknown then has nothing to show, and is dropped. `isolation_level` is that
    of the log end offsets.
    """

    offsets: bool
    log_offsets: bool = True
    log_start_offsets: bool = False
    whole_topics: bool = False
    members: bool = True
    undescribed: bool = False
    offsets_only: bool = False
    isolation_level: IsolationLevel = IsolationLevel.READ_UNCOMMITTED


@dataclass(frozen=True, kw_only=True)
class DescribedGroups:
    """Groups and what their rows are made of. Offsets stay packed until `offset_rows` returns the rows of a group.

    `partitions` has all partitions of topics, by topic, if the caller wanted whole topics.
    """

    descriptions: Mapping[str, GroupDescription]
    offsets: Mapping[str, GroupOffsets]
    log_end_offsets: Mapping[str, Mapping[int, int]]
    log_start_offsets: Mapping[str, Mapping[int, int]]
    failures: tuple[Failure, ...]
    notes: tuple[str, ...]
    partitions: Mapping[str, frozenset[int]] = field(default_factory=dict)


def describe_groups(
    admin: Admin, selection: Selection, *, details: Details, deadline: Deadline | None = None
) -> DescribedGroups:
    """Describe the selected groups: descriptions and committed offsets in one round, then log offsets."""
    listed = _from_listings(selection, admin.brokers(timeout=deadline), details)
    described = [group for group in selection.groups if group not in listed]
    if not details.offsets:
        descriptions = admin.describe_consumer_groups(described, timeout=deadline)
        offsets: Results[str, GroupOffsets] = Results()
    else:
        share = deadline and deadline.share(NOT_LAST)
        descriptions, offsets = admin.describe_with_offsets(described, dict.fromkeys(selection.groups), timeout=share)
    undescribed = _undescribed(selection, descriptions, offsets, details)
    absent = [group for group, failure in descriptions.failed.items() if failure.code == GROUP_ID_NOT_FOUND]
    commits = offsets if details.offsets else None
    dead = read_dead_groups(admin, selection, absent, commits, deadline=deadline) if absent else {}
    failed = {group: why for group, why in descriptions.failed.items() if group not in dead}
    groups = _merge(selection, {**listed, **dead}, descriptions, undescribed)
    # A group of unknown type was in both requests; one that has no committed offsets may have failed in the second.
    committing = dict.fromkeys(
        name for name, group in groups.items() if name in undescribed or supports(group, Operation.LIST_OFFSETS)
    )
    unread = {
        group: offsets.failed[group]
        for group in committing
        if group in offsets.failed and offsets.failed[group] != failed.get(group)
    }
    offsets_by_group = {group: offsets.succeeded[group] for group in committing if group in offsets.succeeded}
    failures, notes = without_deleted(selection, failed, unread)
    failures += [failure for group in offsets_by_group.values() for failure in group.failed.values()]
    unnamed, unnamed_notes = _unnamed_topics(groups.values())
    unreadable = [group for group in groups.values() if any(member.assignment is None for member in group.members)]
    unreadable_notes = note_unreadable(unreadable) if unreadable else []
    has_logs = details.offsets and details.log_offsets
    partitions = _partitions(groups.values(), offsets_by_group.values()) if has_logs else []
    logs = _log_offsets(admin, partitions, details, deadline)
    return DescribedGroups(
        descriptions={
            name: group
            for name, group in groups.items()
            if name in offsets_by_group or name not in committing or not details.offsets_only
        },
        offsets=offsets_by_group,
        log_end_offsets=_by_topic(logs.ends),
        log_start_offsets=_by_topic(logs.starts),
        failures=(*selection.failures, *failures, *unnamed, *logs.failures),
        notes=(*selection.notes(), *notes, *unnamed_notes, *unreadable_notes),
        partitions=logs.partitions,
    )


def without_deleted(selection: Selection, *failed: Mapping[str, Failure]) -> tuple[list[Failure], list[str]]:
    """Return the failures, and a note instead of those of groups that nobody named and that were just deleted."""
    failures = [(group, failure) for each in failed for group, failure in each.items()]
    deleted = {
        group for group, failure in failures if group not in selection.named and failure.code == GROUP_ID_NOT_FOUND
    }
    notes = [f"{len(deleted):,} of the listed groups were deleted before they were read."] if deleted else []
    return [failure for group, failure in failures if group not in deleted], notes


def _unnamed_topics(groups: Iterable[GroupDescription]) -> tuple[list[Failure], list[str]]:
    """Return the failed lookups of topics in assignments, and a note on the ids that no topic has."""
    unnamed = [item for group in groups for item in group.unnamed_topics.items()]
    absent = sorted({topic_id for topic_id, failure in unnamed if failure.code == UNKNOWN_TOPIC_ID})
    failures = [failure for _, failure in unnamed if failure.code != UNKNOWN_TOPIC_ID]
    if not absent:
        return failures, []
    shown = ", ".join(absent[:_MAX_IDS]) + (", …" if len(absent) > _MAX_IDS else "")
    return failures, [f"Assigned partitions were skipped, because no topic has their topic id ({shown})."]


def _from_listings(
    selection: Selection, brokers: Mapping[int, Broker], details: Details
) -> dict[str, GroupDescription]:
    """Return descriptions of empty groups, if their listings already contain all that the caller wants."""
    return {
        group: GroupDescription(
            group=listing.group,
            type=listing.type,
            state=listing.state,
            protocol_type=listing.protocol_type,
            coordinator=brokers.get(listing.coordinator),
        )
        for group, listing in selection.listings.items()
        if listing.coordinator is not None
        and listing.state == "Empty"
        and not (details.members and _has_epochs(listing))
    }


def _merge(
    selection: Selection,
    listed: Mapping[str, GroupDescription],
    descriptions: Results[str, GroupDescription],
    undescribed: Mapping[str, GroupDescription],
) -> dict[str, GroupDescription]:
    everything = {**listed, **descriptions.succeeded, **undescribed}
    return {group: everything[group] for group in selection.groups if group in everything}


def _undescribed(
    selection: Selection,
    descriptions: Results[str, GroupDescription],
    offsets: Results[str, GroupOffsets],
    details: Details,
) -> dict[str, GroupDescription]:
    """Return the groups whose descriptions failed although they have commits, which the failure does not hide."""
    return {
        group: _without_members(group, selection.listings.get(group), failure)
        for group, failure in descriptions.failed.items()
        if failure.code not in _NOT_VISIBLE
        and (details.undescribed or details.offsets_only or failure.code == TOPIC_AUTHORIZATION_FAILED)
        and (visible := offsets.succeeded.get(group)) is not None
        and visible.has_commits()
    }


def _without_members(group: str, listing: GroupListing | None, failure: Failure) -> GroupDescription:
    group_type, protocol_type = (listing.type, listing.protocol_type) if listing is not None else (None, None)
    if failure.code == TOPIC_AUTHORIZATION_FAILED:
        group_type, protocol_type = _type_without_rights_on_topics() or (group_type, protocol_type)
    return GroupDescription(
        group=group, type=group_type, state=None, protocol_type=protocol_type, coordinator=None, is_described=False
    )


def _has_epochs(listing: GroupListing) -> bool:
    """Return whether a group may have epochs, which its listing lacks. Brokers before 3.8 return no type."""
    return listing.type is None or kind_of(listing).has_epochs


def _type_without_rights_on_topics() -> tuple[str, str] | None:
    """Return the type and protocol type of the groups whose members one topic hides that may not be described.

    None if groups of several types are such ones.
    """
    types = {
        (kind.group_type, max(kind.protocol_types or ("",)))
        for kind in KINDS
        if kind.needs_rights_on_topics and kind.supports(Operation.DESCRIBE)
    }
    return types.pop() if len(types) == 1 else None


class _LogOffsets(NamedTuple):
    """Log end offsets, log start offsets, what failed, and all partitions of topics if they were wanted."""

    ends: Mapping[TopicPartition, int | None]
    starts: Mapping[TopicPartition, int | None]
    failures: tuple[Failure, ...]
    partitions: Mapping[str, frozenset[int]]


def _log_offsets(
    admin: Admin, partitions: list[TopicPartition], details: Details, deadline: Deadline | None
) -> _LogOffsets:
    """Return the log offsets of partitions, and of all others of their topics if the caller wants whole topics."""
    if not partitions:
        return _LogOffsets({}, {}, (), {})
    is_last = not (details.log_start_offsets or details.whole_topics)
    share = deadline if is_last else deadline and deadline.share(NOT_LAST)
    ends = admin.list_offsets(partitions, isolation_level=details.isolation_level, timeout=share)
    found = _LogOffsets(ends.succeeded, {}, (*ends.failed.values(),), {})
    if details.whole_topics:
        found = _with_other_partitions(admin, found, partitions, details, deadline)
    if not details.log_start_offsets:
        return found
    # A partition whose end is unknown would only fail a second time.
    starts = admin.list_offsets([*found.ends], spec=OffsetSpec.earliest(), timeout=deadline)
    return found._replace(starts=starts.succeeded, failures=(*found.failures, *starts.failed.values()))


def _with_other_partitions(
    admin: Admin, found: _LogOffsets, requested: Iterable[TopicPartition], details: Details, deadline: Deadline | None
) -> _LogOffsets:
    """Add the other partitions of the topics with a log end. The lookup of their leaders has just read most topics."""
    names = dict.fromkeys(key.topic for key in found.ends)
    share = deadline and deadline.share(NOT_LAST)
    listed = admin.list_partitions(names, max_age_s=_PARTITIONS_MAX_AGE_S, timeout=share)
    keys = (TopicPartition(topic, each) for topic, numbers in listed.succeeded.items() for each in numbers)
    known = {*requested}
    others = [key for key in keys if key not in known]
    ends: Results[TopicPartition, int | None] = Results()
    if others:
        share = deadline and deadline.share(NOT_LAST)
        ends = admin.list_offsets(others, isolation_level=details.isolation_level, timeout=share)
    return found._replace(
        ends={**found.ends, **ends.succeeded},
        failures=(*found.failures, *listed.failed.values(), *ends.failed.values()),
        partitions={topic: frozenset(numbers) for topic, numbers in listed.succeeded.items()},
    )


def _partitions(groups: Iterable[GroupDescription], offsets: Iterable[GroupOffsets]) -> list[TopicPartition]:
    topics: dict[str, set[int]] = {}
    for group_offsets in offsets:
        for topic, partitions in group_offsets.partitions():
            topics.setdefault(topic, set()).update(partitions)
    for group in groups:
        for member in group.members:
            for assigned in member.assignment or ():
                topics.setdefault(assigned.topic, set()).update(assigned.partitions)
    return [TopicPartition(topic, partition) for topic, found in topics.items() for partition in sorted(found)]


def _by_topic(offsets: Mapping[TopicPartition, int | None]) -> dict[str, dict[int, int]]:
    topics: dict[str, dict[int, int]] = {}
    for (topic, partition), offset in offsets.items():
        if offset is not None:
            topics.setdefault(topic, {})[partition] = offset
    return topics
