"""Where a journal is: a directory of this machine, or one of an object store.

A run has one record, which only its own process writes: a file that grows, or objects that are only created.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Sequence
from io import FileIO
from pathlib import Path
from typing import Final, Protocol

from kafka_groups.errors import JournalError, SettingsError
from kafka_groups.files import PRIVATE, PUBLIC, append_file, create_file, make_directory
from kafka_groups.files.root_directory import RootDirectory, open_root

SUFFIX: Final = ".jsonl"
_READ: Final = 0o444
# The names of a record's objects in a store: they sort in the order in which they are created.
_PLAN: Final = "1-plan.jsonl"
_OUTCOMES: Final = "2-outcomes-{:04}.jsonl"
_END: Final = "3-end.jsonl"


class JournalLocation(Protocol):
    """The records of runs, by id. Methods raise OSError."""

    @property
    def name(self) -> str:
        """Return the path or the address, for the user."""

    @property
    def is_shared(self) -> bool:
        """Return whether the user named the place, so that others may use it, too."""

    @property
    def is_ordered(self) -> bool:
        """Return whether a run can find out cheaply which runs came before it."""

    def names(self) -> list[str]:
        """Return the names of all files; none if there is no journal yet. That of a record is its id and SUFFIX."""

    def start_of(self, run_id: str, size: int) -> bytes:
        """Return the first bytes of a run's record."""

    def read(self, run_id: str) -> bytes:
        """Return the record of a run: its plan, its outcomes, and its end, as far as they were written."""

    def create(self, run_id: str, content: bytes) -> None:
        """Write the plan of a new run durably; FileExistsError if the id is in use."""

    def append(self, run_id: str, content: bytes) -> None:
        """Write outcomes of a run durably, or nothing."""

    def finish(self, run_id: str, content: bytes) -> None:
        """Write the end of a run durably, or nothing."""

    def delete(self, run_id: str) -> None:
        """Delete the record of a run."""

    def path(self, run_id: str) -> str:
        """Return the path or the address of a record, for the user."""


class LocalJournal:
    """A journal in a directory. With `is_shared` its mode and the umask decide who may read the records."""

    is_ordered = True

    def __init__(self, directory: Path, *, is_shared: bool = False) -> None:
        self._directory = directory
        self._mode = PUBLIC if is_shared else PRIVATE
        self.is_shared = is_shared

    @property
    def name(self) -> str:
        """Return the path of the directory."""
        return str(self._directory)

    def path(self, run_id: str) -> str:
        """Return the path of the file of a run."""
        return str(self._file(run_id))

    def names(self) -> list[str]:
        """Return the names of all files."""
        try:
            return sorted(entry.name for entry in self._directory.iterdir())
        except FileNotFoundError:
            return []

    def start_of(self, run_id: str, size: int) -> bytes:
        """Return the first bytes of the file."""
        with _open_regular(self._file(run_id)) as file:
            return file.read(size) or b""

    def read(self, run_id: str) -> bytes:
        """Return the content of the file."""
        with _open_regular(self._file(run_id)) as file:
            return file.readall()

    def create(self, run_id: str, content: bytes) -> None:
        """Write a new file, which appears when it is whole, and return when it and its name are on the disk."""
        # Who may read the files may enter the directory.
        make_directory(self.name, self._mode | (self._mode & _READ) >> 2, is_durable=True)
        if not create_file(self.path(run_id), content, self._mode):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), self.path(run_id))

    def append(self, run_id: str, content: bytes) -> None:
        """Append to the file, and return when it is on the disk."""
        append_file(self._file(run_id), content)

    def finish(self, run_id: str, content: bytes) -> None:
        """Append to the file, and return when it is on the disk."""
        append_file(self._file(run_id), content)

    def delete(self, run_id: str) -> None:
        """Delete the file."""
        self._file(run_id).unlink()

    def _file(self, run_id: str) -> Path:
        return self._directory / f"{run_id}{SUFFIX}"


