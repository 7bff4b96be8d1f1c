"""The journal of changes: a record of each run, with the state before it and the outcome of each change.

A record is JSON Lines. The first line describes the run, the next lines are its changes, then come outcomes, and the
last line says that the run finished. The run and its changes are durable before anything is changed; outcomes are
appended. `run_record` reads a record, `runs` all of them, and `journal_location` is where they are.
"""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import groupby
from typing import Any, Final, NamedTuple

from kafka_groups.changes.change import Outcome, Plan, Status
from kafka_groups.changes.journal_location import JournalLocation, reason_of, run_ids
from kafka_groups.changes.plan_file import change_documents, format_time
from kafka_groups.errors import JournalError

SCHEMA: Final = "kafka-groups/journal/2"
# An id is the time of its run, so that ids sort by time, and a few random characters.
ID_TIME: Final = "%Y%m%d-%H%M%S"
_ATTEMPTS: Final = 5
# The sequence number is one of the first values of a record.
_START: Final = 256
_SEQUENCE: Final = re.compile(rb'"sequence": (\d{1,18})[,}]')


class RunHead(NamedTuple):
    """What is known of a run before it changes anything.

    `undoes` is the ID of the run that this one restores; `settles` means that nothing of that run is left to restore.
    `refused` and `failures` are the numbers of rows that were refused, and of what could not be planned; `other_groups`
    are groups without a change for these reasons.
    """

    command: str
    plan: Plan
    bootstrap_servers: tuple[str, ...] = ()
    undoes: str | None = None
    settles: bool = False
    refused: int = 0
    failures: int = 0
    other_groups: tuple[str, ...] = ()


class JournalWriter:
    """The record of a run that has begun. It holds no file open."""

    def __init__(self, location: JournalLocation, run_id: str) -> None:
        self.id = run_id
        self._location = location

    def record(self, outcomes: Iterable[tuple[int, Outcome]]) -> None:
        """Append the outcomes of changes, by the index of the change, and return when they are durable.

        Equal outcomes of changes that follow each other are one line, nearly always the only one. Raises JournalError
        if they cannot be written. The changes were made all the same, and a later call may succeed.
        """
        documents = list(_outcome_documents(outcomes))
        if documents:
            self._write(self._location.append, documents)

    def finish(self) -> None:
        """Append the last line; raise JournalError if it cannot be written."""
        self._write(self._location.finish, [{"finished": True}])

    def _write(self, write: Callable[[str, bytes], None], documents: list[dict[str, Any]]) -> None:
        try:
            write(self.id, _encode(documents))
        except OSError as error:
            msg = (
                f"cannot write the outcomes to {self._location.path(self.id)}: {reason_of(error)}; the changes were "
                f"made; `kafka-groups undo {self.id}` can find out which"
            )
            raise JournalError(msg) from error


def begin_run(
    location: JournalLocation,
    head: RunHead,
    *,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    token: Callable[[], str] = lambda: os.urandom(3).hex(),
) -> JournalWriter:
    """Write the plan to a new record, and return when it is durable.

    The run has a sequence number above those of all runs that it sees, whatever the clock says. Raises JournalError if
    that is not possible. The caller then changes nothing.
    """
    created_at = clock().astimezone(UTC)
    try:
        sequence = _next_sequence(location) if location.is_ordered else None
        return JournalWriter(location, _create(location, head, created_at, sequence, token))
    except OSError as error:
        msg = (
            f"cannot write the journal in {location.name}: {reason_of(error)}; nothing was changed; "
            "check the permissions of the directory and the space on its disk"
        )
        raise JournalError(msg) from error


def _create(
    location: JournalLocation,
    head: RunHead,
    created_at: datetime,
    sequence: int | None,
    token: Callable[[], str],
) -> str:
    """Create the record under an id that no other run has, and return the id."""
    changes = list(change_documents(head.plan.changes))
    attempts = 0
    while True:
        run_id = f"{created_at:{ID_TIME}}-{token()}"
        first = {
            "schema": SCHEMA,
            "id": run_id,
            "sequence": sequence,
            "command": head.command,
            "cluster_id": head.plan.cluster_id,
            "bootstrap_servers": list(head.bootstrap_servers),
            "user": _user(),
            "host": socket.gethostname(),
            "created_at": format_time(created_at),
            "undoes": head.undoes,
            "settles": head.settles,
            "changes": len(head.plan.changes),
            "refused": head.refused,
            "failures": head.failures,
            "other_groups": list(head.other_groups),
        }
        try:
            location.create(run_id, _encode([first, *changes]))
        except FileExistsError:
            attempts += 1
            if attempts == _ATTEMPTS:
                raise
        else:
            return run_id


def _next_sequence(location: JournalLocation) -> int:
    """Return a number above those of all runs. A record that cannot be read has none."""
    last = 0
    for run_id in run_ids(location.names()):
        with suppress(OSError):
            found = _SEQUENCE.search(location.start_of(run_id, _START))
            last = max(last, int(found[1]) if found else 0)
    return last + 1


def _user() -> str:
    """Return the name of the user, or the number of one without a name, as in a container."""
    from getpass import getuser

    try:
        return getuser()
    except (KeyError, OSError, ImportError):
        return str(os.geteuid())


def _outcome_documents(outcomes: Iterable[tuple[int, Outcome]]) -> Iterator[dict[str, Any]]:
    """Yield equal outcomes of changes that follow each other, with the indexes of the first and the last."""
    by_place = enumerate(outcomes)
    for (status, note, message, _), alike in groupby(by_place, key=lambda each: _comparable(each[0], *each[1])):
        indexes = [index for _, (index, _) in alike]
        document: dict[str, Any] = {"changes": [indexes[0], indexes[-1]], "status": status}
        if message is not None:
            document["message"] = message
        if note:
            document["note"] = note
        yield document


def _comparable(place: int, index: int, outcome: Outcome) -> tuple[Status, str, str | None, int]:
    """Return what outcomes have in common that share a line: their indexes follow each other."""
    message = None if outcome.failure is None else outcome.failure.message
    return outcome.status, outcome.note, message, index - place


def _encode(documents: Iterable[Mapping[str, Any]]) -> bytes:
    return "".join(f"{json.dumps(each)}\n" for each in documents).encode()
