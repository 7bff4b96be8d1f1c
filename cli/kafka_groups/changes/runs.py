"""The runs of a journal, in their order."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from kafka_groups.changes.change import Status
from kafka_groups.changes.journal_location import SUFFIX, JournalLocation, reason_of
from kafka_groups.changes.run_record import Run, read_record
from kafka_groups.changes.run_status import RunStatus, count_rows, find_statuses
from kafka_groups.errors import JournalError
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.suggestions import did_you_mean

_ID: Final = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-z]+")
_START_OF_ID: Final = re.compile(r"[0-9a-z-]+")


class ListedRun(NamedTuple):
    """A run in a list. `rows` is the number of its rows in each status; PLANNED are those without an outcome."""

    run: Run
    status: RunStatus
    rows: Mapping[Status, int]

    @property
    def groups(self) -> tuple[str, ...]:
        """Return the groups that the run was for."""
        return tuple(sorted({*(change.group for change in self.run.plan.changes), *self.run.other_groups}))


class RunList(NamedTuple):
    """The runs of a journal, newest first, with a note for each file that is not the record of a run."""

    runs: tuple[ListedRun, ...]
    notes: tuple[Note, ...]
    # The ids of files that should be records, and cannot be read.
    damaged: tuple[str, ...] = ()


def list_ids(location: JournalLocation) -> list[str]:
    """Return the ids of all runs, latest time first; raise JournalError if the journal cannot be read."""
    return sorted((name.removesuffix(SUFFIX) for name in _names(location) if _is_record(name)), reverse=True)


def read_run(location: JournalLocation, run_id: str) -> Run:
    """Return the run with this id, or with an id that starts so if there is only one.

    Raises JournalError if there is none, if its record is malformed, or if it ended before it changed anything.
    """
    if not _START_OF_ID.fullmatch(run_id):
        msg = f"'{run_id}' is not the id of a run; `kafka-groups undo --list` lists the ids"
        raise JournalError(msg)
    ids = list_ids(location)
    found = [run_id] if run_id in ids else [each for each in ids if each.startswith(run_id)]
    if len(found) != 1:
        reason = f"{len(found)} runs have ids that start with '{run_id}'" if found else f"there is no run '{run_id}'"
        hint = "" if found else did_you_mean(run_id, ids)
        msg = f"{reason} in {location.name}; `kafka-groups undo --list` lists the ids{hint}"
        raise JournalError(msg)
    run = read_record(location, found[0])
    if not run.is_whole:
        msg = f"run {found[0]} ended before its record was written, so it changed nothing; there is nothing to undo"
        raise JournalError(msg)
    return run


def list_runs(location: JournalLocation) -> RunList:
    """Return all runs, newest first; raise JournalError if the journal cannot be read.

    The order is that of the sequence numbers, so that a clock that was set back does not matter. Runs without one,
    of earlier versions and of stores, come by their times.
    """
    runs: list[Run] = []
    notes: list[Note] = []
    damaged: list[str] = []
    for name in _names(location):
        if not _is_record(name):
            text = f"{name} in {location.name} is not the record of a run; it was skipped"
            notes.append(Note(NoteKind.JOURNAL, None, text))
            continue
        run_id = name.removesuffix(SUFFIX)
        try:
            runs.append(read_record(location, run_id))
        except JournalError as error:
            notes.append(Note(NoteKind.JOURNAL, None, f"{error}; it was skipped"))
            damaged.append(run_id)
    runs.sort(key=_newest, reverse=True)
    statuses = find_statuses(runs)
    listed = tuple(ListedRun(run, statuses[run.id], count_rows(run)) for run in runs)
    return RunList(listed, tuple(notes), tuple(damaged))


def _newest(run: Run) -> tuple[bool, int, float, str]:
    has_sequence = run.sequence is not None
    return has_sequence, run.sequence or 0, run.created_at.timestamp(), run.id


def _names(location: JournalLocation) -> list[str]:
    try:
        return location.names()
    except OSError as error:
        msg = f"cannot read the journal in {location.name}: {reason_of(error)}; check its permissions"
        raise JournalError(msg) from error


def _is_record(name: str) -> bool:
    return name.endswith(SUFFIX) and _ID.fullmatch(name.removesuffix(SUFFIX)) is not None
