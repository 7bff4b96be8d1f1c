"""Plan the removal of members from a group: static members that are stuck, or all of them."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_groups.admin.api import Admin, Deadline
from kafka_groups.changes.change import Action, Change, PlannedChange, PlannedGroups
from kafka_groups.changes.current_groups import refuse
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.groups.suggestions import suggest_groups
from kafka_groups.kinds import Operation, kind_of, supports
from kafka_groups.model import Failure, GroupDescription, Member
from kafka_groups.protocol.errors import UNKNOWN_MEMBER_ID, broker_error
from kafka_groups.suggestions import did_you_mean


def plan_member_removal(
    admin: Admin,
    group: str,
    *,
    instances: Iterable[str],
    all_members: bool = False,
    deadline: Deadline | None = None,
) -> PlannedGroups:
    """Plan the removal of the members with these group instance ids, or of all members.

    A share, streams or Connect group is refused, and so is a member that uses the KIP-848 protocol: brokers remove only
    members of the classic protocol (`throwIfMemberDoesNotUseClassicProtocol`).
    """
    described = admin.describe_groups([group], timeout=deadline)
    if group in described.failed:
        why = [described.failed[group]]
        return PlannedGroups(
            failures=suggest_groups(admin, why, named=(group,), operation=Operation.DESCRIBE, deadline=deadline)
        )
    description = described.succeeded[group]
    if (other_kind := _refuse_kind(description)) is not None:
        return PlannedGroups(failures=(other_kind,))
    named = list(dict.fromkeys(instances))
    present = {member.group_instance_id: member for member in description.members}
    chosen = description.members if all_members else [present[name] for name in named if name in present]
    known = [instance for instance in present if instance is not None]
    failures = [] if all_members else [_absent(group, name, known) for name in named if name not in present]
    rows = tuple(_remove(description, member) for member in chosen)
    text = f"Consumer group '{group}' has no active members."
    notes = () if rows or failures else (Note(NoteKind.NO_ACTIVE_MEMBERS, group, text),)
    return PlannedGroups(rows={group: rows} if rows else {}, failures=tuple(failures), notes=notes)


def _refuse_kind(description: GroupDescription) -> Failure | None:
    """Return the failure of a group none of whose members can be removed; a KIP-848 group may have classic members."""
    kind = kind_of(description)
    if kind.supports(Operation.REMOVE_MEMBERS) or kind.has_consumer_members:
        return None
    text = f"it is a {kind.noun}; Kafka removes members of consumer groups only, if they use the classic protocol"
    return refuse(description.group, text)


def _remove(description: GroupDescription, member: Member) -> PlannedChange:
    change = Change(
        Action.REMOVE_MEMBER,
        description.group,
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
    )
    if not supports(description, Operation.REMOVE_MEMBERS) and member.upgraded is not False:
        text = f"member '{member.member_id}' does not use the classic protocol; brokers remove only classic members"
        return PlannedChange(change, text, refuse(description.group, text))
    return PlannedChange(change)


def _absent(group: str, instance: str, known: Iterable[str]) -> Failure:
    text = f"no member has the group instance id '{instance}'{did_you_mean(instance, known)}"
    return Failure.of(broker_error(UNKNOWN_MEMBER_ID, text), group=group)
