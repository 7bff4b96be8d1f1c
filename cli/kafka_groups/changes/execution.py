"""Execute planned changes: check again, record the state before, change, and read back unknown outcomes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, Protocol, TypeVar

from kafka_groups.admin.api import Admin, Deadline, MemberIdentity
from kafka_groups.changes.change import (
    Action,
    Change,
    Outcome,
    PlannedChange,
    PlannedGroups,
    Status,
    summarize_failures,
)
from kafka_groups.changes.read_back import read_back
from kafka_groups.changes.validity import check_again
from kafka_groups.errors import AdminError, JournalError
from kafka_groups.groups.selection import NOT_LAST
from kafka_groups.model import CommittedOffset, Failure, Results, TopicPartition
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND

K = TypeVar("K")

# errors[].name of a request whose response was lost.
OUTCOME_UNKNOWN: Final = "OUTCOME_UNKNOWN"
# Reading back what is unknown may take longer than the deadline, because nothing else says what was changed.
_READ_BACK_S: Final = 5.0


class Recorder(Protocol):
    """A record of a run that survives it."""

    @property
    def id(self) -> str:
        """Return the ID of the run."""

    def record(self, outcomes: Iterable[tuple[int, Outcome]]) -> None:
        """Record the outcomes of changes, by the indexes of the changes in the run."""

    def finish(self) -> None:
        """Record that the run ended."""


class Execution(NamedTuple):
    """The outcome of every row of a plan, refused ones included, by group; the failures among them, and notes."""

    outcomes: Mapping[str, tuple[Outcome, ...]]
    failures: tuple[Failure, ...]
    notes: tuple[str, ...] = ()
    # The ID of the record; None if nothing was changed.
    run_id: str | None = None

    def all_outcomes(self) -> list[Outcome]:
        """Return the outcomes of all groups."""
        return [outcome for rows in self.outcomes.values() for outcome in rows]


def execute_plan(
    admin: Admin,
    planned: PlannedGroups,
    *,
    begin: Callable[[Sequence[Change]], Recorder],
    deadline: Deadline,
    force: bool = False,
    pause: Callable[[float], None] = time.sleep,
) -> Execution:
    """Make the planned changes that are still valid, and return the outcome of each.

    `begin` records the changes, with the commits before them, durably before the first one is made; if it raises,
    nothing was changed. With `force` a change is made although the commit has changed since the plan.
    """
    planned = check_again(admin, planned, force=force, timeout=deadline.share(NOT_LAST))
    valid = planned.changes()
    made: list[Outcome] = []
    notes: list[str] = []
    recorder = begin(valid) if valid else None
    if recorder is not None:
        made = _make(admin, valid, deadline, pause)
        notes += _record(recorder, made)
    in_order = iter(made)
    outcomes = {group: tuple(_outcome(row, in_order) for row in rows) for group, rows in planned.rows.items()}
    run_id = recorder.id if recorder is not None else None
    return Execution(outcomes, tuple(summarize_failures(_failures_by_group(outcomes))), tuple(notes), run_id)


def _record(recorder: Recorder, outcomes: Iterable[Outcome]) -> list[str]:
    """Record the outcomes. If that fails, they are still reported, and `undo` reads them back from the cluster."""
    try:
        recorder.record(enumerate(outcomes))
        recorder.finish()
    except JournalError as error:
        return [f"Warning: {error}"]
    return []


def _outcome(row: PlannedChange, made: Iterator[Outcome]) -> Outcome:
    """Return the outcome of a row; `made` has those of the rows that are not refused, in their order."""
    if row.refusal is not None:
        return Outcome(row.change, Status.REFUSED, row.note, row.refusal)
    outcome = next(made)
    return outcome._replace(note=", ".join(filter(None, (row.note, outcome.note)))) if row.note else outcome


def _make(admin: Admin, changes: Sequence[Change], deadline: Deadline, pause: Callable[[float], None]) -> list[Outcome]:
    """Make the changes; return the outcome of each, in their order."""
    failures: list[Failure | None] = [None] * len(changes)
    for action in Action:
        places = [place for place, change in enumerate(changes) if change.action is action]
        if not places:
            continue
        of_action = [changes[place] for place in places]
        try:
            found: Sequence[Failure | None] = _send(admin, action, of_action, deadline)
        except AdminError as error:
            # Nothing of this action was requested; the outcomes of the others still have to be recorded.
            found = [Failure.of(error, group=change.group) for change in of_action]
        for place, failure in zip(places, found, strict=True):
            failures[place] = failure
    outcomes = [
        Outcome(change, Status.DONE if why is None else Status.FAILED, failure=why)
        for change, why in zip(changes, failures, strict=True)
    ]
    lost = {each.change: why for each in outcomes if (why := each.failure) is not None and why.name == OUTCOME_UNKNOWN}
    if lost:
        read = read_back(admin, lost, timeout_s=min(_READ_BACK_S, deadline.timeout_s), pause=pause)
        outcomes = [read.get(each.change, each) for each in outcomes]
    return outcomes


def _send(admin: Admin, action: Action, changes: Sequence[Change], deadline: Deadline) -> list[Failure | None]:
    """Send the changes of one action, all groups at once; return the failure of each, None if it was made."""
    by_group: dict[str, list[Change]] = {}
    for change in changes:
        by_group.setdefault(change.group, []).append(change)
    if action is Action.DELETE_GROUP:
        failed = admin.delete_consumer_groups(by_group, timeout=deadline).failed
        # A coordinator that changes may delete the group and return that it is not available; then it is deleted.
        remaining = {group: why for group, why in failed.items() if why.code != GROUP_ID_NOT_FOUND}
        return [remaining.get(change.group) for change in changes]
    if action is Action.REMOVE_MEMBER:
        members = {group: [_identity(change) for change in each] for group, each in by_group.items()}
        removed = admin.remove_members_from_consumer_group(members, timeout=deadline)
        return [_failure_of(removed, change.group, _identity(change)) for change in changes]
    if action is Action.DELETE_OFFSETS:
        keys = {group: [_key(change) for change in each] for group, each in by_group.items()}
        results = admin.delete_consumer_group_offsets(keys, timeout=deadline)
    else:
        offsets: dict[str, dict[tuple[str, int], CommittedOffset]] = {
            group: {_key(change): _after(change) for change in each} for group, each in by_group.items()
        }
        results = admin.alter_consumer_group_offsets(offsets, timeout=deadline)
    return [_failure_of(results, change.group, _key(change)) for change in changes]


def _failure_of(results: Results[str, Mapping[K, Failure | None]], group: str, key: K) -> Failure | None:
    outcomes = results.succeeded.get(group)
    return results.failed[group] if outcomes is None else outcomes[key]


def _identity(change: Change) -> MemberIdentity:
    return MemberIdentity(change.member_id or "", change.group_instance_id)


def _key(change: Change) -> TopicPartition:
    key = change.key
    assert key is not None
    return key


def _after(change: Change) -> CommittedOffset:
    after = change.after
    assert after is not None
    return after


def _failures_by_group(outcomes: Mapping[str, Sequence[Outcome]]) -> dict[str, list[Failure | None]]:
    return {group: [outcome.failure for outcome in rows] for group, rows in outcomes.items()}
