"""Plan the deletion of groups and of commits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, Deadline, TimePlan
from kafka_groups.changes.change import Action, Change, PlannedChange, PlannedGroups, to_change
from kafka_groups.changes.current_groups import (
    CurrentGroup,
    note_unstable,
    read_existing_groups,
    read_groups,
    refuse,
    refuse_active,
)
from kafka_groups.changes.current_topics import CurrentTopics, note_unknown_ids, read_topics
from kafka_groups.changes.partitions import NamedTopics, find_partitions
from kafka_groups.changes.plan_rows import NO_FILE, PlanRows
from kafka_groups.changes.restoration import note_absent_topics, refuse_unrestorable
from kafka_groups.changes.validity import deletions_of, describe_difference
from kafka_groups.groups import steps
from kafka_groups.groups.assignments import has_unreadable_assignments
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.groups.selection import Selectors, list_selected, listing_steps, note_skipped, select_groups
from kafka_groups.groups.suggestions import suggest_groups, suggest_topics
from kafka_groups.kinds import SIMPLE, STATES_WITHOUT_MEMBERS, Operation, kind_of, label_of, supports
from kafka_groups.model import Failure, GroupListing, TopicPartition
from kafka_groups.protocol.errors import (
    GROUP_SUBSCRIBED_TO_TOPIC,
    NON_EMPTY_GROUP,
    UNSTABLE_OFFSET_COMMIT,
    broker_error,
)

# A broker before Kafka 2.6 lists no states.
_INACTIVE: Final = (*STATES_WITHOUT_MEMBERS, None)
_UNKNOWN_TOPICS: Final = "the partitions of a member are unknown, so it may read the topic; stop its consumers first"
_ABSENT: Final = "the partition does not exist; brokers may refuse to delete its commit"


class DeletionRequest(NamedTuple):
    """What a caller wants to delete.

    `topics` are the partitions whose commits are deleted. The rows of `file`, a plan, are refused if a commit has
    changed since, unless `force`. `any_type` allows groups that are not of consumers.
    """

    topics: NamedTopics | None = None
    file: PlanRows = NO_FILE
    any_type: bool = False
    force: bool = False


def plan_group_deletion(
    admin: Admin, selectors: Selectors, request: DeletionRequest, *, deadline: Deadline | None = None
) -> PlannedGroups:
    """Plan the deletion of groups, with the commits that are deleted with them. All groups are listed for their types.

    Groups with members are refused. So are groups that are not of consumers, unless `any_type`: if they were not named,
    they are only counted in a note.
    """
    if request.file.is_empty():
        return PlannedGroups(notes=request.file.notes)
    listing = listing_steps(selectors) or (steps.LISTING,)
    plan = TimePlan(deadline, (*listing, steps.GROUPS, steps.COMMITS, steps.PARTITIONS))
    selection = list_selected(admin, selectors, plan=plan)
    others = {
        group: listing for group, listing in selection.listings.items() if not supports(listing, Operation.DELETE)
    }
    # A named group whose broker did not list it is read all the same, and fails by itself.
    consumers = [group for group in (*selection.groups, *selection.unlisted) if group not in others]
    read = read_groups(admin, dict.fromkeys(consumers), timeout=plan.until(steps.GROUPS))
    failures, notes = selection.without_deleted(read.failed)
    failures += filter(None, map(refuse_active, read.succeeded.values()))
    if request.any_type:
        allowed = _read_others(admin, others, plan.until(steps.COMMITS))
    else:
        allowed = _refuse_others(others, selection.named)
    inactive = {group: current for group, current in read.succeeded.items() if not current.is_active}
    found = {**inactive, **allowed.found}
    names = {key.topic for each in found.values() for key in each.offsets}
    topics = read_topics(admin, names, timeout=plan.until(steps.PARTITIONS))
    rows = {group: _delete_group(current, request, topics) for group, current in sorted(found.items())}
    changes = [row.change for planned in rows.values() for row in planned if row.refusal is None]
    return PlannedGroups(
        rows=rows,
        failures=(*selection.failures, *failures, *allowed.failures),
        notes=(
            *request.file.notes,
            *selection.notes(),
            *notes,
            *allowed.notes,
            *note_unstable(found.values()),
            *note_absent_topics(changes, topics),
            *note_unknown_ids(request.file.rows, topics),
        ),
    )


class _Others(NamedTuple):
    """The groups to delete that are not of consumers, the failures of the others, and notes."""

    found: Mapping[str, CurrentGroup]
    failures: tuple[Failure, ...]
    notes: tuple[Note, ...] = ()


def _refuse_others(listings: Mapping[str, GroupListing], named: Collection[str]) -> _Others:
    """Refuse groups that are not of consumers; those that nobody named are only counted."""
    refused = [_refuse_kind(listing) for group, listing in listings.items() if group in named]
    skipped = [listing for group, listing in listings.items() if group not in named]
    return _Others({}, tuple(refused), tuple(note_skipped(skipped)))


def _read_others(admin: Admin, listings: Mapping[str, GroupListing], deadline: Deadline | None) -> _Others:
    """Return groups that are not described, unless they have members.

    Streams and Connect groups have commits, share groups have none.
    """
    active = [
        Failure.of(broker_error(NON_EMPTY_GROUP, f"it is {listing.state}"), group=group)
        for group, listing in sorted(listings.items())
        if listing.state not in _INACTIVE
    ]
    inactive = {group: listing for group, listing in listings.items() if listing.state in _INACTIVE}
    with_commits = {group: None for group, listing in inactive.items() if kind_of(listing).has_commits}
    found = {group: CurrentGroup(group) for group in inactive if group not in with_commits}
    if not with_commits:
        return _Others(found, tuple(active))
    offsets = admin.describe_with_offsets((), with_commits, require_stable=True, timeout=deadline)[1]
    found |= {
        group: CurrentGroup(group, None, dict(commits.rows()), commits.failed, commits.is_stable)
        for group, commits in offsets.succeeded.items()
    }
    return _Others(found, (*active, *offsets.failed.values()))


def plan_offset_deletion(
    admin: Admin, selectors: Selectors, request: DeletionRequest, *, deadline: Deadline | None = None
) -> PlannedGroups:
    """Plan the deletion of the commits of groups on partitions. A member's topics are refused.

    If a topic or a partition that the caller named does not exist, nothing is planned. Those of a file are planned
    all the same: it may be a plan of `orphans`, and the broker decides on each of them.
    """
    if request.file.is_empty():
        return PlannedGroups(notes=request.file.notes)
    plan = TimePlan(deadline, (steps.TOPICS, *listing_steps(selectors), steps.GROUPS))
    topics = request.file.named_topics() or request.topics or {}
    named = find_partitions(admin, topics, timeout=plan.until(steps.TOPICS))
    if named.absent and request.file.name is None:
        absent_topics = suggest_topics(admin, named.absent, deadline)
        return PlannedGroups(failures=(*absent_topics, *named.failed), notes=request.file.notes)
    missing = {(why.topic, why.partition) for why in named.absent}
    absent = [
        TopicPartition(topic, partition)
        for topic, partitions in request.file.named_topics().items()
        for partition in partitions
        if missing & {(topic, None), (topic, partition)}
    ]
    partitions = sorted((*named.partitions, *absent))
    selection = select_groups(admin, selectors, operation=Operation.DELETE_OFFSETS, plan=plan)
    scopes = {group: _scope(request, group, partitions) for group in selection.groups}
    read = read_existing_groups(admin, scopes, timeout=plan.until(steps.GROUPS))
    failures, notes = selection.without_deleted(read.failed)
    # The groups of a file are those of a plan; if one is absent, it was deleted since.
    typed = selectors.ids_without_listing() if request.file.name is None else ()
    failures = [*suggest_groups(admin, failures, named=typed, operation=Operation.DELETE_OFFSETS, deadline=deadline)]
    targets = _Targets(named.topics, frozenset(absent))
    rows = {
        group: tuple(_delete_offsets(current, request, scopes[group], targets))
        for group, current in sorted(read.succeeded.items())
    }
    notes += [
        Note(NoteKind.NO_OFFSETS, group, f"Group '{group}' has no commits on the named topics.")
        for group, planned in rows.items()
        if not planned
    ]
    return PlannedGroups(
        rows={group: planned for group, planned in rows.items() if planned},
        failures=(*selection.failures, *named.failed, *failures),
        notes=(
            *request.file.notes,
            *selection.notes(),
            *notes,
            *note_unstable(read.succeeded.values()),
            *note_unknown_ids(request.file.rows, named.topics),
        ),
    )


class _Targets(NamedTuple):
    topics: CurrentTopics
    absent: Collection[TopicPartition]


def _scope(request: DeletionRequest, group: str, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
    """Return the partitions of a group that the request is for."""
    rows = request.file.by_partition(group)
    return [key for key in partitions if not rows or key in rows]


def _delete_group(current: CurrentGroup, request: DeletionRequest, topics: CurrentTopics) -> tuple[PlannedChange, ...]:
    changes = [change._replace(topic_id=topics.topic_id(change.topic or "")) for change in deletions_of(current)]
    refusal = _refuse_group_deletion(current, request, topics)
    if refusal is None and not request.force:
        refusal = next(filter(None, map(refuse_unrestorable, changes)), None)
    if refusal is None:
        return tuple(PlannedChange(change) for change in changes)
    return tuple(PlannedChange(change, refusal.message, refusal) for change in changes)


def _refuse_group_deletion(current: CurrentGroup, request: DeletionRequest, topics: CurrentTopics) -> Failure | None:
    """Return why a group is not deleted: all its commits are deleted with it, or none."""
    unstable = [why for why in current.unreadable.values() if why.code == UNSTABLE_OFFSET_COMMIT]
    if unstable:
        return unstable[0]
    rows = request.file.by_partition(current.group)
    if recreated := list(filter(None, map(topics.refuse, rows.values()))):
        return recreated[0]
    if request.force:
        return None
    planned = {key: row.before for key, row in rows.items() if key is not None}
    commits = {key: commit for key, commit in current.offsets.items() if commit is not None}
    if rows and planned != commits:
        return refuse(current.group, "its commits have changed since the plan")
    if hidden := len(current.unreadable):
        text = f"{hidden:,} of its commits cannot be read, and undo could not restore them; --force deletes it"
        return refuse(current.group, text)
    return None


def _delete_offsets(
    current: CurrentGroup, request: DeletionRequest, partitions: Iterable[TopicPartition], targets: _Targets
) -> Iterable[PlannedChange]:
    rows = request.file.by_partition(current.group)
    explicit = {topic for topic, named in (request.topics or {}).items() if named}
    members = current.description.members if current.description is not None else ()
    assigned = {assignment.topic for member in members for assignment in member.assignment or ()}
    for key in partitions:
        commit = current.offsets.get(key)
        if commit is None and not rows and key.topic not in explicit and key not in current.unreadable:
            continue
        topic_id = targets.topics.topic_id(key.topic)
        change = to_change(Action.DELETE_OFFSETS, current.group, key, commit, topic_id=topic_id)
        refusal = _refuse_offset_deletion(current, request, change, assigned, targets.topics)
        if refusal is not None:
            yield PlannedChange(change, refusal.message, refusal)
        else:
            yield PlannedChange(change, "no commit" if commit is None else _ABSENT if key in targets.absent else "")


def _refuse_offset_deletion(
    current: CurrentGroup,
    request: DeletionRequest,
    change: Change,
    assigned: Collection[str],
    topics: CurrentTopics,
) -> Failure | None:
    key = change.key
    assert key is not None
    row = request.file.by_partition(current.group).get(key)
    certain = _refuse_for_the_broker(current, key, assigned) or (topics.refuse(row) if row is not None else None)
    if certain is not None or request.force:
        return certain
    if row is not None and row.before != change.before:
        return refuse(current.group, describe_difference(row.before, change.before), key)
    return refuse_unrestorable(change)


def _refuse_for_the_broker(current: CurrentGroup, key: TopicPartition, assigned: Collection[str]) -> Failure | None:
    """Return the failure of a deletion that the broker would refuse, or that concerns a commit nobody can read."""
    if key in current.unreadable:
        return current.unreadable[key]
    if current.group == "":
        return refuse("", "brokers delete no single commits of the empty group id; delete the group", key)
    if key.topic in assigned:
        error = broker_error(GROUP_SUBSCRIBED_TO_TOPIC, "members of the group read the topic")
        return Failure.of(error, group=current.group, topic=key.topic, partition=key.partition)
    if current.description is not None and has_unreadable_assignments(current.description):
        return refuse(current.group, _UNKNOWN_TOPICS, key)
    return None


def _refuse_kind(listing: GroupListing) -> Failure:
    kind = label_of(listing) or SIMPLE.group_type
    return refuse(listing.group, f"it is not a consumer group ({kind}); --any-type deletes groups of every type")
