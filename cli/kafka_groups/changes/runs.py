"""The runs of a journal: what each one changed, and whether it was undone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from kafka_groups.changes.change import Change, Plan, Status
from kafka_groups.changes.journal import ID_TIME, SCHEMA, SUFFIX, reason_of
from kafka_groups.changes.plan_file import read_changes, read_time
from kafka_groups.errors import JournalError, PlanFileError
from kafka_groups.suggestions import did_you_mean

RunStatus: TypeAlias = Literal["done", "undone", "unfinished"]

_ID: Final = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-z]+")
_START_OF_ID: Final = re.compile(r"[0-9a-z-]+")


class RecordedOutcome(NamedTuple):
    """The outcome of a change, as its run recorded it; `message` is the reason if it was not made."""

    status: Status
    message: str
    note: str


class Run(NamedTuple):
    """A run with its changes. `outcomes` has those that were recorded, by the index of the change.

    `undoes` is the id of the run that it restores. A run that is not finished may have made each change without an
    outcome.
    """

    id: str
    command: str
    created_at: datetime
    plan: Plan
    undoes: str | None
    outcomes: Mapping[int, RecordedOutcome]
    is_finished: bool

    def made(self) -> list[Change]:
        """Return the changes with the outcome done."""
        return [self.plan.changes[index] for index, each in sorted(self.outcomes.items()) if each.status is Status.DONE]

    def changed(self) -> list[Change]:
        """Return the changes of commits that were made, or may have been.

        A commit that was repeated as it was has changed nothing.
        """
        return [change for index, change in enumerate(self.plan.changes) if self._may_be_made(index) and _moves(change)]

    def _may_be_made(self, index: int) -> bool:
        outcome = self.outcomes.get(index)
        return outcome is None or outcome.status in (Status.DONE, Status.UNKNOWN)


def _moves(change: Change) -> bool:
    """Return whether a change leaves another commit than it found; deletions leave none."""
    return change.key is not None and change.before != change.after


class RunSummary(NamedTuple):
    """A run in a list. `changes` is 0 for a run that ended before it changed anything.

    `is_undoable` is whether it changed a commit, or may have. Of a run that ended while its first line was written,
    only the id and the time are known; other texts are empty.
    """

    id: str
    created_at: datetime
    command: str
    cluster_id: str
    groups: tuple[str, ...]
    changes: int
    status: RunStatus
    undoes: str | None
    is_undoable: bool = False


class RunList(NamedTuple):
    """The runs of a journal, newest first, with a note for each file that is not the journal of a run."""

    runs: tuple[RunSummary, ...]
    notes: tuple[str, ...]
    # The ids of files that should be journals, and cannot be read.
    damaged: tuple[str, ...] = ()


def list_ids(directory: Path) -> list[str]:
    """Return the ids of all runs, newest first; raise JournalError if the directory cannot be read."""
    return sorted((Path(name).stem for name in _names(directory) if _is_journal(name)), reverse=True)


def read_run(directory: Path, run_id: str) -> Run:
    """Return the run with this id, or with an id that starts so if there is only one.

    Raises JournalError if there is none, if its file is malformed, or if it ended before it changed anything.
    """
    if not _START_OF_ID.fullmatch(run_id):
        msg = f"'{run_id}' is not the id of a run; `kafka-groups undo --list` lists the ids"
        raise JournalError(msg)
    ids = list_ids(directory)
    found = [run_id] if run_id in ids else [each for each in ids if each.startswith(run_id)]
    if len(found) != 1:
        reason = f"{len(found)} runs have ids that start with '{run_id}'" if found else f"there is no run '{run_id}'"
        hint = "" if found else did_you_mean(run_id, ids)
        msg = f"{reason} in {directory}; `kafka-groups undo --list` lists the ids{hint}"
        raise JournalError(msg)
    _, run = _read_file(directory, found[0])
    if run is None:
        msg = f"run {found[0]} ended before its journal was written, so it changed nothing; there is nothing to undo"
        raise JournalError(msg)
    return run


def list_runs(directory: Path) -> RunList:
    """Return all runs. A directory that does not exist has none; raises JournalError if it cannot be read.

    A run is unfinished without its last line or an outcome. It is undone if a finished run with only done changes
    undoes it, and finished runs that undo it restored each commit that it is known to have changed, or if a finished
    run without changes undoes it: the cluster showed that nothing is left to restore. A run that was undone itself
    restored nothing.
    """
    found: list[tuple[RunSummary, Run | None]] = []
    notes: list[str] = []
    damaged: list[str] = []
    for name in _names(directory):
        if not _is_journal(name):
            notes.append(f"{directory / name} is not the journal of a run; it was skipped")
            continue
        try:
            found.append(_read_file(directory, Path(name).stem))
        except JournalError as error:
            notes.append(f"{error}; it was skipped")
            damaged.append(Path(name).stem)
    found.sort(key=lambda each: (each[0].created_at, each[0].id), reverse=True)
    return RunList(tuple(_with_status(found)), tuple(notes), tuple(damaged))


def _with_status(found: Iterable[tuple[RunSummary, Run | None]]) -> Iterator[RunSummary]:
    """Yield runs, newest first, with their status: each one is judged after the runs that may undo it."""
    restored: dict[str, set[tuple[object, ...]]] = {}
    undone: set[str] = set()
    without_rest: set[str] = set()
    for summary, run in found:
        status: RunStatus = "done" if run is not None and run.is_finished else "unfinished"
        if run is not None and run.id in undone and (run.id in without_rest or _done(run) <= restored[run.id]):
            status = "undone"
        elif run is not None and run.undoes is not None and status == "done":
            made = run.made()
            # What a later run took back of this one is not restored.
            kept = {(each.group, each.key) for each in made} - restored.get(run.id, set())
            restored.setdefault(run.undoes, set()).update(kept)
            if len(made) == len(run.plan.changes):
                undone.add(run.undoes)
            if not run.plan.changes:
                without_rest.add(run.undoes)
        yield summary._replace(status=status)


def _done(run: Run) -> set[tuple[object, ...]]:
    """Return the commits that a run is known to have changed."""
    return {(each.group, each.key) for each in run.made() if _moves(each)}


def _read_file(directory: Path, run_id: str) -> tuple[RunSummary, Run | None]:
    """Return the run of a file, None if it ended before all changes were written. Raises JournalError."""
    path = directory / f"{run_id}{SUFFIX}"
    try:
        # Only whole lines count: the end of the last one may be missing.
        lines = path.read_bytes().decode("utf-8", "replace").split("\n")[:-1]
        started_at = datetime.strptime(run_id.rpartition("-")[0], ID_TIME).replace(tzinfo=UTC)
        if not lines:
            return RunSummary(run_id, started_at, "", "", (), 0, "unfinished", None), None
        head = _read_head(json.loads(lines[0]), path)
        undoes, count = head["undoes"], head["changes"]
        changes, rest = _read_changes(lines, count, path)
    except OSError as error:
        msg = f"{path} cannot be read: {reason_of(error)}"
        raise JournalError(msg) from error
    except PlanFileError as error:
        raise JournalError(str(error)) from error
    except (ValueError, TypeError, RecursionError) as error:
        msg = f"{path} is not the journal of a run: its name or a line is malformed"
        raise JournalError(msg) from error
    created_at, command = read_time(head["created_at"], str(path)), head["command"]
    is_whole = len(changes) == count
    groups = tuple(sorted({each.group for each in changes})) if is_whole else ()
    number = count if is_whole else 0
    summary = RunSummary(run_id, created_at, command, head["cluster_id"], groups, number, "unfinished", undoes)
    if not is_whole:
        return summary, None
    outcomes, is_finished = _read_outcomes(rest, count)
    plan = Plan(head["cluster_id"], created_at, changes)
    run = Run(run_id, command, created_at, plan, undoes, outcomes, is_finished)
    return summary._replace(is_undoable=bool(run.changed())), run


def _read_head(head: Any, path: Path) -> dict[str, Any]:
    """Return the first line; raise ValueError or PlanFileError if it is not the one of a journal."""
    if not isinstance(head, dict) or head.get("schema") != SCHEMA:
        schema = head.get("schema") if isinstance(head, dict) else None
        msg = f"{path} is not the journal of a run: its schema is {json.dumps(schema)}; expected {SCHEMA}"
        raise PlanFileError(msg)
    count, undoes = head.get("changes"), head.setdefault("undoes", None)
    is_valid = isinstance(count, int) and not isinstance(count, bool) and count >= 0
    is_valid = is_valid and (undoes is None or isinstance(undoes, str)) and head.get("id") == path.stem
    if not is_valid or not all(isinstance(head.get(key), str) for key in ("command", "cluster_id", "created_at")):
        msg = f"{path} is not the journal of a run: its first line is malformed"
        raise PlanFileError(msg)
    read_time(head["created_at"], f"{path}: created_at")
    return head


def _read_changes(lines: Sequence[str], count: int, path: Path) -> tuple[tuple[Change, ...], Sequence[str]]:
    """Return the changes, fewer than `count` if the journal ends before, and the lines after them."""
    changes: list[Change] = []
    at = 1
    while len(changes) < count and at < len(lines):
        at += 1
        changes += read_changes(json.loads(lines[at - 1]), f"{path}, line {at}")
    return tuple(changes), lines[at:]


def _read_outcomes(lines: Iterable[str], count: int) -> tuple[dict[int, RecordedOutcome], bool]:
    """Return the outcomes, and whether the run finished. A malformed line is an outcome that is not known."""
    outcomes: dict[int, RecordedOutcome] = {}
    has_end = False
    for line in lines:
        with suppress(ValueError, RecursionError, TypeError, AttributeError):
            document = json.loads(line)
            has_end = has_end or document.get("finished") is True
            message, note = document.get("message") or "", document.get("note") or ""
            outcome = RecordedOutcome(Status(document.get("status")), str(message), str(note))
            first, last = document.get("changes")
            if first in range(count) and last in range(first, count):
                outcomes.update(dict.fromkeys(range(first, last + 1), outcome))
    return outcomes, has_end and len(outcomes) == count


def _names(directory: Path) -> list[str]:
    try:
        return sorted(path.name for path in directory.iterdir())
    except FileNotFoundError:
        return []
    except OSError as error:
        msg = f"cannot read the journal in {directory}: {reason_of(error)}; check its permissions"
        raise JournalError(msg) from error


def _is_journal(name: str) -> bool:
    return name.endswith(SUFFIX) and _ID.fullmatch(name.removesuffix(SUFFIX)) is not None
