"""What a command does around its question: reach the cluster, and end with what was and was not answered."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from kafka_groups.admin import GroupAdmin
from kafka_groups.commands.options import Connection
from kafka_groups.errors import AdminError, IncompleteResultError
from kafka_groups.model import Failure
from kafka_groups.rendering.formats import Entry, Writer
from kafka_groups.rendering.progress import ProgressBar
from kafka_groups.rendering.screen import Screen, look_at_streams
from kafka_groups.rendering.stderr import note, print_failures
from kafka_groups.settings import resolve_settings

_PROGRESS_EVERY = 256


@dataclass(kw_only=True)
class Session:
    """A cluster to ask, a screen to write on, and the failures told so far."""

    admin: GroupAdmin
    screen: Screen
    bar: ProgressBar
    failures: list[Failure] = field(default_factory=list)
    written: int = 0

    def note(self, text: str) -> None:
        """Something worth knowing, on stderr."""
        self.bar.stop()
        note(self.screen, text)

    def show(self, writer: Writer, entries: Iterable[Entry], *, total: int, answered: bool | None = None) -> None:
        """Write all entries (`total` of them), tell the failures, and raise IncompleteResultError if there are any.

        `answered` says whether anything was answered where the number of entries does not.
        """
        self.bar.stop()
        for entry in entries:
            writer.add(entry)
            self.written += 1
            # Rows on a terminal are progress enough, and a bar between them is none.
            if self.written % _PROGRESS_EVERY == 0 and not self.screen.out_is_terminal:
                self.bar("writing groups", self.written, total)
        self.bar.stop()
        anything = self.written > 0 if answered is None else answered
        writer.end(self.failures, status=_status(self.failures, anything_succeeded=anything))
        self.screen.out.flush()
        print_failures(self.screen, self.failures)
        if self.failures:
            raise IncompleteResultError(anything_succeeded=anything)


@contextmanager
def session(
    connection: Connection, *, colour: str, writer: Callable[[Screen], Writer]
) -> Iterator[tuple[Session, Writer]]:
    """Reach the cluster and hold it for the command; `writer` is made at once, so that bad options fail first.

    An AdminError on the way (no broker answers) ends the document as failed, and goes on to the root command.
    """
    settings = resolve_settings(
        bootstrap=connection.bootstrap_server,
        config=connection.config,
        properties=connection.properties,
        profile=connection.profile,
        timeout=connection.timeout,
        environment=os.environ,
    )
    screen = look_at_streams(colour)
    bar = ProgressBar(screen)
    made = writer(screen)
    with GroupAdmin(settings, one_deadline=True, progress=bar) as admin:
        asked = Session(admin=admin, screen=screen, bar=bar)
        try:
            yield asked, made
        except AdminError as error:
            bar.stop()
            made.end([*asked.failures, Failure.of(error)], status="failed")
            print_failures(screen, asked.failures)
            raise
        except KeyboardInterrupt:
            bar.stop()
            # What was written is a whole document all the same.
            made.end(asked.failures, status="partial" if asked.written else "failed")
            raise
        finally:
            bar.stop()


def _status(failures: Sequence[Failure], *, anything_succeeded: bool) -> str:
    if not failures:
        return "complete"
    return "partial" if anything_succeeded else "failed"
