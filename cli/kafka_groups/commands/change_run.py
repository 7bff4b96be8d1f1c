"""The steps of a command that changes groups: print and export the plan, prompt, execute it, report the outcomes."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Final, TypeAlias

from kafka_groups.changes.change import Change, Outcome, Plan, PlannedChange, PlannedGroups, Status
from kafka_groups.changes.csv_file import format_csv
from kafka_groups.changes.execution import Execution, execute_plan
from kafka_groups.changes.journal import JournalWriter, RunHead, begin_run
from kafka_groups.changes.journal_location import JournalLocation, open_journal
from kafka_groups.changes.plan_file import format_plan
from kafka_groups.changes.plan_rows import NO_FILE, PlanRows
from kafka_groups.changes.run_record import moves_commit
from kafka_groups.commands.change_options import JOURNAL_VARIABLE, ChangeOptions
from kafka_groups.commands.change_prompt import confirm_changes
from kafka_groups.commands.change_session import STDOUT
from kafka_groups.errors import (
    ChangeRefusedError,
    ExportError,
    IncompleteResultError,
    KafkaGroupsError,
    UnwrittenResultError,
)
from kafka_groups.exit_codes import ResultStatus
from kafka_groups.model import Failure
from kafka_groups.options.cluster_session import ClusterSession
from kafka_groups.options.export import export_text
from kafka_groups.options.signals import StopRequest, defer_signals
from kafka_groups.rendering.columns import Entry
from kafka_groups.rendering.counts import count_of
from kafka_groups.rendering.screen import print_note, silence
from kafka_groups.rendering.views.changes import CHANGE_VIEWS, ChangeView

# Why a group is refused as a whole, before it has rows: this tool does not try the change.
_REFUSALS: Final = frozenset({"NON_EMPTY_GROUP", ChangeRefusedError.name})
_CHANGED: Final = frozenset({Status.DONE, Status.UNKNOWN})

Rows: TypeAlias = Mapping[str, Sequence[PlannedChange | Outcome]]


@dataclass(frozen=True, kw_only=True)
class ChangeRun:
    """One run of a command that changes groups.

    `summarize` returns a sentence on what changes do, such as how many records are read again. `file` are the rows of
    a plan, which belongs to one cluster. `undoes` is the ID
    of the run that this one undoes, and `settles` whether a plan shows that nothing of it is left. `csv_with_group` is
    the form of a plan that is exported as CSV; None if the command has no such form.
    """

    session: ClusterSession
    command: str
    options: ChangeOptions
    summarize: Callable[[Sequence[Change]], str]
    force: bool = False
    file: PlanRows = NO_FILE
    undoes: str | None = None
    settles: Callable[[PlannedGroups], bool] = lambda _: False
    csv_with_group: bool | None = None

    @property
    def _view(self) -> ChangeView:
        return CHANGE_VIEWS[self.command]

    @cached_property
    def _journal(self) -> JournalLocation:
        return open_journal(self.options.journal)

    def finish(self, plan: Callable[[], PlannedGroups]) -> None:
        """Make the plan, and show or execute it.

        Raises IncompleteResultError if anything was refused, failed or is unknown. What `--execute` tried is recorded
        also where it changed nothing, so that `undo` does not take the run before it.
        """
        planned = PlannedGroups()
        with self._record_if_raised(lambda: planned):
            self.file.require_cluster(self.session.admin, timeout=self.session.deadline)
            planned = plan()
            failures = (*planned.failures, *planned.refusals())
            changes = planned.changes()
            self.session.failures = failures
            self._export(changes)
        if self.options.execute and changes:
            self._confirm_and_execute(planned, changes)
            return
        notes = (*planned.notes, self.summarize(changes))
        is_settled = self.settles(planned)
        last = (
            self._record_attempt(planned, settles=is_settled)
            if self.options.execute
            else self._explain_no_change(changes)
        )
        with self._last_line(last):
            self._write(planned.rows, failures, notes, anything_succeeded=bool(changes) or not failures)

    def _explain_no_change(self, changes: Sequence[Change]) -> str:
        if not changes or self.options.dry_run:
            return "Nothing was changed."
        return "Nothing was changed; --execute makes these changes."

    @contextmanager
    def _record_if_raised(self, planned: Callable[[], PlannedGroups]) -> Iterator[None]:
        """Record an attempt that ends before its plan is executed, also one that the user interrupts."""
        try:
            yield
        except (KafkaGroupsError, KeyboardInterrupt, SystemExit):
            if self.options.execute:
                self.session.print_notes([self._record_attempt(planned(), failures=1)])
            raise

    def _record_attempt(self, planned: PlannedGroups, *, failures: int = 0, settles: bool = False) -> str:
        """Record a run that makes no change of a plan; return a sentence for the user.

        `settles` says that a plan, which was made as a whole, shows that nothing is left to undo.
        """
        rows = sum(len(each) for each in planned.rows.values())
        try:
            head = self._head(planned._replace(rows={}), settles=settles)
            run = begin_run(
                self._journal,
                head._replace(
                    refused=head.refused + rows,
                    failures=head.failures + failures,
                    other_groups=tuple(sorted(_groups_of(planned))),
                ),
            )
            run.finish()
        except KafkaGroupsError:
            # Nothing depends on this record but the choice of an undo without an ID.
            return "Nothing was changed. The attempt could not be recorded: give `kafka-groups undo` an ID."
        return f"Nothing was changed; the attempt is recorded as {run.id} in {self._journal.name}."

    def _confirm_and_execute(self, planned: PlannedGroups, changes: Sequence[Change]) -> None:
        with self._record_if_raised(lambda: planned):
            is_confirmed = self.options.yes or confirm_changes(
                self.session, self._view, planned, self.summarize(changes)
            )
        if not is_confirmed:
            self.session.end_early(self.session.failures)
            print_note(self.session.screen, self._record_attempt(planned))
            raise IncompleteResultError(ResultStatus.FAILED)
        begun: list[str] = []
        with defer_signals() as stop:
            try:
                execution = execute_plan(
                    self.session.admin,
                    planned,
                    begin=partial(self._begin, stop, begun),
                    deadline=self.session.deadline.renew(),
                    force=self.force,
                )
            except (KafkaGroupsError, KeyboardInterrupt, SystemExit):
                print_note(self.session.screen, self._explain_interruption(planned, begun))
                raise
            self._report(planned, changes, execution)
            stop.raise_if_received()

    def _explain_interruption(self, planned: PlannedGroups, begun: Sequence[str]) -> str:
        """Return what is left of an execution that was interrupted; record it if it had not begun."""
        if not begun:
            return self._record_attempt(planned, failures=1)
        return f"Run {begun[0]} is unfinished; `{self._undo_command(begun[0])}` finds out what was changed."

    def _report(self, planned: PlannedGroups, changes: Sequence[Change], execution: Execution) -> None:
        """Print the outcomes; what was made is printed on stderr also if stdout cannot be written."""
        made = [each.change for each in execution.all_outcomes() if each.status is Status.DONE]
        # Notes that were printed before the prompt are not repeated.
        known = () if self.options.yes else (*planned.notes, self.summarize(changes))
        notes = [note for note in (*planned.notes, *execution.notes, self.summarize(made)) if note not in known]
        failures = (*planned.failures, *execution.failures)
        changed = [each.change for each in execution.all_outcomes() if each.status in _CHANGED]
        with self._last_line(self._explain_change(execution, changed)):
            try:
                self._write(execution.outcomes, failures, notes, anything_succeeded=bool(changed))
            except OSError as error:
                silence(self.session.screen.out)
                self.session.is_ended = True
                self.session.print_remaining_failures(failures)
                count = count_of(len(changed), "change was", "changes were")
                done = f"{count} made" if changed else "nothing was changed"
                msg = f"cannot write the results to stdout: {error.strerror or error}; {done}"
                raise (UnwrittenResultError(msg) if changed else ExportError(msg)) from error

    def _begin(self, stop: StopRequest, begun: list[str], planned: PlannedGroups) -> JournalWriter:
        stop.raise_if_received()
        run = begin_run(self._journal, self._head(planned, settles=False))
        begun.append(run.id)
        return run

    def _head(self, planned: PlannedGroups, *, settles: bool) -> RunHead:
        rows = [row for each in planned.rows.values() for row in each]
        changes = [row.change for row in rows if row.refusal is None]
        refused_groups = [why for why in planned.failures if why.name in _REFUSALS]
        return RunHead(
            command=self.command,
            plan=self._plan(changes),
            bootstrap_servers=self.session.admin.bootstrap_servers,
            undoes=self.undoes,
            settles=settles,
            refused=len(rows) - len(changes) + len(refused_groups),
            failures=len(planned.failures) - len(refused_groups),
            other_groups=tuple(sorted(_groups_of(planned) - {change.group for change in changes})),
        )

    def _explain_change(self, execution: Execution, changed: Sequence[Change]) -> str:
        where = f"{execution.run_id} in {self._journal.name}"
        if not changed:
            return f"Nothing was changed; the attempt is recorded as {where}."
        if not any(moves_commit(change) for change in changed):
            reason = "it cannot be undone" if any(each.key is None for each in changed) else "no commit was changed"
            return f"Recorded as {where}; {reason}."
        return f"Recorded as {where}; `{self._undo_command(execution.run_id)}` takes it back."

    def _undo_command(self, run_id: str) -> str:
        """Return the command that takes back a run, with the journal unless the environment names it."""
        journal = self.options.journal
        if journal is None or journal == os.environ.get(JOURNAL_VARIABLE):
            return f"kafka-groups undo {run_id}"
        return f"kafka-groups undo {run_id} --journal {shlex.quote(journal)}"

    def _plan(self, changes: Sequence[Change]) -> Plan:
        return Plan(self.session.admin.cluster_id(timeout=self.session.deadline), datetime.now(UTC), tuple(changes))

    def _export(self, changes: Sequence[Change]) -> None:
        """Write the changes to the file of --export, before anything is executed."""
        name = self.options.export
        if name is None:
            return
        if self.csv_with_group is None or name.endswith(".json"):
            text = format_plan(self._plan(changes))
        else:
            rows = [
                (each.group, each.topic, each.partition, each.new_offset)
                for each in changes
                if each.topic is not None and each.partition is not None and each.new_offset is not None
            ]
            text = format_csv(rows, with_group=self.csv_with_group)
        self.session.end_progress()
        if name == STDOUT:
            self._print_export(text)
        else:
            try:
                export_text(name, text, what="the plan")
            except ExportError as error:
                msg = f"{error}; nothing was changed"
                raise ExportError(msg) from error
            print_note(self.session.screen, f"The plan was written to {name}.")

    def _print_export(self, text: str) -> None:
        """Print a plan, and raise ExportError if nobody can read it: then it is not executed."""
        try:
            self.session.screen.write_utf8(text)
            self.session.screen.out.flush()
        except OSError as error:
            silence(self.session.screen.out)
            msg = f"cannot write the plan to stdout: {error.strerror or error}; nothing was changed"
            raise ExportError(msg) from error

    def _write(
        self, rows: Rows, failures: Sequence[Failure], notes: Iterable[str], *, anything_succeeded: bool
    ) -> None:
        columns = self._view.view.table(options={"--execute"} if self.options.execute else ())
        self.session.write(
            (
                Entry(columns, self._view.rows(changes), partial(self._view.document, group, changes))
                for group, changes in rows.items()
            ),
            total=len(rows),
            failures=failures,
            anything_succeeded=anything_succeeded,
            after_rows=partial(self.session.print_notes, filter(None, notes)),
        )

    @contextmanager
    def _last_line(self, text: str) -> Iterator[None]:
        """Print a line after all others, also if the command ends with failures."""
        try:
            yield
        finally:
            print_note(self.session.screen, text)


def _groups_of(planned: PlannedGroups) -> set[str]:
    """Return the groups of a plan, and those that could not be planned."""
    return planned.rows.keys() | {why.group for why in planned.failures if why.group is not None}
