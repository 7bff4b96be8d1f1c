"""Remove old runs from a journal, on request."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from kafka_groups.changes.journal_location import JournalLocation, reason_of
from kafka_groups.changes.run_record import Run
from kafka_groups.changes.run_status import RunStatus
from kafka_groups.changes.runs import ListedRun, list_runs
from kafka_groups.errors import JournalError


def old_runs(location: JournalLocation, *, before: datetime) -> list[Run]:
    """Return the runs that began before a time, oldest first, without those that later decisions need.

    A run whose clock was ahead stays, and keeps no other. A run and its undos stay together. If a run of a cluster
    stays, its newest run that is not undone stays, too: an undo without an ID takes no older one in its place.
    Raises JournalError if the journal cannot be read.
    """
    listed = list(reversed(list_runs(location).runs))
    in_order = [each.run for each in listed]
    recent = [run for run in in_order if run.created_at >= before]
    newest = {each.run.plan.cluster_id: each.run.id for each in listed if _may_be_undone(each)}
    kept = {run.id for run in recent} | {newest.get(run.plan.cluster_id, run.id) for run in recent}
    links = [{run.id, run.undoes} for run in in_order if run.undoes is not None]
    while more := {run_id for link in links if link & kept for run_id in link} - kept:
        kept |= more
    return [run for run in in_order if run.id not in kept]


def delete_runs(location: JournalLocation, runs: Iterable[Run]) -> None:
    """Delete the records of runs; raise JournalError at the first one that cannot be deleted."""
    for run in runs:
        try:
            location.delete(run.id)
        except OSError as error:
            msg = f"cannot delete {location.path(run.id)}: {reason_of(error)}"
            raise JournalError(msg) from error


def _may_be_undone(listed: ListedRun) -> bool:
    return listed.run.is_whole and listed.run.command != "undo" and listed.status is not RunStatus.UNDONE
