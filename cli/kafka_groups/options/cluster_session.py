"""The frame of a command that reads a cluster: connect, write the result, report failures, set the exit code."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final

from kafka_groups.admin import GroupAdmin
from kafka_groups.errors import AdminError, ChangeRefusedError, ExportError, IncompleteResultError, KafkaGroupsError
from kafka_groups.exit_codes import ResultStatus
from kafka_groups.groups.notes import Note
from kafka_groups.groups.selection import Selectors
from kafka_groups.kinds import Operation
from kafka_groups.model import Failure, status_of
from kafka_groups.options.connection import Connection
from kafka_groups.options.signals import raise_on_sigterm
from kafka_groups.options.warnings import print_warnings
from kafka_groups.rendering.clusters import Cluster
from kafka_groups.rendering.columns import Entry
from kafka_groups.rendering.progress import ProgressBar
from kafka_groups.rendering.schemas import INTERRUPTED
from kafka_groups.rendering.screen import Screen, inspect_streams, print_note, silence
from kafka_groups.rendering.stderr import print_failures
from kafka_groups.rendering.writers import Writer
from kafka_groups.settings import ConnectionSettings, resolve_settings

_PROGRESS_INTERVAL: Final = 256
_POLLS_BETWEEN_SEARCHES: Final = 100
INTERRUPTED_FAILURE: Final = Failure(
    code=None, name=INTERRUPTED, message="the command was interrupted before all results were written"
)


class ClusterSession:
    """A cluster, the deadline of the command's requests, and the streams that it writes to.

    `failures` are known, should the command end early; `printed` are those that were printed before a prompt. `notes`
    were printed, in this order; a caller may name thousands of groups, each with its note. `nearest_groups` are the
    nearest ids of named groups that do not exist, None before the first reading. `name` is what results call the
    cluster, None for its id.
    """

    def __init__(
        self,
        *,
        admin: GroupAdmin,
        screen: Screen,
        writer: Writer,
        progress: ProgressBar | None,
        name: str | None = None,
    ) -> None:
        self.admin = admin
        self._name = name
        self.deadline = admin.deadline()
        self.screen = screen
        self.writer = writer
        self.progress = progress
        self.failures: Sequence[Failure] = ()
        self.printed: frozenset[Failure] = frozenset()
        self.notes: dict[Note, None] = {}
        self.written = 0
        self.is_ended = False
        self.polls = 0
        self.nearest_groups: Mapping[str, str] | None = None

    def cluster(self) -> Cluster | None:
        """Return what results call the cluster; None for one without a name that was not reached yet."""
        cluster_id = self.admin.known_cluster_id()
        name = self._name or cluster_id
        return None if name is None else Cluster(name, cluster_id)

    def end_document(self, notes: Iterable[Note], failures: Iterable[Failure], *, status: ResultStatus) -> None:
        """End the document; its notes and failures name the cluster."""
        cluster = self.cluster()
        name = None if cluster is None else cluster.name
        named_notes = (note._replace(cluster=name) for note in notes)
        self.writer.end(named_notes, [each._replace(cluster=name) for each in failures], status=status)

    def begin_poll(self) -> None:
        """Count a poll, and search for reference cycles now and then."""
        search_cycles(self.polls)
        self.polls += 1

    def suggest_groups(
        self, failures: Sequence[Failure], selectors: Selectors, operation: Operation
    ) -> tuple[Failure, ...]:
        """Return the failures; that of a named group that does not exist suggests the nearest id.

        Only the first reading of a command may cost a listing: a group that is absent later was deleted.
        """
        if self.nearest_groups is None:
            self.nearest_groups = self._find_nearest_groups(failures, selectors, operation) if failures else {}
        if not self.nearest_groups:
            return tuple(failures)
        from kafka_groups.groups.suggestions import with_nearest_groups

        return with_nearest_groups(failures, self.nearest_groups)

    def _find_nearest_groups(
        self, failures: Sequence[Failure], selectors: Selectors, operation: Operation
    ) -> Mapping[str, str]:
        # Imported here, as most commands have no failures.
        from kafka_groups.groups.suggestions import find_nearest_groups

        # If the listing is interrupted, the document still has the failures.
        known, self.failures = self.failures, failures
        named = selectors.ids_without_listing()
        found = find_nearest_groups(self.admin, failures, named=named, operation=operation, deadline=self.deadline)
        self.failures = known
        return found

    def add_notes(self, notes: Iterable[Note]) -> None:
        """Print notes on stderr, and add them to the document. A note that is there already is not repeated."""
        added = self._without_known(notes)
        self.notes |= added
        self.print_messages(note.text for note in added)

    def _without_known(self, notes: Iterable[Note]) -> dict[Note, None]:
        return {note: None for note in notes if note not in self.notes}

    def print_messages(self, texts: Iterable[str]) -> None:
        """Print messages on stderr that are no part of the result."""
        self.end_progress()
        for text in texts:
            print_note(self.screen, text)

    def print_failures_early(self, failures: Iterable[Failure]) -> None:
        """Print failures that the user should know before all are known; `write` does not repeat them."""
        early = list(failures)
        print_failures(self.screen, early)
        self.printed |= frozenset(early)

    def print_remaining_failures(self, failures: Iterable[Failure]) -> None:
        """Print the failures that were not printed early."""
        print_failures(self.screen, [failure for failure in failures if failure not in self.printed])

    def end_early(self, failures: Iterable[Failure]) -> None:
        """End the document without results, because the user declined."""
        self.end_progress()
        self.end_document(self.notes, failures, status=ResultStatus.FAILED)
        self.screen.out.flush()
        self.is_ended = True

    def end_progress(self) -> None:
        """Remove the progress bar, because output comes next."""
        if self.progress is not None:
            self.progress.stop()

    def disable_progress(self) -> None:
        """Show no progress any more, because the output is redrawn."""
        if self.progress is not None:
            self.progress.disable()

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
        """Write all entries (`total` of them), then the notes after the rows, then the failures.

        Raises IncompleteResultError if there are failures, or else ExportError if a file cannot be written. If nobody
        reads the rows any more, as with `head`, only the failures are printed. `is_unchecked` if a condition had no
        group to check: then the command has failed.
        """
        self.end_progress()
        self.failures = failures
        status = status_of(
            anything_failed=bool(failures) or is_unchecked,
            anything_succeeded=anything_succeeded and not is_unchecked,
        )
        unwritten: ExportError | None = None
        try:
            self._write_entries(entries, total)
            self.is_ended = True
            after_rows = self._without_known(notes_after_rows())
            self.end_document([*self.notes, *after_rows], failures, status=status)
            # Where both streams are one file, notes stand behind the data.
            self.screen.out.flush()
            self.add_notes(after_rows)
        except BrokenPipeError:
            self.is_ended = True
            silence(self.screen.out)
        except ExportError as error:
            unwritten = error
        if failures:
            self.print_remaining_failures(failures)
        if unwritten is not None:
            raise unwritten
        if status is not ResultStatus.COMPLETE:
            raise IncompleteResultError(status)

    def _write_entries(self, entries: Iterable[Entry], total: int) -> None:
        cluster = self.cluster() or Cluster("", None)
        for entry in entries:
            self.writer.add(entry._replace(cluster=cluster))
            self.written += 1
            # On a terminal the rows themselves show the progress.
            if self.progress is not None and self.written % _PROGRESS_INTERVAL == 0 and not self.screen.out_is_terminal:
                self.progress("writing groups", self.written, total)
        self.end_progress()


def create_client(settings: ConnectionSettings, progress: ProgressBar | None = None) -> GroupAdmin:
    """Return the client of a command."""
    return GroupAdmin(settings, progress=progress)


@contextmanager
def open_session(
    connection: Connection,
    *,
    colour: str,
    make_writer: Callable[[Screen], Writer],
    resolve: Callable[..., ConnectionSettings] = resolve_settings,
) -> Iterator[ClusterSession]:
    """Open a session for one command. If the command ends early, stdout still has a complete document.

    `resolve` is `resolve_settings`, or adds to its errors. An error of the whole command (no broker responds, a file is
    refused) ends the document as failed, and is raised again for the root command. SIGTERM ends the command as Ctrl-C
    does: a command of the settings that prints a token would go on otherwise.
    """
    with raise_on_sigterm():
        yield from _open_session(connection, partial(resolve, **connection.sources()), colour, make_writer)


def _open_session(
    connection: Connection,
    resolve: Callable[[], ConnectionSettings],
    colour: str,
    make_writer: Callable[[Screen], Writer],
) -> Iterator[ClusterSession]:
    try:
        settings = resolve()
    except AdminError as error:
        failure = failure_of(error)._replace(cluster=connection.profile or None)
        make_writer(inspect_streams(colour)).end([], [failure], status=ResultStatus.FAILED)
        raise
    if settings.warnings:
        print_warnings(settings.warnings)
    screen = inspect_streams(colour)
    progress = ProgressBar(screen) if screen.err_is_terminal else None
    writer = make_writer(screen)
    with without_garbage_collection(), create_client(settings, progress) as admin:
        name = settings.profile or settings.cluster_name
        session = ClusterSession(admin=admin, screen=screen, writer=writer, progress=progress, name=name)
        try:
            yield session
        except KafkaGroupsError as error:
            session.end_progress()
            if not session.is_ended:
                failures = [*session.failures, failure_of(error)]
                session.end_document(session.notes, failures, status=ResultStatus.FAILED)
                session.print_remaining_failures(session.failures)
            raise
        except (KeyboardInterrupt, SystemExit):
            session.end_progress()
            if not session.is_ended:
                status = status_of(anything_failed=True, anything_succeeded=session.written > 0)
                session.end_document(session.notes, [*session.failures, INTERRUPTED_FAILURE], status=status)
            raise
        finally:
            session.end_progress()


def failure_of(error: KafkaGroupsError) -> Failure:
    """Return the failure of a whole cluster."""
    return Failure.of(error if isinstance(error, AdminError) else ChangeRefusedError(str(error)))


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Switch the garbage collector off: a command that reads once creates rows and ends.

    The search for reference cycles takes a twelfth of the time of a large command.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def search_cycles(polls: int) -> None:
    """Search for reference cycles after every 100 polls, because the garbage collector is off.

    A search of what a watch keeps takes a quarter of a poll's time, and finds nothing after the first one.
    """
    if polls % _POLLS_BETWEEN_SEARCHES == 0:
        gc.collect()
