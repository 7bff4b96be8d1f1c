"""Where a sandbox keeps its files."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from kafka_groups.errors import SandboxError

_MARK = "kafka-groups-sandbox.txt"
_MARK_TEXT = "This is a sandbox of kafka-groups; `kafka-groups sandbox down` deletes this directory.\n"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """The files of one sandbox: what is remembered, a directory a node, and the logs."""

    directory: Path

    @property
    def name(self) -> str:
        """What the sandbox is called."""
        return self.directory.name

    @property
    def record_file(self) -> Path:
        """What is remembered from one command to the next."""
        return self.directory / "sandbox.json"

    @property
    def seed_file(self) -> Path:
        """Where the seeding process writes how far it is."""
        return self.directory / "seed.json"

    @property
    def logs(self) -> Path:
        """What the processes say; it outlives a start that failed."""
        return self.directory / "logs"

    @property
    def lock_file(self) -> Path:
        """Beside the directory, because the directory goes away with the sandbox."""
        return self.directory.with_name(f"{self.name}.lock")

    def node(self, role: str) -> Path:
        """Return the directory of one process: its settings and its data."""
        return self.directory / role

    def log(self, role: str) -> Path:
        """Return the file that a process logs to."""
        return self.logs / f"{role}.log"

    def output(self, role: str) -> Path:
        """Return the file for what a process prints beside its log."""
        return self.logs / f"{role}.out"

    def claim(self) -> None:
        """Make the directory; SandboxError if it is there and something else's."""
        try:
            self.directory.mkdir(parents=True, exist_ok=True)
            if not self._is_ours() and any(self.directory.iterdir()):
                msg = f"{self.directory} holds other files; give another --name or --dir"
                raise SandboxError(msg)
            (self.directory / _MARK).write_text(_MARK_TEXT, encoding="utf-8")
            self.logs.mkdir(exist_ok=True)
        except OSError as error:
            msg = f"the sandbox's directory {self.directory} cannot be made: {error.strerror}"
            raise SandboxError(msg) from error

    def clear(self, *, keep_logs: bool) -> None:
        """Delete all that the sandbox has stored, except the logs of a start that failed.

        A directory that was never claimed is left alone: `--dir` and `--name` may name anything.
        """
        if not self._is_ours():
            return
        if not keep_logs or not any(self.logs.iterdir()):
            shutil.rmtree(self.directory)
            return
        for path in self.directory.iterdir():
            if path not in {self.logs, self.directory / _MARK}:
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    def _is_ours(self) -> bool:
        return (self.directory / _MARK).exists()


def place_of(name: str, *, home: Path | None) -> Place:
    """Return the place of a sandbox, in `home` or the user's state directory."""
    if not _NAME.fullmatch(name):
        msg = f"'{name}' cannot name a sandbox; use up to 40 lower-case letters, digits and dashes"
        raise SandboxError(msg)
    if home is None:
        from platformdirs import user_state_path

        home = user_state_path("kafka-groups") / "sandbox"
    return Place(directory=home.absolute() / name)


@contextmanager
def at_work(place: Place) -> Iterator[None]:
    """Hold the sandbox for one command; SandboxError if another command holds it. No lock file stays behind."""
    import fcntl

    try:
        place.lock_file.parent.mkdir(parents=True, exist_ok=True)
        file = place.lock_file.open("w")
    except OSError as error:
        msg = f"the sandbox's directory {place.lock_file.parent} cannot be written: {error.strerror}"
        raise SandboxError(msg) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _taken(place) from None
        # Whoever held it may have deleted it between our two steps: then this lock keeps nobody out.
        if not _is_still(place.lock_file, file):
            raise _taken(place)
        try:
            yield
        finally:
            place.lock_file.unlink(missing_ok=True)


def _taken(place: Place) -> SandboxError:
    return SandboxError(f"another command is starting or stopping the sandbox '{place.name}'; try again")


def _is_still(path: Path, file: IO[str]) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False
