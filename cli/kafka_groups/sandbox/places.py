"""Where a sandbox keeps its files."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kafka_groups.errors import SandboxError

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


@dataclass(frozen=True, kw_only=True, slots=True)
class Place:
    """The files of one sandbox: what is remembered, a directory a node, and the logs."""

    directory: Path

    @property
    def name(self) -> str:
        return self.directory.name

    @property
    def record_file(self) -> Path:
        return self.directory / "sandbox.json"

    @property
    def seed_file(self) -> Path:
        """Where the seeding process writes how far it is."""
        return self.directory / "seed.json"

    @property
    def logs(self) -> Path:
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

    def clear(self, *, keep_logs: bool) -> None:
        """Delete all that the sandbox has stored, except the logs of a start that failed."""
        if not self.directory.exists():
            return
        for path in self.directory.iterdir():
            if keep_logs and path == self.logs:
                continue
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        if not keep_logs:
            self.directory.rmdir()


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
    """Hold the sandbox for one command; SandboxError if another command holds it."""
    import fcntl

    try:
        place.lock_file.parent.mkdir(parents=True, exist_ok=True)
        file = place.lock_file.open("w")
    except OSError as error:
        msg = (
            f"the sandbox's directory {place.lock_file.parent} cannot be written: {error.strerror}"
        )
        raise SandboxError(msg) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            msg = f"another command is starting or stopping the sandbox '{place.name}'; try again"
            raise SandboxError(msg) from None
        yield
