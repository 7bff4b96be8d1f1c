"""What the assignments of a group's members say: which partitions have owners, and what stays unknown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from kafka_groups.groups.notes import Note, NoteKind, note_each
from kafka_groups.kinds import has_start_offsets, kind_of
from kafka_groups.model import GroupDescription, Member, TopicPartition
from kafka_groups.name_lists import first_names

# The number of groups with a note of their own, and of the names in a note.
_MAX_NOTES: Final = 20
_MAX_NAMES: Final = 3
_WITHOUT_ASSIGNMENTS: Final = frozenset({"PreparingRebalance", "CompletingRebalance"})


def assigned_partitions(member: Member) -> Iterator[TopicPartition]:
    """Yield the partitions that are assigned to a member; none if its assignment is unreadable."""
    for assigned in member.assignment or ():
        for partition in assigned.partitions:
            yield TopicPartition(assigned.topic, partition)


def unreadable_members(group: GroupDescription) -> list[Member]:
    """Return the members whose assignments are unreadable."""
    return [member for member in group.members if member.assignment is None]


def has_unreadable_assignments(group: GroupDescription) -> bool:
    """Return whether a member has an assignment that is unreadable, or that has a topic without a name."""
    return bool(group.unnamed_topics) or any(member.assignment is None for member in group.members)


def has_unknown_assignments(group: GroupDescription) -> bool:
    """Return whether a member may own partitions that no assignment shows, so that nobody can rule out a topic.

    Brokers return no assignments of a classic group while it rebalances, and none of a group that they do not describe.
    """
    if not group.is_described or has_unreadable_assignments(group):
        return True
    return group.state in _WITHOUT_ASSIGNMENTS and not all(member.assignment for member in group.members)


def note_unreadable(groups: Iterable[GroupDescription]) -> list[Note]:
    """Return a note for each group with unreadable assignments; beyond a limit one note counts the groups."""
    texts = {
        group.group: _describe_unreadable(group.group, members)
        for group in groups
        if (members := unreadable_members(group))
    }
    others = "The assignments of members of {:,} more groups cannot be read."
    return _note_groups(NoteKind.UNREADABLE_ASSIGNMENT, texts, others)


def _describe_unreadable(group: str, members: Collection[Member]) -> str:
    names = first_names((member.member_id for member in members), _MAX_NAMES)
    count = len(members)
    subject = f"assignment of {names}" if count == 1 else f"assignments of {count:,} members ({names})"
    return f"Group '{group}': the {subject} cannot be read; the partitions are unknown."


def note_unreadable_workers(groups: Iterable[GroupDescription]) -> list[Note]:
    """Return a note for each Connect group with workers whose work is unknown; beyond a limit one counts the groups.

    While a group rebalances, brokers have the bytes of no worker, which needs no note of this kind.
    """
    texts = {
        group.group: _describe_workers(group.group, workers)
        for group in groups
        if kind_of(group).has_workers
        and group.state not in _WITHOUT_ASSIGNMENTS
        and (workers := [member for member in group.members if _is_unreadable_worker(member)])
    }
    others = "What workers of {:,} more groups run is unknown."
    return _note_groups(NoteKind.UNREADABLE_WORKER, texts, others)


def _is_unreadable_worker(member: Member) -> bool:
    return member.worker is None or member.worker.connectors is None


def _describe_workers(group: str, workers: Collection[Member]) -> str:
    names = first_names((member.member_id for member in workers), _MAX_NAMES)
    if len(workers) == 1:
        return f"Group '{group}': what worker {names} runs is unknown: its metadata or its assignment cannot be read."
    subject = f"what {len(workers):,} workers ({names}) run is unknown"
    return f"Group '{group}': {subject}: their metadata or their assignments cannot be read."


def note_shared(groups: Iterable[GroupDescription]) -> list[Note]:
    """Return a note for each group in which members share partitions; beyond a limit one note counts the groups.

    The members of a share group share partitions by design, which needs no note.
    """
    texts = {
        group.group: _describe_shared(group.group, shared)
        for group in groups
        if not has_start_offsets(group.type) and (shared := _shared_partitions(group))
    }
    others = "In {:,} more groups partitions are assigned to several members."
    return _note_groups(NoteKind.SHARED_PARTITIONS, texts, others)


def _describe_shared(group: str, shared: Collection[TopicPartition]) -> str:
    names = first_names((f"{topic}-{partition}" for topic, partition in shared), _MAX_NAMES)
    subject = f"partition {names} is" if len(shared) == 1 else f"{len(shared):,} partitions ({names}) are"
    return f"Group '{group}': {subject} assigned to several members."


def _shared_partitions(group: GroupDescription) -> list[TopicPartition]:
    owners = Counter(key for member in group.members for key in assigned_partitions(member))
    return sorted(key for key, count in owners.items() if count > 1)


def _note_groups(kind: NoteKind, texts: Mapping[str, str], others: str) -> list[Note]:
    """Return a note for each group with a text; beyond a limit, one note with `others` formatted by the number."""
    notes = [Note(kind, group, text) for group, text in texts.items()]
    return note_each(notes, most=_MAX_NOTES, others=lambda rest: Note(kind, None, others.format(rest)))
