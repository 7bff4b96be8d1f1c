"""Several clusters that are read at the same time, each by a thread of its own.

The use cases wait in `select`, so a thread that waits costs its stack only. Threads write nothing: a session collects
what it read, and the main thread writes it.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any, Final, Generic, NamedTuple, TypeVar

from kafka_groups.admin import GroupAdmin
from kafka_groups.errors import AdminError, AuthenticationFailedError, PollsFileError, SettingsError
from kafka_groups.groups.notes import Note
from kafka_groups.model import Failure
from kafka_groups.options.cluster_session import ClusterSession, create_client
from kafka_groups.options.connection import Connection
from kafka_groups.options.signals import raise_on_sigterm
from kafka_groups.rendering.clusters import Cluster
from kafka_groups.rendering.columns import Entry
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.writers.silent import SilentWriter
from kafka_groups.settings import ConnectionSettings, resolve_settings

T = TypeVar("T")
Body = Callable[[ClusterSession], T]
# A signal that arrives just before the main thread waits takes effect after this time.
TICK_S: Final = 0.1


class CollectedResult(NamedTuple):
    """What a command has passed to `ClusterSession.write`."""

    entries: Iterable[Entry]
    failures: Sequence[Failure]
    anything_succeeded: bool
    notes_after_rows: Callable[[], Iterable[Note]]


class CollectingSession(ClusterSession):
    """A session of one of several clusters. It prints and writes nothing; `written_result` is None before `write`."""

    def __init__(self, *, admin: GroupAdmin, screen: Screen, name: str | None) -> None:
        super().__init__(admin=admin, screen=screen, writer=SilentWriter(), progress=None, name=name)
        self.written_result: CollectedResult | None = None

    def add_notes(self, notes: Iterable[Note]) -> None:
        """Keep notes for the main thread, each once."""
        self.notes |= self._without_known(notes)

    def begin_poll(self) -> None:
        """Count a poll. The main thread searches for reference cycles, once for all clusters."""
        self.polls += 1

    def write(
        self,
        entries: Iterable[Entry],
        *,
        total: int,
        failures: Sequence[Failure],
        anything_succeeded: bool,
        notes_after_rows: Callable[[], Iterable[Note]] = tuple,
        is_unchecked: bool = False,
    ) -> None:
        """Keep what the main thread will write."""
        self.written_result = CollectedResult(entries, failures, anything_succeeded, notes_after_rows)


class ClusterReader:
    """One of several clusters. Its session is opened by its first run, and stays for the next one."""

    def __init__(
        self, connection: Connection, screen: Screen, resolve: Callable[..., ConnectionSettings] = resolve_settings
    ) -> None:
        assert connection.profile is not None
        self.name = connection.profile
        self.warnings: Sequence[str] = ()
        self.session: CollectingSession | None = None
        self._connection = connection
        self._resolve = resolve
        self._screen = screen
        self._refused: AuthenticationFailedError | None = None
        self._is_running = False

    @property
    def is_refused(self) -> bool:
        """Whether the login was refused, so that it is not repeated."""
        return self._refused is not None

    def cluster(self) -> Cluster:
        """Return what results call the cluster."""
        known = None if self.session is None else self.session.cluster()
        return known or Cluster(self.name, None)

    def read(self, body: Body[T]) -> Outcome[T]:
        """Run a body on the cluster, and return its outcome.

        A login that was refused is not repeated, because brokers may lock the account. Raises what is no failure of
        the cluster, such as a UsageError.
        """
        if self._refused is not None:
            return Outcome(self, None, self._refused)
        self._is_running = True
        try:
            return Outcome(self, body(self._open()), None)
        except AuthenticationFailedError as error:
            self._refused = error
            return Outcome(self, None, error)
        except (AdminError, SettingsError, PollsFileError) as error:
            return Outcome(self, None, error)
        finally:
            self._is_running = False

    def allow_login(self) -> None:
        """Let the next run repeat a login that was refused, for a cluster that accepted it before."""
        self._refused = None

    def close(self) -> None:
        """Close the connections, unless a thread still uses them: it ends with the process after a signal."""
        if self.session is not None and not self._is_running:
            self.session.admin.close()

    def _open(self) -> CollectingSession:
        if self.session is None:
            settings = self._resolve(**self._connection.sources())
            self.warnings = settings.warnings
            self.session = CollectingSession(admin=create_client(settings), screen=self._screen, name=self.name)
        return self.session


class Outcome(NamedTuple, Generic[T]):
    """What a body returned for a cluster, or the error of the whole cluster."""

    reader: ClusterReader
    value: T | None
    error: AdminError | SettingsError | PollsFileError | None


class ClusterThreads:
    """The clusters of a command, in the order of the profiles."""

    def __init__(self, readers: Sequence[ClusterReader]) -> None:
        self.readers = readers

    def run(self, body: Body[T]) -> Iterator[Outcome[T]]:
        """Run a body on all clusters at the same time, and yield each outcome when it ends.

        Raises the first error that is no failure of a cluster. A signal ends the wait, and threads that still run end
        with the process.
        """
        ended = queue.SimpleQueue[Any]()
        for reader in self.readers:
            Thread(target=_run, args=(reader, body, ended), name=f"cluster {reader.name}", daemon=True).start()
        for _ in self.readers:
            yield wait_for_outcome(ended)

    def shared_ids(self) -> Mapping[str, Sequence[str]]:
        """Return the names of clusters with the same id, by this id."""
        names: dict[str, list[str]] = {}
        for cluster in (reader.cluster() for reader in self.readers):
            if cluster.id is not None:
                names.setdefault(cluster.id, []).append(cluster.name)
        return {cluster_id: shared for cluster_id, shared in names.items() if len(shared) > 1}


@contextmanager
def open_clusters(
    connection: Connection, screen: Screen, *, resolve: Callable[..., ConnectionSettings] = resolve_settings
) -> Iterator[ClusterThreads]:
    """Yield the clusters of a connection with several profiles; nothing is connected yet.

    `resolve` is `resolve_settings`, or adds to its errors. SIGTERM ends the command as Ctrl-C does.
    """
    readers = [ClusterReader(each, screen, resolve) for each in connection.by_profile()]
    with raise_on_sigterm():
        try:
            yield ClusterThreads(readers)
        finally:
            for reader in readers:
                reader.close()


def _run(reader: ClusterReader, body: Body[Any], ended: queue.SimpleQueue[Any]) -> None:
    try:
        ended.put(reader.read(body))
    except BaseException as error:  # noqa: BLE001 - the main thread raises it
        ended.put(error)


def wait_for_outcome(ended: queue.SimpleQueue[Any] | queue.Queue[Any]) -> Any:
    """Return the next outcome, or raise the exception that a thread put in its place. A signal ends the wait."""
    while True:
        with suppress(queue.Empty):
            outcome = ended.get(timeout=TICK_S)
            if isinstance(outcome, BaseException):
                raise outcome
            return outcome
