"""List the committed offsets of groups, of all partitions or of named ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kafka_groups.admin.api import Admin, Deadline, Step, TimePlan
from kafka_groups.groups import steps
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.groups.selection import Selection
from kafka_groups.groups.suggestions import suggest_groups, suggest_topics
from kafka_groups.kinds import Offsets, Operation, has_start_offsets, kind_of
from kafka_groups.model import Failure, GroupDescription, GroupOffsets, Results, TopicPartition


class ListedOffsets(NamedTuple):
    """The committed offsets of groups, and start offsets of share groups, by group id."""

    offsets: Mapping[str, GroupOffsets]
    failures: tuple[Failure, ...]
    notes: tuple[Note, ...]


def offset_steps(*, has_topics: bool, require_stable: bool) -> tuple[Step, ...]:
    """Return the steps of `list_group_offsets`."""
    commits = steps.STABLE_COMMITS if require_stable else steps.COMMITS
    return (*((steps.TOPICS,) if has_topics else ()), commits, steps.ABSENT_GROUPS)


def list_group_offsets(
    admin: Admin,
    selection: Selection,
    *,
    topics: Mapping[str, Sequence[int]] | None = None,
    require_stable: bool = False,
    plan: TimePlan | None = None,
) -> ListedOffsets:
    """List the committed offsets of the selected groups.

    `topics` maps topics to partitions, none for all of the topic; a named partition without a commit is None in
    the result. With `require_stable` the call waits for open transactions that commit offsets. The plan has the
    `offset_steps`.
    """
    plan = plan or TimePlan()
    failures = list(selection.failures)
    partitions: list[TopicPartition] | None = None
    if topics:
        partitions, unknown = _named_partitions(admin, topics, plan.until(steps.TOPICS))
        failures += suggest_topics(admin, unknown, plan.deadline)
    if partitions == []:
        return ListedOffsets(offsets={}, failures=tuple(failures), notes=tuple(selection.notes()))
    results = admin.list_group_offsets(
        dict.fromkeys(selection.groups, partitions),
        require_stable=require_stable,
        timeout=plan.until(steps.STABLE_COMMITS if require_stable else steps.COMMITS),
    )
    remaining, notes = selection.without_deleted(results.failed)
    failures += remaining
    failures += [failure for offsets in results.succeeded.values() for failure in offsets.failed.values()]
    described = _describe_empty(admin, selection, results.succeeded, plan)
    absent = described.failed
    failures += suggest_groups(
        admin, absent.values(), named=selection.named, operation=Operation.LIST_OFFSETS, deadline=plan.deadline
    )
    where = " on the named partitions" if topics else ""
    notes += [
        _note_no_offsets(description, results.succeeded[group], where)
        for group, description in described.succeeded.items()
    ]
    return ListedOffsets(
        offsets={
            group: _with_type(results.succeeded[group], described.succeeded.get(group))
            for group in selection.groups
            if group in results.succeeded and group not in absent
        },
        failures=tuple(failures),
        notes=(*selection.notes(), *notes),
    )


def _note_no_offsets(description: GroupDescription, offsets: GroupOffsets, where: str) -> Note:
    """Return the note of a group without a known offset. A partition of a share group has an unknown one then."""
    kind = kind_of(description)
    if kind.offsets is Offsets.START and len(offsets):
        text = f"The start offsets of share group '{description.group}' are unknown{where}."
        return Note(NoteKind.UNKNOWN_OFFSETS, description.group, text)
    has = kind.offsets.value if kind.offsets is Offsets.NONE else f"no {kind.offsets.value}"
    return Note(NoteKind.NO_OFFSETS, description.group, f"{kind.noun} '{description.group}' has {has}{where}.")


def _with_type(offsets: GroupOffsets, description: GroupDescription | None) -> GroupOffsets:
    """Return offsets without any value as those of the group's kind, which only the description shows."""
    if description is None or not has_start_offsets(description.type):
        return offsets
    return GroupOffsets(offsets.topics, offsets.failed, lags=offsets.lags or {})


def _named_partitions(
    admin: Admin, topics: Mapping[str, Sequence[int]], deadline: Deadline | None
) -> tuple[list[TopicPartition], list[Failure]]:
    """Return the named partitions, with all partitions of topics that were named without any."""
    results = admin.describe_topics([topic for topic, named in topics.items() if not named], timeout=deadline)
    existing = {topic: found.partitions for topic, found in results.succeeded.items()}
    partitions = [
        TopicPartition(topic, partition)
        for topic, named in topics.items()
        for partition in named or existing.get(topic, ())
    ]
    return partitions, [*results.failed.values()]


def _describe_empty(
    admin: Admin, selection: Selection, offsets: Mapping[str, GroupOffsets], plan: TimePlan
) -> Results[str, GroupDescription]:
    """Describe the named ids without offsets, which may not exist: brokers return the same for them (KIP-709).

    One that was listed may have been deleted, or recreated as a group of another kind, since then.
    """
    empty = [
        group
        for group in selection.groups
        if group in selection.named and group in offsets and not (offsets[group].failed or offsets[group].has_commits())
    ]
    return admin.describe_groups(empty, timeout=plan.until(steps.ABSENT_GROUPS)) if empty else Results()
