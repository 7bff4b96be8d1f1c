"""Remove old runs from a journal, on request."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from kafka_groups.changes.journal_location import JournalLocation, reason_of
from kafka_groups.changes.run_record import Run
from kafka_groups.changes.runs import list_runs
from kafka_groups.errors import JournalError


def old_runs(location: JournalLocation, *, before: datetime) -> list[Run]:
    """Return the runs that began before a time, oldest first, and that no newer run refers to or follows.

    They are the first ones in the order of the journal: the newest run stays the newest one, and no run stays whose
    undo is removed. Raises JournalError if the journal cannot be read.
    """
    in_order = [listed.run for listed in reversed(list_runs(location).runs)]
    old: list[Run] = []
    for run in in_order:
        if run.created_at >= before:
            break
        old.append(run)
    return _without_undos_of(old, in_order[len(old) :])


def delete_runs(location: JournalLocation, runs: Iterable[Run]) -> None:
    """Delete the records of runs; raise JournalError at the first one that cannot be deleted."""
    for run in runs:
        try:
            location.delete(run.id)
        except OSError as error:
            msg = f"cannot delete {location.path(run.id)}: {reason_of(error)}"
            raise JournalError(msg) from error


def _without_undos_of(old: list[Run], kept: Iterable[Run]) -> list[Run]:
    kept_ids = {run.id for run in kept}
    return [run for run in old if run.undoes not in kept_ids]
