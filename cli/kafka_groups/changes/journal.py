"""The journal of changes: one JSON Lines file for each run, with the state before it and the outcome of each change.

The first line describes the run, the next lines are its changes, then come outcomes, and the last line says that the
run finished. The run and its changes are on the disk before anything is changed; outcomes are appended. `runs`
reads the files.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from kafka_groups.changes.change import Outcome, Plan, Status
from kafka_groups.changes.plan_file import change_documents, format_time
from kafka_groups.errors import JournalError

SCHEMA: Final = "kafka-groups/journal/1"
SUFFIX: Final = ".jsonl"
# An id is the time of its run, so that ids sort by time, and a few random characters.
ID_TIME: Final = "%Y%m%d-%H%M%S"
_ATTEMPTS: Final = 5


class JournalWriter:
    """The journal of a run that has begun. It holds no file open."""

    def __init__(self, path: Path) -> None:
        self.id = path.stem
        self._path = path

    def record(self, outcomes: Iterable[tuple[int, Outcome]]) -> None:
        """Append the outcomes of changes, by the index of the change, and wait until they are on the disk.

        Equal outcomes of changes that follow each other are one line, nearly always the only one. Raises JournalError
        if they cannot be written. The changes were made all the same, and a later call may succeed.
        """
        documents = list(_outcome_documents(outcomes))
        if documents:
            self._append(documents)

    def finish(self) -> None:
        """Append the last line; raise JournalError if it cannot be written."""
        self._append([{"finished": True}])

    def _append(self, documents: list[dict[str, Any]]) -> None:
        try:
            descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            try:
                size = os.fstat(descriptor).st_size
                try:
                    _write(descriptor, documents)
                except OSError:
                    # The next line must not be appended to a part of this one.
                    with suppress(OSError):
                        os.ftruncate(descriptor, size)
                    raise
            finally:
                os.close(descriptor)
        except OSError as error:
            msg = (
                f"cannot write the outcomes to {self._path}: {reason_of(error)}; the changes were made; "
                f"`kafka-groups undo {self.id}` can find out which"
            )
            raise JournalError(msg) from error


def journal_directory() -> Path:
    """Return the directory of the user's journal; raise JournalError for a user without a home directory."""
    from platformdirs import user_state_path

    try:
        return user_state_path("kafka-groups") / "journal"
    except RuntimeError as error:
        msg = "cannot find the journal: this user has no home directory; set HOME or XDG_STATE_HOME"
        raise JournalError(msg) from error


def begin_run(
    directory: Path,
    *,
    command: str,
    plan: Plan,
    undoes: str | None = None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    token: Callable[[], str] = lambda: os.urandom(3).hex(),
) -> JournalWriter:
    """Write the plan to a new file, which only the user can read, and return when it is on the disk.

    Raises JournalError if that is not possible. The caller then changes nothing.
    """
    created_at = clock().astimezone(UTC)
    try:
        _create_directory(directory)
        path, descriptor = _create_file(directory, created_at, token)
        head = {
            "schema": SCHEMA,
            "id": path.stem,
            "command": command,
            "cluster_id": plan.cluster_id,
            "created_at": format_time(created_at),
            "undoes": undoes,
            "changes": len(plan.changes),
        }
        try:
            try:
                os.fchmod(descriptor, 0o600)
                _write(descriptor, [head, *change_documents(plan.changes)])
            finally:
                os.close(descriptor)
            _sync(directory)
        except BaseException:
            with suppress(OSError):
                path.unlink()
            raise
    except OSError as error:
        msg = (
            f"cannot write the journal in {directory}: {reason_of(error)}; nothing was changed; "
            "check the permissions of the directory and the space on its disk"
        )
        raise JournalError(msg) from error
    return JournalWriter(path)


def reason_of(error: OSError) -> str:
    """Return the reason of an error of the operating system."""
    return error.strerror or str(error)


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


def _create_directory(directory: Path) -> None:
    """Create a directory for the user alone, with missing parents, and wait until it is on the disk."""
    if not directory.exists():
        _create_directory(directory.parent)
        directory.mkdir(mode=0o700, exist_ok=True)
        _sync(directory.parent)


def _create_file(directory: Path, created_at: datetime, token: Callable[[], str]) -> tuple[Path, int]:
    """Create the file of a run, which no other process has, and return it with its descriptor."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
    attempts = 0
    while True:
        path = directory / f"{created_at:{ID_TIME}}-{token()}{SUFFIX}"
        try:
            return path, os.open(path, flags, 0o600)
        except FileExistsError:
            attempts += 1
            if attempts == _ATTEMPTS:
                raise


def _write(descriptor: int, documents: Iterable[Mapping[str, Any]]) -> None:
    """Write lines, and wait until they are on the disk."""
    content = memoryview("".join(f"{json.dumps(each)}\n" for each in documents).encode())
    while content:
        content = content[os.write(descriptor, content) :]
    os.fsync(descriptor)


def _sync(directory: Path) -> None:
    """Wait until the names in a directory are on the disk."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # the file system writes names at once
            raise
    finally:
        os.close(descriptor)
