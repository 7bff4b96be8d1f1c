"""Runs of tests with a journal in a directory, and their undo."""

from __future__ import annotations

from pathlib import Path

from kafka_groups.admin import GroupAdmin
from kafka_groups.changes.change import Change, PlannedChange, PlannedGroups
from kafka_groups.changes.journal import JournalWriter, RunHead, begin_run
from kafka_groups.changes.journal_location import LocalJournal
from kafka_groups.changes.runs import read_run
from kafka_groups.changes.undo import plan_undo
from tests.changes.executions import execute_groups, statuses
from tests.changes.plans import plan


class Silent(JournalWriter):
    """The journal of a run that is killed before it records outcomes."""

    def record(self, outcomes: object) -> None:
        """Record nothing."""

    def finish(self) -> None:
        """Record nothing."""


def change(admin: GroupAdmin, directory: Path, *changes: Change, is_killed: bool = False) -> str:
    """Execute changes, and return the ID of their run."""

    location = LocalJournal(directory)

    def begin(planned: PlannedGroups) -> JournalWriter:
        writer = begin_run(location, RunHead("reset", plan(*planned.changes())))
        return Silent(location, writer.id) if is_killed else writer

    groups = dict.fromkeys(each.group for each in changes)
    planned = PlannedGroups(rows={g: tuple(PlannedChange(each) for each in changes if each.group == g) for g in groups})
    return execute_groups(admin, planned, begin).run_id


def undo(admin: GroupAdmin, directory: Path, run_id: str) -> PlannedGroups:
    """Plan the undo of a run."""
    return plan_undo(admin, read_run(LocalJournal(directory), run_id))


def take_back(admin: GroupAdmin, directory: Path, run_id: str) -> list[str]:
    """Undo a run, record that, and return the status of each row."""

    def begin(planned: PlannedGroups) -> JournalWriter:
        return begin_run(LocalJournal(directory), RunHead("undo", plan(*planned.changes()), undoes=run_id))

    planned = undo(admin, directory, run_id)
    return statuses(execute_groups(admin, planned, begin))
