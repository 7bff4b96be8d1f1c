"""The outcomes of changes whose responses were lost, read back from the cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from kafka_groups.admin.api import Admin
from kafka_groups.changes.change import Action, Change, Outcome, Status
from kafka_groups.changes.current_groups import CurrentGroup, read_groups
from kafka_groups.errors import AdminError, OutcomeUnknownError
from kafka_groups.model import Failure, GroupListing, Results
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND

# A broker may still handle a request whose connection was lost, so an unchanged commit is read again.
_PAUSES_S: Final = (0.2, 1.0)
_AS_BEFORE: Final = "it is still as before"
_UNREADABLE: Final = "it could not be read back"


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
            seen = _read(admin, remaining, timeout_s)
        except AdminError:
            seen = dict.fromkeys(remaining, _UNREADABLE)
        outcomes |= {change: _to_outcome(change, seen[change], lost[change]) for change in remaining}
    return outcomes


def _read(admin: Admin, changes: Sequence[Change], timeout_s: float) -> dict[Change, str]:
    """Return what the cluster shows of each change: nothing if it was made, else a sentence."""
    read = read_groups(admin, [change.group for change in changes], timeout=timeout_s)
    # Share and streams groups are not described, so only a listing shows whether they exist.
    is_deleted = any(change.action is Action.DELETE_GROUP for change in changes)
    listed: Results[str, GroupListing] = admin.list_groups(timeout=timeout_s) if is_deleted else Results()
    seen: dict[Change, str] = {}
    for change in changes:
        current, failure = read.succeeded.get(change.group), read.failed.get(change.group)
        if change.action is Action.DELETE_GROUP:
            exists = current is not None or change.group in listed.succeeded
            seen[change] = "the group still exists" if exists else _UNREADABLE if listed.failed else ""
        elif current is None:
            is_absent = failure is not None and failure.code == GROUP_ID_NOT_FOUND
            seen[change] = _UNREADABLE if not is_absent else "" if change.action is not Action.COMMIT else _AS_BEFORE
        elif change.action is Action.REMOVE_MEMBER:
            members = current.description.members if current.description is not None else ()
            identities = {(member.member_id, member.group_instance_id) for member in members}
            is_member = (change.member_id, change.group_instance_id) in identities
            seen[change] = "the member is still in the group" if is_member else ""
        elif change.key in current.unreadable:
            seen[change] = _UNREADABLE
        else:
            seen[change] = _compare(change, current)
    return seen


def _compare(change: Change, current: CurrentGroup) -> str:
    commit = current.offsets.get(change.key) if change.key is not None else None
    if commit == change.after:
        return ""
    return _AS_BEFORE if commit == change.before else f"its offset is now {'-' if commit is None else commit.offset}"


def _to_outcome(change: Change, seen: str, lost: Failure) -> Outcome:
    if not seen:
        return Outcome(change, Status.DONE, "response lost, read back")
    text = f"{OutcomeUnknownError.reason_of(lost.message)}; {seen}, and the broker may make the change later"
    return Outcome(change, Status.UNKNOWN, failure=lost._replace(message=text))
