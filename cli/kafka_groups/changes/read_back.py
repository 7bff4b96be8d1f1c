"""The outcomes of changes whose responses were lost, read back from the cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin
from kafka_groups.changes.change import Action, Change, Outcome, Status
from kafka_groups.changes.current_groups import CurrentGroup, read_groups
from kafka_groups.errors import AdminError, OutcomeUnknownError
from kafka_groups.model import Failure, GroupListing, Results, TopicPartition
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND

# A broker may still handle a request whose connection was lost, so an unchanged commit is read again.
_PAUSES_S: Final = (0.2, 1.0)


class Seen(Enum):
    """What the cluster shows of a change."""

    MADE = "it was made"
    AS_BEFORE = "it is still as before"
    OTHER = "it is neither as before nor as the change leaves it"
    UNREADABLE = "it could not be read back"


class State(NamedTuple):
    """What the cluster shows of a change, and the same as a clause for the user."""

    kind: Seen
    text: str

    @classmethod
    def of(cls, kind: Seen, text: str | None = None) -> State:
        """Return the state, with a clause that names what is there."""
        return cls(kind, text or kind.value)


_MADE: Final = State.of(Seen.MADE)
_AS_BEFORE: Final = State.of(Seen.AS_BEFORE)
_UNREADABLE: Final = State.of(Seen.UNREADABLE)


def read_back(
    admin: Admin,
    lost: Mapping[Change, Failure],
    *,
    timeout_s: float,
    pause: Callable[[float], None],
) -> dict[Change, Outcome]:
    """Return the outcome of changes whose responses were lost: done or unknown.

    `timeout_s` is for each reading, which repeats what is not known to be done. What is as before in the last one is
    unknown, too: a broker may still have the request, and make the change later.
    """
    outcomes: dict[Change, Outcome] = {}
    for wait_s in _PAUSES_S:
        # `lost` may be a whole batch, so that each reading is one round of requests.
        remaining = [change for change in lost if change not in outcomes or outcomes[change].status is not Status.DONE]
        if not remaining:
            break
        pause(wait_s)
        try:
            seen = read_changes(admin, remaining, timeout_s)
        except AdminError:
            seen = dict.fromkeys(remaining, _UNREADABLE)
        outcomes |= {change: _to_outcome(change, seen[change], lost[change]) for change in remaining}
    return outcomes


def read_changes(admin: Admin, changes: Sequence[Change], timeout_s: float) -> dict[Change, State]:
    """Return what the cluster shows of each change, from one reading of its groups."""
    read = read_groups(admin, _scopes(changes), require_stable=False, timeout=timeout_s)
    # Share and streams groups are not described, so only a listing shows whether they exist.
    is_deleted = any(change.action is Action.DELETE_GROUP for change in changes)
    listed: Results[str, GroupListing] = admin.list_groups(timeout=timeout_s) if is_deleted else Results()
    return {change: _see(change, read, listed) for change in changes}


def _see(change: Change, read: Results[str, CurrentGroup], listed: Results[str, GroupListing]) -> State:
    current = read.succeeded.get(change.group)
    failure = read.failed.get(change.group)
    if change.action is Action.DELETE_GROUP:
        return _see_group(change, current, listed)
    if current is None:
        is_absent = failure is not None and failure.code == GROUP_ID_NOT_FOUND
        if not is_absent:
            return _UNREADABLE
        return _AS_BEFORE if change.sets_offset and change.before is None else _see_absent(change)
    if change.action is Action.REMOVE_MEMBER:
        members = current.description.members if current.description is not None else ()
        identities = {(member.member_id, member.group_instance_id) for member in members}
        is_member = (change.member_id, change.group_instance_id) in identities
        return State.of(Seen.AS_BEFORE, "the member is still in the group") if is_member else _MADE
    return _UNREADABLE if change.key in current.unreadable else _compare(change, current)


def _see_absent(change: Change) -> State:
    """Return what the absence of the group shows: its commits and members are gone."""
    return State.of(Seen.OTHER, "the group does not exist") if change.sets_offset else _MADE


def _see_group(change: Change, current: CurrentGroup | None, listed: Results[str, GroupListing]) -> State:
    if current is None and change.group not in listed.succeeded:
        return _UNREADABLE if listed.failed else _MADE
    if current is None or change.key is None or current.offsets.get(change.key) == change.before:
        return State.of(Seen.AS_BEFORE, "the group still exists")
    is_deleted = current.offsets.get(change.key) is None
    return State.of(Seen.OTHER, f"the group still exists, {'without this' if is_deleted else 'with another'} commit")


def _scopes(changes: Sequence[Change]) -> dict[str, list[TopicPartition]]:
    """Return the partitions to read of each group; none of a group that is deleted, or loses members."""
    scopes: dict[str, list[TopicPartition]] = {}
    for change in changes:
        scope = scopes.setdefault(change.group, [])
        if change.key is not None:
            scope.append(change.key)
    return scopes


def _compare(change: Change, current: CurrentGroup) -> State:
    commit = current.offsets.get(change.key) if change.key is not None else None
    if commit == change.after:
        return _MADE
    if commit == change.before:
        return _AS_BEFORE
    return State.of(Seen.OTHER, f"its offset is now {'-' if commit is None else commit.offset}")


def _to_outcome(change: Change, seen: State, lost: Failure) -> Outcome:
    if seen.kind is Seen.MADE:
        return Outcome(change, Status.DONE, "response lost, read back")
    text = f"{OutcomeUnknownError.reason_of(lost.message)}; {seen.text}, and the broker may make the change later"
    return Outcome(change, Status.UNKNOWN, failure=lost._replace(message=text))
