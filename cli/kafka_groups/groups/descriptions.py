"""Describe groups: state and members, committed offsets and log offsets, in as few requests as possible."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, IsolationLevel, OffsetSpec, Step, TimePlan
from kafka_groups.groups import steps
from kafka_groups.groups.assignments import note_unreadable
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.groups.selection import Selection
from kafka_groups.groups.undescribed_groups import find_undescribed_groups, read_dead_groups
from kafka_groups.kinds import Operation, kind_of, supports
from kafka_groups.model import (
    Broker,
    Failure,
    GroupDescription,
    GroupListing,
    GroupOffsets,
    Results,
    TopicPartition,
)
from kafka_groups.name_lists import first_names
from kafka_groups.protocol.errors import (
    GROUP_ID_NOT_FOUND,
    UNKNOWN_TOPIC_ID,
)

# A poll sees a partition that was added to a topic this late at most.
_PARTITIONS_MAX_AGE_S: Final = 10.0
# The number of topic ids in a note.
_MAX_IDS: Final = 5


class Details(NamedTuple):
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


class DescribedGroups(NamedTuple):
    """Groups and what their rows are made of. Offsets stay packed until `offset_rows` returns the rows of a group.

    `partitions` has all partitions of topics, by topic, if the caller wanted whole topics.
    """

    descriptions: Mapping[str, GroupDescription]
    offsets: Mapping[str, GroupOffsets]
    log_end_offsets: Mapping[str, Mapping[int, int]]
    log_start_offsets: Mapping[str, Mapping[int, int]]
    failures: tuple[Failure, ...]
    notes: tuple[Note, ...]
    partitions: Mapping[str, frozenset[int]] = MappingProxyType({})


def description_steps(details: Details) -> tuple[Step, ...]:
    """Return the steps of `describe_groups`."""
    has_logs = details.offsets and details.log_offsets
    return (
        steps.GROUPS,
        steps.ABSENT_GROUPS,
        *((steps.LOG_ENDS,) if has_logs else ()),
        *((steps.PARTITIONS, steps.OTHER_LOG_ENDS) if has_logs and details.whole_topics else ()),
        *((steps.LOG_STARTS,) if has_logs and details.log_start_offsets else ()),
    )


def describe_groups(
    admin: Admin, selection: Selection, *, details: Details, plan: TimePlan | None = None
) -> DescribedGroups:
    """Describe the selected groups: descriptions and committed offsets in one round, then log offsets.

    The plan has the `description_steps` of these details.
    """
    plan = plan or TimePlan()
    read = _read_groups(admin, selection, details, plan)
    groups = read.groups
    offsets = read.offsets
    # A group of unknown type was in both requests; one that has no committed offsets may have failed in the second.
    committing = dict.fromkeys(
        name for name, group in groups.items() if name in read.undescribed or supports(group, Operation.LIST_OFFSETS)
    )
    unread = {
        group: offsets.failed[group]
        for group in committing
        if group in offsets.failed and offsets.failed[group] != read.failed.get(group)
    }
    offsets_by_group = {group: offsets.succeeded[group] for group in committing if group in offsets.succeeded}
    failures, notes = selection.without_deleted(read.failed, unread)
    failures += [failure for group in offsets_by_group.values() for failure in group.failed.values()]
    unnamed, unnamed_notes = _unnamed_topics(groups.values())
    unreadable = [group for group in groups.values() if any(member.assignment is None for member in group.members)]
    unreadable_notes = note_unreadable(unreadable) if unreadable else []
    has_logs = details.offsets and details.log_offsets
    partitions = _partitions(groups.values(), offsets_by_group.values()) if has_logs else []
    logs = _log_offsets(admin, partitions, details, plan)
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


class _GroupReading(NamedTuple):
    """The groups by id, the failures of the others, and all commits. `undescribed` are groups whose members failed."""

    groups: Mapping[str, GroupDescription]
    failed: Mapping[str, Failure]
    undescribed: Mapping[str, GroupDescription]
    offsets: Results[str, GroupOffsets]


def _read_groups(admin: Admin, selection: Selection, details: Details, plan: TimePlan) -> _GroupReading:
    """Read descriptions and committed offsets in one round, and again what is described as absent."""
    listed = _from_listings(selection, admin.brokers(timeout=plan.deadline), details)
    described = [group for group in selection.groups if group not in listed]
    if not details.offsets:
        descriptions = admin.describe_consumer_groups(described, timeout=plan.until(steps.GROUPS))
        offsets: Results[str, GroupOffsets] = Results()
    else:
        descriptions, offsets = admin.describe_with_offsets(
            described, dict.fromkeys(selection.groups), timeout=plan.until(steps.GROUPS)
        )
    undescribed: Mapping[str, GroupDescription] = {}
    if descriptions.failed:
        shows_failed = details.undescribed or details.offsets_only
        undescribed = find_undescribed_groups(selection, descriptions, offsets, shows_failed=shows_failed)
    absent = [group for group, failure in descriptions.failed.items() if failure.code == GROUP_ID_NOT_FOUND]
    commits = offsets if details.offsets else None
    limit = plan.until(steps.ABSENT_GROUPS) if absent else None
    dead = read_dead_groups(admin, selection, absent, commits, deadline=limit) if absent else {}
    failed = {group: why for group, why in descriptions.failed.items() if group not in dead}
    groups = _merge(selection, {**listed, **dead}, descriptions, undescribed)
    return _GroupReading(groups, failed, undescribed, offsets)


def _unnamed_topics(groups: Iterable[GroupDescription]) -> tuple[list[Failure], list[Note]]:
    """Return the failed lookups of topics in assignments, and a note on the ids that no topic has."""
    unnamed = [item for group in groups for item in group.unnamed_topics.items()]
    absent = sorted({topic_id for topic_id, failure in unnamed if failure.code == UNKNOWN_TOPIC_ID})
    failures = [failure for _, failure in unnamed if failure.code != UNKNOWN_TOPIC_ID]
    if not absent:
        return failures, []
    shown = first_names(absent, _MAX_IDS)
    text = f"Assigned partitions were skipped, because no topic has their topic id ({shown})."
    return failures, [Note(NoteKind.UNKNOWN_TOPIC_ID, None, text)]


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


def _has_epochs(listing: GroupListing) -> bool:
    """Return whether a group may have epochs, which its listing lacks. Brokers before 3.8 return no type."""
    return listing.type is None or kind_of(listing).has_epochs


class _LogOffsets(NamedTuple):
    """Log end offsets, log start offsets, what failed, and all partitions of topics if they were wanted."""

    ends: Mapping[TopicPartition, int | None]
    starts: Mapping[TopicPartition, int | None]
    failures: tuple[Failure, ...]
    partitions: Mapping[str, frozenset[int]]


def _log_offsets(admin: Admin, partitions: list[TopicPartition], details: Details, plan: TimePlan) -> _LogOffsets:
    """Return the log offsets of partitions, and of all others of their topics if the caller wants whole topics."""
    if not partitions:
        return _LogOffsets({}, {}, (), {})
    ends = admin.list_offsets(partitions, isolation_level=details.isolation_level, timeout=plan.until(steps.LOG_ENDS))
    found = _LogOffsets(ends.succeeded, {}, (*ends.failed.values(),), {})
    if details.whole_topics:
        found = _with_other_partitions(admin, found, partitions, details, plan)
    if not details.log_start_offsets:
        return found
    # A partition whose end is unknown would only fail a second time.
    starts = admin.list_offsets([*found.ends], spec=OffsetSpec.earliest(), timeout=plan.until(steps.LOG_STARTS))
    return found._replace(starts=starts.succeeded, failures=(*found.failures, *starts.failed.values()))


def _with_other_partitions(
    admin: Admin, found: _LogOffsets, requested: Iterable[TopicPartition], details: Details, plan: TimePlan
) -> _LogOffsets:
    """Add the other partitions of the topics with a log end. The lookup of their leaders has just read most topics."""
    names = dict.fromkeys(key.topic for key in found.ends)
    listed = admin.list_partitions(names, max_age_s=_PARTITIONS_MAX_AGE_S, timeout=plan.until(steps.PARTITIONS))
    keys = (TopicPartition(topic, each) for topic, numbers in listed.succeeded.items() for each in numbers)
    known = {*requested}
    others = [key for key in keys if key not in known]
    ends: Results[TopicPartition, int | None] = Results()
    if others:
        ends = admin.list_offsets(
            others, isolation_level=details.isolation_level, timeout=plan.until(steps.OTHER_LOG_ENDS)
        )
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
