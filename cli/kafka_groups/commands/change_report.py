"""What a command that changes groups prints: its plan, or the outcomes of the changes.

Rows go to stdout; notes, failures and the last line go to stderr, in this order. The exit code follows from the
failures: `ClusterSession.write` raises IncompleteResultError, which is 3 if anything succeeded, and otherwise 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from kafka_groups.changes.change import Outcome, PlannedChange, PlannedGroups, Status
from kafka_groups.changes.execution import Execution
from kafka_groups.changes.run_record import moves_commit
from kafka_groups.errors import ExportError, KafkaGroupsError, UnwrittenResultError
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.model import Failure
from kafka_groups.options.cluster_session import ClusterSession
from kafka_groups.rendering.columns import Column, Entry
from kafka_groups.rendering.counts import count_of
from kafka_groups.rendering.screen import print_note, silence
from kafka_groups.rendering.views.changes import ChangeView

_CHANGED: Final = frozenset({Status.DONE, Status.UNKNOWN})

Rows: TypeAlias = Mapping[str, Sequence[PlannedChange | Outcome]]


class ChangeReport(NamedTuple):
    """What is printed. The last line is printed also if the others cannot be."""

    rows: Rows
    failures: Sequence[Failure]
    notes: Sequence[Note]
    anything_succeeded: bool
    last_line: str


def report_plan(planned: PlannedGroups, summary: str, last_line: str) -> ChangeReport:
    """Return the report on a plan that is not executed."""
    failures = planned.all_failures()
    return ChangeReport(
        rows=planned.rows,
        failures=failures,
        notes=[*planned.notes, *note_summary(summary)],
        anything_succeeded=bool(planned.changes()) or not failures,
        last_line=last_line,
    )


def note_summary(summary: str) -> list[Note]:
    """Return a note on what changes do; an empty summary is none."""
    return [Note(NoteKind.SUMMARY, None, summary)] if summary else []


def report_execution(planned: PlannedGroups, execution: Execution, summary: str, last_line: str) -> ChangeReport:
    """Return the report on an execution. The session does not repeat notes that it printed before the prompt."""
    return ChangeReport(
        rows=execution.outcomes,
        failures=(*planned.failures, *execution.failures),
        notes=[*planned.notes, *execution.notes, *note_summary(summary)],
        anything_succeeded=any(outcome.status in _CHANGED for outcome in execution.all_outcomes()),
        last_line=last_line,
    )


def describe_record(execution: Execution, journal: str, undo_command: str) -> str:
    """Return the last line of an execution: where it is recorded, and how it is taken back."""
    changed = [outcome.change for outcome in execution.all_outcomes() if outcome.status in _CHANGED]
    where = f"{execution.run_id} in {journal}"
    if not changed:
        return f"Nothing was changed; the attempt is recorded as {where}."
    if not any(moves_commit(change) for change in changed):
        # Altering a start offset to what it was discards the delivery state all the same.
        is_lost = any(change.key is None or change.has_start_offset for change in changed)
        reason = "it cannot be undone" if is_lost else "no commit was changed"
        return f"Recorded as {where}; {reason}."
    return f"Recorded as {where}; `{undo_command}` takes it back."


def print_plan(session: ClusterSession, view: ChangeView, columns: Sequence[Column], report: ChangeReport) -> None:
    """Print a plan. Raises IncompleteResultError if anything was refused or failed."""
    try:
        _write(session, view, columns, report)
    finally:
        print_note(session.screen, report.last_line)


def print_outcomes(session: ClusterSession, view: ChangeView, columns: Sequence[Column], report: ChangeReport) -> None:
    """Print the outcomes of changes. Raises IncompleteResultError if one was refused, failed or is unknown.

    If stdout cannot be written, stderr still has all failures and the number of changes that were made.
    """
    try:
        _write(session, view, columns, report)
    except OSError as error:
        silence(session.screen.out)
        session.is_ended = True
        session.print_remaining_failures(report.failures)
        raise _unwritten(report, error) from error
    finally:
        print_note(session.screen, report.last_line)


def _unwritten(report: ChangeReport, error: OSError) -> KafkaGroupsError:
    statuses = [row.status for rows in report.rows.values() for row in rows if isinstance(row, Outcome)]
    changed = sum(status in _CHANGED for status in statuses)
    count = count_of(changed, "change was", "changes were")
    done = f"{count} made" if changed else "nothing was changed"
    msg = f"cannot write the results to stdout: {error.strerror or error}; {done}"
    return UnwrittenResultError(msg) if changed else ExportError(msg)


def _write(session: ClusterSession, view: ChangeView, columns: Sequence[Column], report: ChangeReport) -> None:
    session.write(
        (
            Entry(columns, view.rows(changes), partial(view.document, group, changes))
            for group, changes in report.rows.items()
        ),
        total=len(report.rows),
        failures=report.failures,
        anything_succeeded=report.anything_succeeded,
        notes_after_rows=lambda: report.notes,
    )
