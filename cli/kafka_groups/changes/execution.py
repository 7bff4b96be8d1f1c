"""Execute a plan: send its changes, read back unknown outcomes, and record them.

A command executes a plan in three steps: `check_again` refuses what is no longer valid, `begin_run` records the rest
with the commits before it, and `execute_plan` makes those changes. It takes the run that has begun, so that no change
is sent before it is recorded.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, Deadline
from kafka_groups.changes.change import (
    Change,
    Outcome,
    PlannedChange,
    PlannedGroups,
    Status,
    summarize_failures,
)
from kafka_groups.changes.halves import is_too_large, send_halves
from kafka_groups.changes.journal import JournalWriter
from kafka_groups.changes.read_back import read_back
from kafka_groups.changes.requests import send_changes
from kafka_groups.errors import JournalError
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.model import Failure

# errors[].name of a request whose response was lost.
OUTCOME_UNKNOWN: Final = "OUTCOME_UNKNOWN"
# Reading back what is unknown may take longer than the deadline, because nothing else says what was changed.
_READ_BACK_S: Final = 5.0


class Execution(NamedTuple):
    """The outcome of every row of a plan, refused ones included, by group; the failures among them, and notes."""

    outcomes: Mapping[str, tuple[Outcome, ...]]
    failures: tuple[Failure, ...]
    notes: tuple[Note, ...]
    # The ID of the record.
    run_id: str

    def all_outcomes(self) -> list[Outcome]:
        """Return the outcomes of all groups."""
        return [outcome for rows in self.outcomes.values() for outcome in rows]


def execute_plan(
    admin: Admin,
    planned: PlannedGroups,
    run: JournalWriter,
    *,
    deadline: Deadline,
    pause: Callable[[float], None] = time.sleep,
) -> Execution:
    """Make the changes of a plan that were recorded as this run, record the outcome of each, and return them."""
    changes = planned.changes()
    made = _make(admin, changes, deadline, pause) if changes else []
    notes = _record(run, made)
    in_order = iter(made)
    outcomes = {group: tuple(_outcome(row, in_order) for row in rows) for group, rows in planned.rows.items()}
    failures = tuple(summarize_failures(_failures_by_group(outcomes)))
    return Execution(outcomes, failures, tuple(notes), run.id)


def _record(run: JournalWriter, outcomes: Sequence[Outcome]) -> list[Note]:
    """Record the outcomes. If that fails, they are still reported, and `undo` reads them back from the cluster."""
    try:
        run.record(enumerate(outcomes))
        run.finish()
    except JournalError as error:
        return [Note(NoteKind.JOURNAL, None, f"Warning: {error}")]
    return []


def _outcome(row: PlannedChange, made: Iterator[Outcome]) -> Outcome:
    """Return the outcome of a row; `made` has those of the rows that are not refused, in their order."""
    if row.refusal is not None:
        return Outcome(row.change, Status.REFUSED, row.note, row.refusal)
    outcome = next(made)
    return outcome._replace(note=", ".join(filter(None, (row.note, outcome.note)))) if row.note else outcome


def _make(admin: Admin, changes: Sequence[Change], deadline: Deadline, pause: Callable[[float], None]) -> list[Outcome]:
    """Make the changes; return the outcome of each, in their order."""
    failures = send_changes(admin, changes, deadline)
    too_large = {change: why for change, why in zip(changes, failures, strict=True) if why and is_too_large(why)}
    if too_large:
        settled = send_halves(admin, too_large, deadline=deadline)
        failures = [settled.get(change, why) for change, why in zip(changes, failures, strict=True)]
    outcomes = [
        Outcome(change, Status.DONE if why is None else Status.FAILED, failure=why)
        for change, why in zip(changes, failures, strict=True)
    ]
    lost = {each.change: why for each in outcomes if (why := each.failure) is not None and why.name == OUTCOME_UNKNOWN}
    if lost:
        read = read_back(admin, lost, timeout_s=min(_READ_BACK_S, deadline.timeout_s), pause=pause)
        outcomes = [read.get(each.change, each) for each in outcomes]
    return outcomes


def _failures_by_group(outcomes: Mapping[str, Sequence[Outcome]]) -> dict[str, list[Failure | None]]:
    return {group: [outcome.failure for outcome in rows] for group, rows in outcomes.items()}
