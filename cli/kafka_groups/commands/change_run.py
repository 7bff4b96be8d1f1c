"""The steps of a command that changes groups.

A command makes its plan inside `ChangeRun.planning`, and passes it to `ChangeRun.finish`. The steps after the plan:

    without --execute      export, print the plan
    with --execute         export, prompt, check again, record the plan, make the changes, record and print the outcomes

With --execute every command leaves a record, also one that changes nothing: otherwise an undo without an ID would take
the run before it. `change_report` has what is printed, and from which follows the exit code.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from kafka_groups.changes.change import Change, Plan, PlannedGroups, Status
from kafka_groups.changes.execution import Execution, execute_plan
from kafka_groups.changes.journal import JournalWriter, RunHead, begin_run
from kafka_groups.changes.journal_location import JournalLocation, open_journal
from kafka_groups.changes.plan_rows import NO_FILE, PlanRows
from kafka_groups.changes.run_head import head_of_attempt, head_of_run
from kafka_groups.changes.validity import check_again
from kafka_groups.commands.change_export import export_plan
from kafka_groups.commands.change_options import JOURNAL_VARIABLE, ChangeOptions
from kafka_groups.commands.change_prompt import confirm_changes
from kafka_groups.commands.change_report import (
    describe_record,
    print_outcomes,
    print_plan,
    report_execution,
    report_plan,
)
from kafka_groups.errors import IncompleteResultError, KafkaGroupsError
from kafka_groups.exit_codes import ResultStatus
from kafka_groups.options.cluster_session import ClusterSession
from kafka_groups.options.signals import defer_signals
from kafka_groups.rendering.columns import Column
from kafka_groups.rendering.screen import print_note
from kafka_groups.rendering.views.changes import CHANGE_VIEWS, ChangeView


@dataclass(frozen=True, kw_only=True)
class ChangeRun:
    """One run of a command that changes groups.

    `file` are the rows of a plan, which belongs to one cluster. `undoes` is the ID of the run that this one undoes.
    `csv_with_group` is the form of a plan that is exported as CSV; None if the command has no such form.
    """

    session: ClusterSession
    command: str
    options: ChangeOptions
    force: bool = False
    file: PlanRows = NO_FILE
    undoes: str | None = None
    csv_with_group: bool | None = None

    @contextmanager
    def planning(self) -> Iterator[None]:
        """Make the plan inside this context. It requires the cluster of the file, and records a plan that fails."""
        with self._record_if_raised(PlannedGroups()):
            self.file.require_cluster(self.session.admin, timeout=self.session.deadline)
            yield

    def finish(self, planned: PlannedGroups, *, settles: bool = False) -> None:
        """Print the plan, or execute it. `settles` means that the plan shows that nothing is left to undo.

        Raises IncompleteResultError if anything was refused, failed or is unknown, or if the user declines.
        """
        with self._record_if_raised(planned):
            changes = planned.changes()
            self.session.failures = planned.all_failures()
            if self.options.export is not None:
                export_plan(self.session, self.options.export, self._plan(changes), csv_with_group=self.csv_with_group)
        if not self.options.execute:
            self._print_plan(planned, self._explain_dry_run(changes))
        elif not changes:
            self._print_plan(planned, self._record_attempt(planned, settles=settles))
        elif self._confirm(planned):
            self._execute(planned)
        else:
            self._decline(planned)

    def _print_plan(self, planned: PlannedGroups, last_line: str) -> None:
        report = report_plan(planned, self._view.summarize(planned.changes()), last_line)
        print_plan(self.session, self._view, self._columns, report)

    def _confirm(self, planned: PlannedGroups) -> bool:
        if self.options.yes:
            return True
        with self._record_if_raised(planned):
            return confirm_changes(self.session, self._view, planned, self._view.summarize(planned.changes()))

    def _decline(self, planned: PlannedGroups) -> None:
        self.session.end_early(self.session.failures)
        print_note(self.session.screen, self._record_attempt(planned))
        raise IncompleteResultError(ResultStatus.FAILED)

    def _execute(self, planned: PlannedGroups) -> None:
        """Execute the plan. A first signal lets the changes that were sent end; a second one ends the run at once."""
        admin = self.session.admin
        deadline = self.session.deadline.renew()
        run: JournalWriter | None = None
        with defer_signals() as stop:
            try:
                valid = check_again(admin, planned, force=self.force, deadline=deadline)
                stop.raise_if_received()
                run = begin_run(self._journal, head_of_run(self._head(), valid))
                execution = execute_plan(admin, valid, run, deadline=deadline)
            except (KafkaGroupsError, KeyboardInterrupt, SystemExit):
                print_note(self.session.screen, self._explain_interruption(planned, run))
                raise
            self._print_outcomes(planned, execution)
            stop.raise_if_received()

    def _print_outcomes(self, planned: PlannedGroups, execution: Execution) -> None:
        made = [each.change for each in execution.all_outcomes() if each.status is Status.DONE]
        last_line = describe_record(execution, self._journal.name, self._undo_command(execution.run_id))
        report = report_execution(planned, execution, self._view.summarize(made), last_line)
        print_outcomes(self.session, self._view, self._columns, report)

    def _explain_dry_run(self, changes: Sequence[Change]) -> str:
        if not changes or self.options.dry_run:
            return "Nothing was changed."
        return "Nothing was changed; --execute makes these changes."

    def _explain_interruption(self, planned: PlannedGroups, run: JournalWriter | None) -> str:
        """Return what is left of an execution that was interrupted; record it if it had not begun."""
        if run is None:
            return self._record_attempt(planned, failures=1)
        return f"Run {run.id} is unfinished; `{self._undo_command(run.id)}` finds out what was changed."

    def _undo_command(self, run_id: str) -> str:
        """Return the command that takes back a run, with the journal unless the environment names it."""
        journal = self.options.journal
        if journal is None or journal == os.environ.get(JOURNAL_VARIABLE):
            return f"kafka-groups undo {run_id}"
        return f"kafka-groups undo {run_id} --journal {shlex.quote(journal)}"

    @contextmanager
    def _record_if_raised(self, planned: PlannedGroups) -> Iterator[None]:
        """Record an attempt that ends before its plan is executed, also one that the user interrupts."""
        try:
            yield
        except (KafkaGroupsError, KeyboardInterrupt, SystemExit):
            if self.options.execute:
                self.session.print_messages([self._record_attempt(planned, failures=1)])
            raise

    def _record_attempt(self, planned: PlannedGroups, *, failures: int = 0, settles: bool = False) -> str:
        """Record a run that makes no change of a plan; return a sentence for the user."""
        try:
            head = self._head()._replace(settles=settles)
            run = begin_run(self._journal, head_of_attempt(head, planned, failures=failures))
            run.finish()
        except KafkaGroupsError:
            # Nothing depends on this record but the choice of an undo without an ID.
            return "Nothing was changed. The attempt could not be recorded: give `kafka-groups undo` an ID."
        return f"Nothing was changed; the attempt is recorded as {run.id} in {self._journal.name}."

    def _head(self) -> RunHead:
        """Return what a record has of every run."""
        return RunHead(
            command=self.command,
            plan=self._plan(()),
            bootstrap_servers=self.session.admin.bootstrap_servers,
            undoes=self.undoes,
        )

    def _plan(self, changes: Sequence[Change]) -> Plan:
        return Plan(self.session.admin.cluster_id(timeout=self.session.deadline), datetime.now(UTC), tuple(changes))

    @cached_property
    def _journal(self) -> JournalLocation:
        return open_journal(self.options.journal)

    @property
    def _view(self) -> ChangeView:
        return CHANGE_VIEWS[self.command]

    @property
    def _columns(self) -> tuple[Column, ...]:
        return self._view.view.table(options={"--execute"} if self.options.execute else ())
