"""The statuses of runs: what each one changed, and what of it later undos restored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from kafka_groups.changes.change import Change, Status
from kafka_groups.changes.run_record import Run, moves_commit

# A commit: a group, and a partition of a topic.
_Place: TypeAlias = tuple[object, ...]


class RunStatus(StrEnum):
    """What became of a run.

    PARTLY_DONE is also a run with an unknown outcome, UNCHANGED one whose changes were all refused, and FAILED one that
    certainly changed nothing. An UNFINISHED run was interrupted.
    """

    DONE = "done"
    PARTLY_DONE = "partly done"
    UNCHANGED = "unchanged"
    FAILED = "failed"
    UNFINISHED = "unfinished"
    UNDONE = "undone"
    PARTLY_UNDONE = "partly undone"


def find_statuses(runs: Sequence[Run]) -> dict[str, RunStatus]:
    """Return the status of each run by its id; the runs come newest first.

    A run is undone if effective undos restored all that it is known to have changed. An undo is effective unless it
    was undone itself, so undos are looked at before the runs that they restore.
    """
    undos: dict[str, list[Run]] = {}
    for run in runs:
        if run.undoes is not None:
            undos.setdefault(run.undoes, []).append(run)
    age = {run.id: place for place, run in enumerate(runs)}
    found: dict[str, _Effect] = {}
    for run in _undos_first(runs, undos):
        later = [_Undo(undo, age[undo.id], found[undo.id]) for undo in undos.get(run.id, []) if undo.id in found]
        found[run.id] = _find_effect(run, later)
    return {run.id: found[run.id].status for run in runs}


def count_rows(run: Run) -> dict[Status, int]:
    """Return how many rows of a run have each status; PLANNED are those without an outcome."""
    rows = dict.fromkeys(Status, 0)
    for outcome in run.outcomes.values():
        rows[outcome.status] += 1
    rows[Status.PLANNED] = len(run.plan.changes) - len(run.outcomes)
    rows[Status.REFUSED] += run.refused
    return rows


class _Effect(NamedTuple):
    """What is left of a run: the commits that it changed and nobody restored, and the age of its newest undo.

    Ages are places in the list of runs, so the newest is 0. `undone_at` is None if no effective undo restored anything.
    """

    status: RunStatus
    kept: frozenset[_Place]
    undone_at: int | None

    @property
    def is_effective(self) -> bool:
        """Return whether anything of the run is left."""
        return self.status is not RunStatus.UNDONE


class _Undo(NamedTuple):
    run: Run
    age: int
    effect: _Effect


def _undos_first(runs: Sequence[Run], undos: Mapping[str, Sequence[Run]]) -> list[Run]:
    """Return the runs with each undo before the run that it restores, whatever their clocks were."""
    known = {run.id for run in runs}
    order: list[Run] = []
    generation = [run for run in runs if run.undoes not in known]
    while generation:
        order += generation
        generation = [undo for run in generation for undo in undos.get(run.id, [])]
    # Only records that somebody edited undo each other in a circle; such an undo restores nothing.
    placed = {run.id for run in order}
    return [*reversed(order), *(run for run in runs if run.id not in placed)]


def _find_effect(run: Run, undos: Sequence[_Undo]) -> _Effect:
    effective = [undo for undo in undos if undo.effect.is_effective]
    restored = frozenset[_Place]().union(*(undo.effect.kept for undo in effective))
    ages = [undo.age for undo in effective if undo.effect.kept]
    kept = _places(run.made()) - restored
    redone_at = min((undo.effect.undone_at for undo in undos if undo.effect.undone_at is not None), default=None)
    if any(_settles(undo, redone_at) for undo in effective):
        return _Effect(RunStatus.UNDONE, kept, min(ages, default=None))
    return _Effect(_find_status(run, effective, restored), kept, min(ages, default=None))


def _find_status(run: Run, effective: Sequence[_Undo], restored: frozenset[_Place]) -> RunStatus:
    if not (restored & _places(run.changed())):
        return _own_status(run)
    is_complete = _places(run.changed()) <= restored or any(_is_complete(undo, run) for undo in effective)
    return RunStatus.UNDONE if is_complete else RunStatus.PARTLY_UNDONE


def _settles(undo: _Undo, redone_at: int | None) -> bool:
    """Return whether an undo found that nothing of its run was left, and no later run brought it back."""
    is_settled = undo.run.settles and undo.run.is_finished and not undo.run.failures
    return is_settled and (redone_at is None or undo.age < redone_at)


def _is_complete(undo: _Undo, run: Run) -> bool:
    """Return whether an undo, which reads all commits of its run, left none of them, and was not taken back.

    A change whose outcome is not known may still arrive after the undo.
    """
    made = undo.run.made()
    is_all_made = undo.run.is_finished and bool(made) and len(made) == len(undo.run.plan.changes)
    is_all_planned = undo.run.has_counts and not (undo.run.refused or undo.run.failures)
    is_late = not run.may_still_change(undo.run.created_at)
    return is_all_made and is_all_planned and is_late and undo.effect.kept == _places(made)


def _places(changes: Iterable[Change]) -> frozenset[_Place]:
    return frozenset((change.group, change.key) for change in changes if moves_commit(change))


def _own_status(run: Run) -> RunStatus:
    """Return the status of a run that nobody undid."""
    rows = count_rows(run)
    if not run.is_finished:
        return RunStatus.UNFINISHED
    if rows[Status.UNKNOWN]:
        return RunStatus.PARTLY_DONE
    is_short = bool(rows[Status.FAILED] or rows[Status.REFUSED] or run.failures)
    if any(moves_commit(change) or change.key is None for change in run.made()):
        return RunStatus.PARTLY_DONE if is_short else RunStatus.DONE
    return RunStatus.FAILED if rows[Status.FAILED] or run.failures else RunStatus.UNCHANGED
