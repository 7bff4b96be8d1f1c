"""The steps of a command that changes groups: print and export the plan, prompt, execute it, report the outcomes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Final, TypeAlias

import click

from kafka_groups.changes.change import Change, Outcome, Plan, PlannedChange, PlannedGroups, Status
from kafka_groups.changes.csv_file import format_csv
from kafka_groups.changes.execution import Execution, execute_plan
from kafka_groups.changes.journal import JournalWriter, begin_run, journal_directory
from kafka_groups.changes.plan_file import format_plan
from kafka_groups.commands.change_options import ChangeOptions
from kafka_groups.commands.cluster_session import ClusterSession, open_session
from kafka_groups.commands.connection_options import Connection
from kafka_groups.commands.export import export_text
from kafka_groups.commands.signals import StopRequest, defer_signals
from kafka_groups.errors import ExportError, IncompleteResultError
from kafka_groups.model import Failure
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.stderr import print_note
from kafka_groups.rendering.views.changes import CHANGE_VIEWS, ChangeView
from kafka_groups.rendering.writers import Entry, Writer, open_data_writer

STDOUT: Final = "-"
_MAX_PREVIEW_ROWS: Final = 50
_CHANGED: Final = frozenset({Status.DONE, Status.UNKNOWN})

Rows: TypeAlias = Mapping[str, Sequence[PlannedChange | Outcome]]


@dataclass(frozen=True, kw_only=True)
class ChangeRun:
    """One run of a command that changes groups.

    `summarize` returns a sentence on what changes do, such as how many records are read again. `undoes` is the ID
    of the run that this one undoes. `csv_with_group` is the form of a plan that is exported as CSV; None if the
    command has no such form.
    """

    session: ClusterSession
    command: str
    options: ChangeOptions
    summarize: Callable[[Sequence[Change]], str]
    force: bool = False
    undoes: str | None = None
    csv_with_group: bool | None = None

    @property
    def _view(self) -> ChangeView:
        return CHANGE_VIEWS[self.command]

    def finish(self, planned: PlannedGroups) -> None:
        """Show or execute the plan. Raises IncompleteResultError if anything was refused, failed or is unknown."""
        failures = (*planned.failures, *planned.refusals())
        changes = planned.changes()
        self.session.failures = failures
        self._export(changes)
        if self.options.execute and changes:
            self._confirm_and_execute(planned, changes)
            return
        notes = (*planned.notes, self.summarize(changes))
        with self._last_line(self._explain_no_change(changes)):
            self._write(planned.rows, failures, notes, anything_succeeded=bool(changes) or not failures)

    def _explain_no_change(self, changes: Sequence[Change]) -> str:
        if not changes or self.options.dry_run:
            return "Nothing was changed."
        return "Nothing was changed; --execute makes these changes."

    def _confirm_and_execute(self, planned: PlannedGroups, changes: Sequence[Change]) -> None:
        if not self.options.yes and not self._confirm(planned, changes):
            self.session.end_early(self.session.failures)
            print_note(self.session.screen, "Nothing was changed.")
            raise IncompleteResultError(anything_succeeded=False)
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
            except (KeyboardInterrupt, SystemExit):
                for run_id in begun:
                    text = f"Run {run_id} is unfinished; `kafka-groups undo {run_id}` finds out what was changed."
                    print_note(self.session.screen, text)
                raise
            made = [each.change for each in execution.all_outcomes() if each.status is Status.DONE]
            # Notes that were printed before the prompt are not repeated.
            known = () if self.options.yes else (*planned.notes, self.summarize(changes))
            notes = [note for note in (*planned.notes, *execution.notes, self.summarize(made)) if note not in known]
            failures = (*planned.failures, *execution.failures)
            changed = [each.change for each in execution.all_outcomes() if each.status in _CHANGED]
            with self._last_line(self._explain_change(execution, changed)):
                self._write(execution.outcomes, failures, notes, anything_succeeded=bool(changed))
            stop.raise_if_received()

    def _begin(self, stop: StopRequest, begun: list[str], changes: Sequence[Change]) -> JournalWriter:
        if stop.is_received():
            print_note(self.session.screen, "Nothing was changed.")
            stop.raise_if_received()
        run = begin_run(journal_directory(), command=self.command, plan=self._plan(changes), undoes=self.undoes)
        begun.append(run.id)
        return run

    def _explain_change(self, execution: Execution, changed: Sequence[Change]) -> str:
        if not execution.run_id:
            return "Nothing was changed."
        if not changed:
            return f"Nothing was changed; the attempt is recorded as {execution.run_id}."
        if all(change.key is None for change in changed):
            return f"Recorded as {execution.run_id}; `kafka-groups undo` cannot take it back."
        return f"Recorded as {execution.run_id}; `kafka-groups undo {execution.run_id}` takes it back."

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
            self.session.screen.write_utf8(text)
        else:
            try:
                export_text(name, text, what="the plan")
            except ExportError as error:
                msg = f"{error}; nothing was changed"
                raise ExportError(msg) from error
            print_note(self.session.screen, f"The plan was written to {name}.")

    def _confirm(self, planned: PlannedGroups, changes: Sequence[Change]) -> bool:
        """Print the plan on stderr, prompt, and return whether the user agrees. Ctrl-C raises KeyboardInterrupt."""
        from kafka_groups.rendering.writers.table import write_table

        self.session.end_progress()
        screen = self.session.screen
        rows = [row for group in planned.rows.values() for row in self._view.rows(group)]
        preview = screen._replace(out=screen.err, out_is_terminal=screen.err_is_terminal)
        write_table(preview, self._view.view.table(options=()), rows[:_MAX_PREVIEW_ROWS])
        if len(rows) > _MAX_PREVIEW_ROWS:
            print_note(screen, f"… and {len(rows) - _MAX_PREVIEW_ROWS:,} more rows")
        for note in (*planned.notes, self.summarize(changes)):
            print_note(screen, note)
        self.session.print_failures_early((*planned.failures, *planned.refusals()))
        screen.err.write("Make these changes? [y/N] ")
        screen.err.flush()
        answer = sys.stdin.readline()
        if not answer.endswith("\n"):  # Ctrl-D
            screen.err.write("\n")
        return answer.strip().lower() in {"y", "yes"}

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


@contextmanager
def open_change_session(
    connection: Connection, *, command: str, output_format: str, colour: str, change: ChangeOptions
) -> Iterator[ClusterSession]:
    """Open the session of a command that changes groups; without a table if the plan is exported to stdout."""
    if change.export == STDOUT and output_format != "table":
        msg = f"--export - prints the plan in place of the table; --format {output_format} contradicts it"
        raise click.UsageError(msg)
    make_writer = partial(_make_writer, command, output_format, change)
    with open_session(connection, colour=colour, make_writer=make_writer) as session:
        yield session


def _make_writer(command: str, output_format: str, change: ChangeOptions, screen: Screen) -> Writer:
    view = CHANGE_VIEWS[command].view
    if writer := open_data_writer(screen, output_format, command=command, view=view):
        return writer
    columns = view.table(options={"--execute"} if change.execute else (), as_kafka=output_format == "kafka")
    if change.export == STDOUT:
        from kafka_groups.rendering.writers.silent import SilentWriter

        return SilentWriter()
    if output_format == "kafka":
        from kafka_groups.rendering.writers.kafka import KafkaResetWriter

        return KafkaResetWriter(screen, columns)
    from kafka_groups.rendering.writers.table import TableWriter

    return TableWriter(screen, columns)
