"""Plan the deletion of groups and of commits."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, Deadline
from kafka_groups.changes.change import Action, PlannedChange, PlannedGroups, to_change
from kafka_groups.changes.current_groups import CurrentGroup, read_groups, refuse, refuse_active
from kafka_groups.changes.partitions import NamedTopics, find_partitions
from kafka_groups.changes.plan_rows import NO_FILE, PlanRows
from kafka_groups.changes.validity import deletions_of, describe_difference
from kafka_groups.groups.assignments import has_unreadable_assignments
from kafka_groups.groups.describe import without_deleted
from kafka_groups.groups.kinds import Operation, kind_of, supports
from kafka_groups.groups.selection import NOT_LAST, Selectors, list_selected, select_groups
from kafka_groups.groups.suggestions import suggest_groups, suggest_topics
from kafka_groups.model import Failure, GroupListing, GroupOffsets, TopicPartition
from kafka_groups.protocol.errors import GROUP_SUBSCRIBED_TO_TOPIC, NON_EMPTY_GROUP, broker_error

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
    selection = list_selected(admin, selectors, deadline=deadline, is_last=False)
    others = {
        group: listing
        for group, listing in selection.listings.items()
        if group in selection.groups and not supports(listing, Operation.DESCRIBE)
    }
    # A named group whose broker did not list it is read all the same, and fails by itself.
    consumers = [group for group in (*selection.groups, *selection.unlisted) if group not in others]
    read = read_groups(admin, consumers, timeout=deadline)
    failures, notes = without_deleted(selection, read.failed)
    rows: dict[str, tuple[PlannedChange, ...]] = {}
    for group, current in sorted(read.succeeded.items()):
        if (active := refuse_active(current)) is not None:
            failures.append(active)
        else:
            rows[group] = _delete_group(current, request)
    allowed = {group: listing for group, listing in others.items() if request.any_type}
    refused = {group: listing for group, listing in others.items() if group not in allowed}
    failures += [_refuse_kind(refused[group]) for group in refused if group in selection.named]
    notes += _note_skipped(listing for group, listing in refused.items() if group not in selection.named)
    empty = [group for group, listing in sorted(allowed.items()) if listing.state in ("Empty", "Dead", None)]
    failures += [
        Failure.of(broker_error(NON_EMPTY_GROUP, f"it is {allowed[group].state}"), group=group)
        for group in sorted(allowed.keys() - set(empty))
    ]
    # Streams and Connect groups have commits; share groups have none that OffsetFetch returns.
    commits = admin.list_consumer_group_offsets(dict.fromkeys(empty), timeout=deadline).succeeded if empty else {}
    for group in empty:
        offsets = commits.get(group, GroupOffsets())
        rows[group] = _delete_group(CurrentGroup(group, None, dict(offsets.rows()), offsets.failed), request)
    return PlannedGroups(
        rows=dict(sorted(rows.items())),
        failures=(*selection.failures, *failures),
        notes=(*request.file.notes, *selection.notes(), *notes),
    )


def plan_offset_deletion(
    admin: Admin, selectors: Selectors, request: DeletionRequest, *, deadline: Deadline | None = None
) -> PlannedGroups:
    """Plan the deletion of the commits of groups on partitions. A member's topics are refused.

    If a topic or a partition that the caller named does not exist, nothing is planned. Those of a file are planned
    all the same: it may be a plan of `orphans`, and the broker decides on each of them.
    """
    if request.file.is_empty():
        return PlannedGroups(notes=request.file.notes)
    share = deadline and deadline.share(NOT_LAST)
    named = find_partitions(admin, request.file.named_topics() or request.topics or {}, timeout=share)
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
    selection = select_groups(admin, selectors, operation=Operation.LIST_OFFSETS, deadline=share)
    read = read_groups(admin, selection.groups, timeout=deadline)
    failures, notes = without_deleted(selection, read.failed)
    # The groups of a file are those of a plan; if one is absent, it was deleted since.
    typed = selectors.ids_without_listing() if request.file.name is None else ()
    failures = [*suggest_groups(admin, failures, named=typed, operation=Operation.LIST_OFFSETS, deadline=deadline)]
    rows: dict[str, tuple[PlannedChange, ...]] = {}
    for group, current in sorted(read.succeeded.items()):
        rows[group] = tuple(_delete_offsets(current, request, partitions, frozenset(absent)))
        rows_of_file = request.file.by_partition(group)
        in_scope = [key for key in partitions if not rows_of_file or key in rows_of_file]
        failures += [current.unreadable[key] for key in in_scope if key in current.unreadable]
    notes += [f"Group '{group}' has no commits on the named topics." for group, planned in rows.items() if not planned]
    return PlannedGroups(
        rows={group: planned for group, planned in rows.items() if planned},
        failures=(*selection.failures, *named.failed, *failures),
        notes=(*request.file.notes, *selection.notes(), *notes),
    )


def _delete_group(current: CurrentGroup, request: DeletionRequest) -> tuple[PlannedChange, ...]:
    changes = deletions_of(current)
    rows = request.file.by_partition(current.group)
    planned = {key: row.before for key, row in rows.items() if key is not None}
    hidden = len(current.unreadable)
    if rows and not request.force and planned != {change.key: change.before for change in changes if change.key}:
        text = "its commits have changed since the plan"
    elif hidden and not request.force:
        text = f"{hidden:,} of its commits cannot be read, and undo could not restore them; --force deletes it"
    else:
        return tuple(PlannedChange(change) for change in changes)
    refusal = refuse(current.group, text)
    return tuple(PlannedChange(change, text, refusal) for change in changes)


def _delete_offsets(
    current: CurrentGroup,
    request: DeletionRequest,
    partitions: Iterable[TopicPartition],
    absent: Collection[TopicPartition],
) -> Iterable[PlannedChange]:
    rows = request.file.by_partition(current.group)
    explicit = {topic for topic, named in (request.topics or {}).items() if named}
    members = current.description.members if current.description is not None else ()
    is_unknown = current.description is not None and has_unreadable_assignments(current.description)
    assigned = {assignment.topic for member in members for assignment in member.assignment or ()}
    for key in partitions:
        commit = current.offsets.get(key)
        if key in current.unreadable or (rows and key not in rows):
            continue
        if commit is None and not rows and key.topic not in explicit:
            continue
        change = to_change(Action.DELETE_OFFSETS, current.group, key, commit)
        if key.topic in assigned:
            error = broker_error(GROUP_SUBSCRIBED_TO_TOPIC, "members of the group read the topic")
            yield PlannedChange(
                change, str(error), Failure.of(error, group=current.group, topic=key[0], partition=key[1])
            )
        elif is_unknown:
            yield PlannedChange(change, _UNKNOWN_TOPICS, refuse(current.group, _UNKNOWN_TOPICS, key))
        elif rows and not request.force and rows[key].before != commit:
            text = describe_difference(rows[key].before, commit)
            yield PlannedChange(change, text, refuse(current.group, text, key))
        else:
            yield PlannedChange(change, "no commit" if commit is None else _ABSENT if key in absent else "")


def _refuse_kind(listing: GroupListing) -> Failure:
    kind = kind_of(listing) or "Classic"
    return refuse(listing.group, f"it is not a consumer group ({kind}); --any-type deletes groups of every type")


def _note_skipped(skipped: Iterable[GroupListing]) -> list[str]:
    listings: Mapping[str, GroupListing] = {listing.group: listing for listing in skipped}
    kinds = ", ".join(sorted({kind_of(listing) for listing in listings.values()} - {""}))
    subject = "1 group of another kind is" if len(listings) == 1 else f"{len(listings):,} groups of other kinds are"
    return [f"{subject} skipped ({kinds})."] if listings else []
