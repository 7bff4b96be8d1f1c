"""Describe groups: state and members, committed offsets and log offsets, in as few requests as possible."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, Step, TimePlan
from kafka_groups.errors import AdminError, MissingFromResponseError, UnsupportedVersionError
from kafka_groups.groups import steps
from kafka_groups.groups.assignments import note_unreadable, note_unreadable_workers
from kafka_groups.groups.log_offsets import Details, LogOffsets, by_topic, read_log_offsets, without_absent_tasks
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.groups.selection import Selection
from kafka_groups.groups.topic_scope import TopicScope
from kafka_groups.groups.undescribed_groups import find_undescribed_groups, read_dead_groups
from kafka_groups.kinds import Offsets, Operation, kind_of, supports
from kafka_groups.model import (
    Broker,
    Failure,
    GroupDescription,
    GroupListing,
    GroupOffsets,
    Results,
)
from kafka_groups.name_lists import first_names
from kafka_groups.protocol.errors import (
    GROUP_ID_NOT_FOUND,
    INCONSISTENT_GROUP_PROTOCOL,
    UNKNOWN_SERVER_ERROR,
    UNKNOWN_TOPIC_ID,
    broker_error,
)

# Why a kind of group does not have an operation.
_REFUSALS: Final = {Operation.LIST_OFFSETS: "have no offsets", Operation.DESCRIBE_TOPOLOGY: "have no topology"}
# The number of topic ids in a note.
_MAX_IDS: Final = 5


class DescribedGroups(NamedTuple):
    """Groups and what their rows are made of. Offsets stay packed until `offset_rows` returns the rows of a group.

    `partitions` has all partitions of topics, by topic, if the caller wanted whole topics. If the caller named topics,
    `scope` has them; offsets are those of these topics, and rows those of the named partitions.
    """

    descriptions: Mapping[str, GroupDescription]
    offsets: Mapping[str, GroupOffsets]
    log_end_offsets: Mapping[str, Mapping[int, int]]
    log_start_offsets: Mapping[str, Mapping[int, int]]
    failures: tuple[Failure, ...]
    notes: tuple[Note, ...]
    partitions: Mapping[str, frozenset[int]] = MappingProxyType({})
    scope: TopicScope | None = None


def description_steps(details: Details) -> tuple[Step, ...]:
    """Return the steps of `describe_groups`."""
    has_logs = details.offsets and details.log_offsets
    return (
        steps.GROUPS,
        steps.ABSENT_GROUPS,
        *((steps.LOG_ENDS,) if has_logs else ()),
        *((steps.PARTITIONS, steps.OTHER_LOG_ENDS) if has_logs and details.whole_topics else ()),
        *((steps.LOG_STARTS,) if has_logs and (details.log_start_offsets or details.streams_log_starts) else ()),
    )


def describe_groups(
    admin: Admin,
    selection: Selection,
    *,
    details: Details,
    operation: Operation = Operation.DESCRIBE,
    plan: TimePlan | None = None,
) -> DescribedGroups:
    """Describe the selected groups: descriptions and offsets in one round, then log offsets.

    A group of a kind without the operation fails; a selection has one only if the user named it. The plan has the
    `description_steps` of these details.
    """
    plan = plan or TimePlan()
    read = _read_groups(admin, selection, details, plan)
    refused = {
        name: _refuse(group, operation) for name, group in read.groups.items() if not read.allows(name, operation)
    }
    groups = {name: group for name, group in read.groups.items() if name not in refused}
    with_offsets = [name for name in groups if read.allows(name, Operation.LIST_OFFSETS)]
    offsets = {name: read.offsets.succeeded[name] for name in with_offsets if name in read.offsets.succeeded}
    unread = _unread_offsets(read, with_offsets)
    if details.scope is not None:
        offsets = {name: details.scope.narrow(found) for name, found in offsets.items()}
    failures, notes = selection.without_deleted({**read.failed, **refused}, unread)
    failures += [failure for read_offsets in offsets.values() for failure in read_offsets.failed.values()]
    if details.topology:
        failures += _missing_topologies(groups.values())
    more_failures, more_notes = _unknown_assignments(groups.values())
    logs = LogOffsets()
    if details.offsets and details.log_offsets:
        logs = read_log_offsets(admin, groups, offsets, details, plan)
        groups = without_absent_tasks(groups, logs)
    # A group whose offsets are unknown has no row in a view of offsets alone.
    without_rows = {*with_offsets} - {*offsets} if details.offsets_only else set()
    return DescribedGroups(
        descriptions={name: group for name, group in groups.items() if name not in without_rows},
        offsets=offsets,
        log_end_offsets=by_topic(logs.ends),
        log_start_offsets=by_topic(logs.starts),
        failures=(*selection.failures, *failures, *more_failures, *logs.failures),
        notes=(*selection.notes(), *notes, *more_notes),
        partitions=logs.partitions,
        scope=details.scope,
    )


def _unread_offsets(read: _GroupReading, with_offsets: Iterable[str]) -> dict[str, Failure]:
    """Return the failures of the offsets of groups, without those that only repeat the failure of the description."""
    failed = read.offsets.failed
    return {
        group: failed[group] for group in with_offsets if group in failed and failed[group] != read.failed.get(group)
    }


def _unknown_assignments(groups: Collection[GroupDescription]) -> tuple[list[Failure], list[Note]]:
    """Return failures and notes on assignments that are not known completely: unnamed topics, unreadable bytes."""
    failures, notes = _unnamed_topics(groups)
    unreadable = [group for group in groups if any(member.assignment is None for member in group.members)]
    of_workers = [group for group in groups if kind_of(group).has_workers]
    notes += note_unreadable(unreadable) if unreadable else []
    notes += note_unreadable_workers(of_workers) if of_workers else []
    return failures, notes


def _missing_topologies(groups: Iterable[GroupDescription]) -> list[Failure]:
    """Return the failure of each group whose nodes were requested, and that the response does not contain."""
    return [
        Failure.of(
            _reason_of_missing_topology(group), group=group.group, broker=group.coordinator and group.coordinator.id
        )
        for group in groups
        if group.topology is None or group.topology.nodes is None
    ]


def _reason_of_missing_topology(group: GroupDescription) -> AdminError:
    if group.topology is None:
        return MissingFromResponseError("the group has no topology: none of its members has sent one")
    match group.topology.description:
        case "unsupported":
            return UnsupportedVersionError(
                "the broker has no descriptions of topologies; this needs Kafka 4.4 or newer"
            )
        case "error":
            return broker_error(UNKNOWN_SERVER_ERROR, "the broker failed to read the topology; see the broker's log")
        case _:
            return MissingFromResponseError(
                "the broker has not stored the topology; brokers need "
                "group.streams.topology.description.plugin.class, and clients topology.description.push.enabled"
            )


def _refuse(group: GroupDescription, operation: Operation) -> Failure:
    """Return the failure of a group of a kind that does not have the operation."""
    text = f"{kind_of(group).noun}s {_REFUSALS.get(operation, 'cannot be described')}"
    return Failure.of(broker_error(INCONSISTENT_GROUP_PROTOCOL, text), group=group.group)


class _GroupReading(NamedTuple):
    """The groups by id, the failures of the others, and all commits. `undescribed` are groups whose members failed."""

    groups: Mapping[str, GroupDescription]
    failed: Mapping[str, Failure]
    undescribed: Mapping[str, GroupDescription]
    offsets: Results[str, GroupOffsets]

    def allows(self, group: str, operation: Operation) -> bool:
        """Return whether the group has the operation; its kind may be unknown if its description failed."""
        return group in self.undescribed or supports(self.groups[group], operation)


def _read_groups(admin: Admin, selection: Selection, details: Details, plan: TimePlan) -> _GroupReading:
    """Read descriptions and committed offsets in one round, and again what is described as absent."""
    listed = _from_listings(selection, admin.brokers(timeout=plan.deadline), details)
    described = [group for group in selection.groups if group not in listed]
    if not details.offsets:
        descriptions = admin.describe_groups(described, topology=details.topology, timeout=plan.until(steps.GROUPS))
        offsets: Results[str, GroupOffsets] = Results()
    else:
        descriptions, offsets = admin.describe_with_offsets(
            described,
            dict.fromkeys(_with_offsets(selection)),
            topology=details.topology,
            timeout=plan.until(steps.GROUPS),
        )
    undescribed: Mapping[str, GroupDescription] = {}
    # A group without a description has no topology to show.
    if descriptions.failed and not details.topology:
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


def _with_offsets(selection: Selection) -> list[str]:
    """Return the selected groups that may have offsets: those that were not listed, and those of such a kind."""
    listings = selection.listings
    return [
        group
        for group in selection.groups
        if group not in listings or listings[group].type is None or kind_of(listings[group]).offsets is not Offsets.NONE
    ]


def _has_epochs(listing: GroupListing) -> bool:
    """Return whether a group may have epochs, which its listing lacks. Brokers before 3.8 return no type."""
    return listing.type is None or kind_of(listing).has_epochs
