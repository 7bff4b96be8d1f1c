"""A journal that tests write to, without a cluster."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from typing import Any

from kafka_groups.changes.change import Action, Change, Outcome, Status
from kafka_groups.changes.journal import RunHead, begin_run
from kafka_groups.changes.journal_location import LocalJournal
from kafka_groups.changes.runs import list_runs
from tests.changes.plans import NOON, plan

RESETS = (
    Change(Action.COMMIT, "a", "t", 0, 5, new_offset=9),
    Change(Action.COMMIT, "b", "t", 0, new_offset=9),
    Change(Action.COMMIT, "b", "t", 1, 5, new_offset=9),
)
BACK = (
    Change(Action.COMMIT, "a", "t", 0, 9, new_offset=5),
    Change(Action.DELETE_OFFSETS, "b", "t", 0, 9),
    Change(Action.COMMIT, "b", "t", 1, 9, new_offset=5),
)
DONE, FAILED, UNKNOWN = Status.DONE, Status.FAILED, Status.UNKNOWN


class Journal:
    """A journal that tests write to; each run begins a second after the one before."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.location = LocalJournal(directory)
        self._count = 0

    def run(
        self,
        changes: Iterable[Change] = RESETS,
        *statuses: Status,
        undoes: str | None = None,
        finish: bool = True,
        step: timedelta = timedelta(seconds=1),
        **head: Any,
    ) -> str:
        """Write a run; a change without a status is done, if the run finishes. More keywords go to its head."""
        self._count += 1
        made = tuple(changes)
        moment, token = NOON + self._count * step, f"{0xFFF - self._count:03x}"
        values = {"command": "undo" if undoes else "reset", "bootstrap_servers": ("b1:9092",), **head}
        writer = begin_run(
            self.location,
            RunHead(plan=plan(*made), undoes=undoes, **values),
            clock=lambda: moment,
            token=lambda: token,
        )
        known = [*statuses, *[DONE] * (len(made) - len(statuses) if finish else 0)]
        writer.record((index, Outcome(made[index], status)) for index, status in enumerate(known))
        if finish:
            writer.finish()
        return writer.id

    def path(self, run_id: str) -> Path:
        return self.directory / f"{run_id}.jsonl"

    def statuses(self) -> dict[str, str]:
        """Return the status of each run by its id."""
        return {listed.run.id: listed.status.value for listed in list_runs(self.location).runs}

    def status(self, run_id: str) -> str:
        return self.statuses()[run_id]
