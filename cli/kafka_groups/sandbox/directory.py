"""The directory of a sandbox: its files, its lock, and how it is created and deleted."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from kafka_groups.errors import SandboxError
from kafka_groups.files import write_atomically
from kafka_groups.files.locks import lock

_MARKER_TEXT = "This is a sandbox of kafka-groups; `kafka-groups sandbox down` deletes this directory.\n"
# Kafka's list of data directories is separated by commas, log4j replaces `${…}` in the path of a log file, and a path
# that is not UTF-8 cannot be written to a settings file.
_UNUSABLE = re.compile(r",|\$\{|[\x00-\x1f\x7f\ud800-\udfff]")
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


@dataclass(frozen=True, kw_only=True, slots=True)
class SandboxDirectory:
    """The files of one sandbox: its state, one directory per process, and the logs."""

    path: Path

    @property
    def name(self) -> str:
        """The name of the sandbox."""
        return self.path.name

    @property
    def state_file(self) -> Path:
        """The file that keeps the state of the sandbox between two commands."""
        return self.path / "sandbox.json"

    @property
    def seed_file(self) -> Path:
        """The file that the seeding process writes its progress to."""
        return self.path / "seed.json"

    @property
    def logs(self) -> Path:
        """The directory of the processes' logs and output; it is kept after a failed start."""
        return self.path / "logs"

    @property
    def security(self) -> Path:
        """The directory of certificates, keys and tokens."""
        return self.path / "security"

    @property
    def lock_file(self) -> Path:
        """The lock file, beside the directory because the directory is deleted with the sandbox."""
        return self.path.with_name(f"{self.name}.lock")

    def settings(self, role: str) -> Path:
        """Return the settings file of a broker or of ZooKeeper; it is the last argument of the process."""
        return self.node(role) / "settings.properties"

    def data(self, role: str) -> Path:
        """Return the directory of the data of a broker or of ZooKeeper."""
        return self.node(role) / "data"

    def node(self, role: str) -> Path:
        """Return the directory of one process, with its settings and its data."""
        return self.path / role

    def log(self, role: str) -> Path:
        """Return the log file of a process."""
        return self.logs / f"{role}.log"

    def output(self, role: str) -> Path:
        """Return the file that receives the stdout and stderr of a process."""
        return self.logs / f"{role}.out"

    def require_usable(self) -> None:
        """Raise SandboxError if Kafka cannot keep its data at this path."""
        if found := _UNUSABLE.search(str(self.path)):
            msg = f"Kafka cannot use the directory {str(self.path)!r}, which contains {found[0]!r}; give another --dir"
            raise SandboxError(msg)

    def is_in_use(self, role: str) -> bool:
        """Return whether a broker has locked its data, also one on another machine or in another container."""
        import fcntl  # here, because Windows has none

        try:
            with (self.data(role) / ".lock").open("rb") as file:
                fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except (BlockingIOError, PermissionError):
            return True
        return False

    def create(self) -> None:
        """Create the directory; raise SandboxError if it holds files that are not a sandbox's."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            if not self._is_marked() and any(self.path.iterdir()):
                msg = f"{self.path} holds other files; give another --name or --dir"
                raise SandboxError(msg)
            write_atomically(self._marker, _MARKER_TEXT)
            self.logs.mkdir(exist_ok=True)
        except OSError as error:
            msg = f"the sandbox's directory {self.path} cannot be created: {error.strerror}; give another --dir"
            raise SandboxError(msg) from error

    @contextmanager
    def report_write_errors(self) -> Iterator[None]:
        """Raise SandboxError if a file of the sandbox cannot be written inside the context."""
        try:
            yield
        except OSError as error:
            msg = (
                f"the sandbox's files in {self.path} cannot be written: {error.strerror}; "
                "check the permissions and the free space"
            )
            raise SandboxError(msg) from error

    def clear(self, *, keep_logs: bool) -> None:
        """Delete all files of the sandbox, except the logs of a failed start if `keep_logs`.

        A directory without the sandbox's marker is left alone, because `--dir` and `--name` may name any directory.
        """
        if not self._is_marked():
            return
        # There are no logs if the disk was full.
        has_logs = self.logs.is_dir() and any(self.logs.iterdir())
        kept = {self._marker} | ({self.logs} if keep_logs and has_logs else set())
        for path in set(self.path.iterdir()) - kept:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        if self.logs not in kept:
            # Last, because a directory that is not empty and has no marker is never used or deleted again.
            self._marker.unlink()
            if not self.path.is_symlink():  # a link is the user's, and so is the empty directory that it points to
                self.path.rmdir()

    def _is_marked(self) -> bool:
        return self._marker.exists()

    @property
    def _marker(self) -> Path:
        return self.path / "kafka-groups-sandbox.txt"


def sandbox_directory(name: str, *, home: Path | None) -> SandboxDirectory:
    """Return the directory of a sandbox, in `home` or in the user's state directory.

    Raises SandboxError if the name is not valid.
    """
    if not _NAME.fullmatch(name):
        msg = f"'{name}' is not a valid name of a sandbox; use up to 40 lower-case letters, digits and dashes"
        raise SandboxError(msg)
    return SandboxDirectory(path=(home or user_directory("state")).absolute() / name)


def user_directory(kind: Literal["cache", "state"]) -> Path:
    """Return the directory of all sandboxes of this user; raise SandboxError if the user has no home directory."""
    from platformdirs import PlatformDirs

    directories = PlatformDirs("kafka-groups")
    try:
        return (directories.user_cache_path if kind == "cache" else directories.user_state_path) / "sandbox"
    except RuntimeError as error:
        raise SandboxError("the home directory of this user is not known; set HOME to a directory") from error


@contextmanager
def lock_sandbox(directory: SandboxDirectory) -> Iterator[None]:
    """Hold the lock of a sandbox for one command, and delete the lock file at the end.

    Raises SandboxError at once if another command holds the lock, or if the lock file cannot be created.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(lock(directory.lock_file, timeout_s=0))
        except TimeoutError:
            msg = f"another command is starting or stopping the sandbox '{directory.name}'; try again"
            raise SandboxError(msg) from None
        except OSError as error:
            parent = directory.lock_file.parent
            msg = f"the sandbox's directory {parent} cannot be written: {error.strerror}; give another --dir"
            raise SandboxError(msg) from error
        try:
            yield
        finally:
            # The lock is still held here. A command that has opened the file before, and locks it after, notices that
            # the file has no name any more: filelock does not count such a lock as acquired.
            directory.lock_file.unlink(missing_ok=True)
