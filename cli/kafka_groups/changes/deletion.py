"""Plan the deletion of groups, with their offsets."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, Deadline, TimePlan
from kafka_groups.changes.change import PlannedChange, PlannedGroups
from kafka_groups.changes.current_groups import (
    CurrentGroup,
    note_unstable,
    read_groups,
    refuse,
    refuse_active,
)
from kafka_groups.changes.current_topics import CurrentTopics, note_unknown_ids, read_topics
from kafka_groups.changes.partitions import NamedTopics
from kafka_groups.changes.plan_rows import NO_FILE, PlanRows
from kafka_groups.changes.restoration import note_absent_topics, note_delivery_state, refuse_unrestorable
from kafka_groups.changes.validity import deletions_of
from kafka_groups.groups import steps
from kafka_groups.groups.notes import Note
from kafka_groups.groups.selection import Selectors, list_selected, listing_steps, note_skipped
from kafka_groups.kinds import SIMPLE, STATES_WITHOUT_MEMBERS, Operation, kind_of, label_of, supports
from kafka_groups.model import Failure, GroupListing
from kafka_groups.protocol.errors import (
    NON_EMPTY_GROUP,
    UNSTABLE_OFFSET_COMMIT,
    broker_error,
)

# A broker before Kafka 2.6 lists no states.
_INACTIVE: Final = (*STATES_WITHOUT_MEMBERS, None)


class DeletionRequest(NamedTuple):
    """What a caller wants to delete.

    `topics` are the partitions whose commits are deleted. The rows of `file`, a plan, are refused if a commit has
    changed since, unless `force`. `any_type` allows groups of kinds that this tool does not read, such as those of
    Connect workers, and `internal_topics` offsets on internal topics of Streams applications.
    """

    topics: NamedTopics | None = None
    file: PlanRows = NO_FILE
    any_type: bool = False
    force: bool = False
    internal_topics: bool = False


def plan_group_deletion(
    admin: Admin, selectors: Selectors, request: DeletionRequest, *, deadline: Deadline | None = None
) -> PlannedGroups:
    """Plan the deletion of groups, with the commits that are deleted with them. All groups are listed for their types.

    Groups with members are refused. So are groups of kinds that this tool does not read, unless `any_type`: if they
    were not named, they are only counted in a note.
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
            *note_delivery_state(changes),
            *note_unknown_ids(request.file.rows, topics),
        ),
    )


class _Others(NamedTuple):
    """The groups to delete of kinds that this tool does not read, the failures of the others, and notes."""

    found: Mapping[str, CurrentGroup]
    failures: tuple[Failure, ...]
    notes: tuple[Note, ...] = ()


def _refuse_others(listings: Mapping[str, GroupListing], named: Collection[str]) -> _Others:
    """Refuse groups of other kinds; those that nobody named are only counted."""
    refused = [_refuse_kind(listing) for group, listing in listings.items() if group in named]
    skipped = [listing for group, listing in listings.items() if group not in named]
    return _Others({}, tuple(refused), tuple(note_skipped(skipped)))


def _read_others(admin: Admin, listings: Mapping[str, GroupListing], deadline: Deadline | None) -> _Others:
    """Return groups of other kinds, unless they have members; some have commits."""
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


def _refuse_kind(listing: GroupListing) -> Failure:
    kind = label_of(listing) or SIMPLE.group_type
    return refuse(listing.group, f"it is not a consumer group ({kind}); --any-type deletes groups of every type")
