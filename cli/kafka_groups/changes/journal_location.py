"""Where a journal is: a directory of this machine. A run has one file, which only its own process appends to."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from kafka_groups.errors import JournalError

SUFFIX: Final = ".jsonl"
_PRIVATE_FILE: Final = 0o600
_PRIVATE_DIRECTORY: Final = 0o700
_SHARED_FILE: Final = 0o666
_SHARED_DIRECTORY: Final = 0o777


class JournalLocation(Protocol):
    """The records of runs, by id. Methods raise OSError, except where they say something else."""

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
        """Return the names of all files; none if there is no journal yet."""

    def start_of(self, run_id: str, size: int) -> bytes:
        """Return the first bytes of a run's record."""

    def read(self, run_id: str) -> bytes:
        """Return the record of a run: its plan, its outcomes, and its end, as far as they were written."""

    def create(self, run_id: str, content: bytes) -> None:
        """Write the plan of a new run durably; FileExistsError if the id is in use."""

    def append(self, run_id: str, content: bytes) -> None:
        """Write outcomes, or the end, of a run durably, or nothing."""

    def delete(self, run_id: str) -> None:
        """Delete the record of a run."""

    def path(self, run_id: str) -> str:
        """Return the path or the address of a record, for the user."""


class LocalJournal:
    """A journal in a directory. With `is_shared` its mode and the umask decide who may read the records."""

    is_ordered = True

    def __init__(self, directory: Path, *, is_shared: bool = False) -> None:
        self._directory = directory
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
        with self._file(run_id).open("rb", buffering=0) as file:
            return file.read(size) or b""

    def read(self, run_id: str) -> bytes:
        """Return the content of the file."""
        return self._file(run_id).read_bytes()

    def create(self, run_id: str, content: bytes) -> None:
        """Write a new file, and return when it and its name are on the disk."""
        _create_directory(self._directory, _SHARED_DIRECTORY if self.is_shared else _PRIVATE_DIRECTORY)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        path = self._file(run_id)
        descriptor = os.open(path, flags, _SHARED_FILE if self.is_shared else _PRIVATE_FILE)
        try:
            try:
                _write(descriptor, content)
            finally:
                os.close(descriptor)
            _sync(self._directory)
        except BaseException:
            with suppress(OSError):
                path.unlink()
            raise

    def append(self, run_id: str, content: bytes) -> None:
        """Append to the file, and return when it is on the disk."""
        descriptor = os.open(self._file(run_id), os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        try:
            size = os.fstat(descriptor).st_size
            try:
                _write(descriptor, content)
            except OSError:
                # The next line must not be appended to a part of this one.
                with suppress(OSError):
                    os.ftruncate(descriptor, size)
                raise
        finally:
            os.close(descriptor)

    def delete(self, run_id: str) -> None:
        """Delete the file."""
        self._file(run_id).unlink()

    def _file(self, run_id: str) -> Path:
        return self._directory / f"{run_id}{SUFFIX}"


def open_journal(address: str | None = None) -> JournalLocation:
    """Return the journal that the user named, or that of the user's state directory.

    Raises JournalError for an address that is none, and for a user without a home directory.
    """
    if address is not None:
        return LocalJournal(Path(address), is_shared=True)
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
    """Return the reason of an error of the operating system."""
    return error.strerror or str(error)


def _create_directory(directory: Path, mode: int) -> None:
    """Create a directory with missing parents, and return when their names are on the disk."""
    if not directory.exists():
        _create_directory(directory.parent, mode)
        directory.mkdir(mode=mode, exist_ok=True)
        _sync(directory.parent)


def _write(descriptor: int, content: bytes) -> None:
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.fsync(descriptor)


def _sync(directory: Path) -> None:
    """Return when the names in a directory are on the disk."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # the file system writes names at once
            raise
    finally:
        os.close(descriptor)