class StoreJournal:
    """A journal in an object store: a folder for each run, with objects that are only created.

    A reader of a record lists its folder. A plan is read back before the run begins.
    """

    is_shared = True
    # It would need a request for each earlier run.
    is_ordered = False

    def __init__(self, root: RootDirectory) -> None:
        self._root = root
        self._outcomes: dict[str, int] = {}

    @property
    def name(self) -> str:
        """Return the address."""
        return self._root.location.rstrip("/")

    def path(self, run_id: str) -> str:
        """Return the address of the folder of a run."""
        return f"{self.name}/{run_id}"

    def names(self) -> list[str]:
        """Return the names of the folders, as those of files."""
        return [f"{name}{SUFFIX}" for name in self._root.names(self._root.root)]

    def start_of(self, run_id: str, size: int) -> bytes:
        """Return the first bytes of the plan."""
        return (self._root.read_small(self._root.join(run_id, _PLAN)) or b"")[:size]

    def read(self, run_id: str) -> bytes:
        """Return the content of all objects, in the order in which they were created."""
        folder = self._root.join(run_id)
        parts = [self._root.read_small(self._root.join(run_id, name)) for name in self._root.names(folder)]
        return b"".join(part for part in parts if part is not None)

    def create(self, run_id: str, content: bytes) -> None:
        """Create the plan, and read it back."""
        path = self._root.join(run_id, _PLAN)
        self._root.create_small(path, content)
        if self._root.read_small(path) != content:
            message = f"the store returned another plan than the one that was written to {self.path(run_id)}"
            raise OSError(message)

    def append(self, run_id: str, content: bytes) -> None:
        """Create the next object with outcomes."""
        number = self._outcomes[run_id] = self._outcomes.get(run_id, 0) + 1
        self._root.create_small(self._root.join(run_id, _OUTCOMES.format(number)), content)

    def finish(self, run_id: str, content: bytes) -> None:
        """Create the object of the end."""
        self._root.create_small(self._root.join(run_id, _END), content)

    def delete(self, run_id: str) -> None:
        """Delete the objects of a run, the plan last: what is left of it is still a run."""
        for name in sorted(self._root.names(self._root.join(run_id)), key=lambda each: each == _PLAN):
            self._root.delete(self._root.join(run_id, name))


def open_named_journal(address: str | None) -> JournalLocation:
    """Return the journal to read as `open_journal` does; raise JournalError if the named directory does not exist."""
    journal = open_journal(address)
    if address is not None and isinstance(journal, LocalJournal) and not os.path.lexists(journal.name):
        msg = f"--journal: {journal.name} does not exist; check the path"
        raise JournalError(msg)
    return journal


def open_journal(address: str | None = None) -> JournalLocation:
    """Return the journal that the user named, or that of the user's state directory.

    Raises SettingsError for an address that is none, and JournalError for a user without a home directory.
    """
    if address is not None and re.match("[A-Za-z][A-Za-z0-9+.-]+:/|(file|s3|gs|abfss):", address):
        root = open_root(address, failure=_refuse_address, holds="a journal")
        if not root.is_local:
            return StoreJournal(open_root(address, holds="a journal"))
        return LocalJournal(Path(root.root), is_shared=True)
    if address is not None:
        return LocalJournal(Path(address).absolute(), is_shared=True)
    from platformdirs import user_state_path

    try:
        return LocalJournal(user_state_path("kafka-groups") / "journal")
    except RuntimeError as error:
        msg = "cannot find the journal: this user has no home directory; set HOME, XDG_STATE_HOME or --journal"
        raise JournalError(msg) from error


def run_ids(names: Sequence[str]) -> list[str]:
    """Return the ids of the records among the names of files."""
    return [name.removesuffix(SUFFIX) for name in names if name.endswith(SUFFIX)]


def reason_of(error: OSError) -> str:
    """Return the reason of an error of the operating system, or of a store."""
    return error.strerror or str(error)


def _open_regular(path: Path) -> FileIO:
    """Return a file that is open for reading; raise OSError if it is no regular file.

    A pipe without a writer would block the command, so the file is opened without waiting.
    """
    file = FileIO(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")
    mode = os.fstat(file.fileno()).st_mode
    if stat.S_ISREG(mode):
        return file
    file.close()
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def _refuse_address(message: str) -> SettingsError:
    return SettingsError(f"--journal: {message}")
