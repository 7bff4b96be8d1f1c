"""The runs of a journal: what each one changed, what of it was undone, and its status."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from kafka_groups.changes.change import Change, Status
from kafka_groups.changes.journal_location import SUFFIX, JournalLocation, reason_of
from kafka_groups.changes.run_record import Run, moves_commit, read_record
from kafka_groups.errors import JournalError
from kafka_groups.suggestions import did_you_mean

_ID: Final = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-z]+")
_START_OF_ID: Final = re.compile(r"[0-9a-z-]+")
# A commit: a group, and a partition of a topic.
_Place: TypeAlias = tuple[object, ...]


class RunStatus(StrEnum):
    """What became of a run.

    PARTLY_DONE is also a run with an unknown outcome, UNCHANGED one of which all was refused, and FAILED one that
    certainly changed nothing. An UNFINISHED run was interrupted.
    """

    DONE = "done"
    PARTLY_DONE = "partly done"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    UNFINISHED = "unfinished"
    UNDONE = "undone"
    PARTLY_UNDONE = "partly undone"


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
    notes: tuple[str, ...]
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
    notes: list[str] = []
    damaged: list[str] = []
    for name in _names(location):
        if not _is_record(name):
            notes.append(f"{name} in {location.name} is not the record of a run; it was skipped")
            continue
        run_id = name.removesuffix(SUFFIX)
        try:
            runs.append(read_record(location, run_id))
        except JournalError as error:
            notes.append(f"{error}; it was skipped")
            damaged.append(run_id)
    runs.sort(key=_newest, reverse=True)
    return RunList(tuple(_with_status(runs)), tuple(notes), tuple(damaged))


def _newest(run: Run) -> tuple[bool, int, float, str]:
    has_sequence = run.sequence is not None
    return has_sequence, run.sequence or 0, run.created_at.timestamp(), run.id


def _with_status(runs: Iterable[Run]) -> list[ListedRun]:
    known = list(runs)
    undos: dict[str, list[Run]] = {}
    for run in known:
        if run.undoes is not None and run.undoes != run.id:
            undos.setdefault(run.undoes, []).append(run)
    return [ListedRun(run, _status(run, undos), _rows(run)) for run in known]


def _rows(run: Run) -> dict[Status, int]:
    rows = dict.fromkeys(Status, 0)
    for outcome in run.outcomes.values():
        rows[outcome.status] += 1
    rows[Status.PLANNED] = len(run.plan.changes) - len(run.outcomes)
    rows[Status.REFUSED] += run.refused
    return rows


def _status(run: Run, undos: Mapping[str, list[Run]]) -> RunStatus:
    """Return the status of a run: undone if effective undos restored all that it is known to have changed."""
    effective = [undo for undo in undos.get(run.id, []) if _is_effective(undo, undos)]
    if any(undo.settles and undo.is_finished for undo in effective):
        return RunStatus.UNDONE
    restored = {place for undo in effective for place in _kept(undo, undos)}
    if not (restored & _places(run.changed())):
        return _own_status(run)
    is_all_known = _places(run.made()) <= restored and not run.uncertain()
    is_complete = is_all_known or any(_is_complete(undo, undos) for undo in effective)
    return RunStatus.UNDONE if is_complete else RunStatus.PARTLY_UNDONE


def _is_effective(undo: Run, undos: Mapping[str, list[Run]]) -> bool:
    """Return whether anything that an undo restored is still restored; the undo of an undo takes it back."""
    return _status(undo, undos) is not RunStatus.UNDONE


def _kept(undo: Run, undos: Mapping[str, list[Run]]) -> set[_Place]:
    """Return the commits that an undo restored, without those that later runs took back."""
    taken_back = {
        place for later in undos.get(undo.id, []) if _is_effective(later, undos) for place in _kept(later, undos)
    }
    return _places(undo.made()) - taken_back


def _is_complete(undo: Run, undos: Mapping[str, list[Run]]) -> bool:
    """Return whether an undo, which reads all commits of its run, left none of them, and was not taken back."""
    made = undo.made()
    is_all_made = undo.is_finished and bool(made) and len(made) == len(undo.plan.changes)
    is_all_planned = undo.has_counts and not (undo.refused or undo.failures)
    return is_all_made and is_all_planned and _kept(undo, undos) == _places(made)


def _places(changes: Iterable[Change]) -> set[_Place]:
    return {(change.group, change.key) for change in changes if moves_commit(change)}


def _own_status(run: Run) -> RunStatus:
    """Return the status of a run that nobody undid."""
    rows = _rows(run)
    if not run.is_finished:
        return RunStatus.UNFINISHED
    if rows[Status.UNKNOWN]:
        return RunStatus.PARTLY_DONE
    is_short = bool(rows[Status.FAILED] or rows[Status.REFUSED] or run.failures)
    if any(moves_commit(change) or change.key is None for change in run.made()):
        return RunStatus.PARTLY_DONE if is_short else RunStatus.DONE
    return RunStatus.FAILED if rows[Status.FAILED] or run.failures else RunStatus.UNCHANGED


def _names(location: JournalLocation) -> list[str]:
    try:
        return location.names()
    except OSError as error:
        msg = f"cannot read the journal in {location.name}: {reason_of(error)}; check its permissions"
        raise JournalError(msg) from error


def _is_record(name: str) -> bool:
    return name.endswith(SUFFIX) and _ID.fullmatch(name.removesuffix(SUFFIX)) is not None
