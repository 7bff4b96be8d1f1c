"""`kafka-groups lag --watch`: polls of lag, with rates and verdicts."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Final, NamedTuple, TypeAlias

from kafka_groups.commands.lag_polls import PollsFile
from kafka_groups.errors import AdminError, AuthenticationFailedError
from kafka_groups.groups.lag.reading import LagReading
from kafka_groups.groups.lag.summary import LagRow
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.model import Failure
from kafka_groups.options.cluster_session import ClusterSession
from kafka_groups.options.signals import pause
from kafka_groups.rendering.columns import Column, Entry
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.stderr import format_failure, print_failures
from kafka_groups.rendering.times import format_time
from kafka_groups.rendering.views.lag import PACE_HIDEABLE
from kafka_groups.rendering.writers.table import write_table

_MAX_MESSAGES: Final = 3
# Polls at a time, in milliseconds since 1970.
Poll: TypeAlias = Callable[[int], LagReading]
Show: TypeAlias = Callable[[datetime, list[LagRow], list[Failure], list[str]], None]


class LastPoll(NamedTuple):
    """The rows and failures of the last poll of a watch."""

    rows: list[LagRow]
    failures: list[Failure]


class WatchOptions(NamedTuple):
    """The seconds between two polls, the number of polls (None: no end) and of rows (None: all), and the columns."""

    interval_s: float
    polls: int | None
    top: int | None
    columns: tuple[Column, ...]


def watch_lag(
    session: ClusterSession, options: WatchOptions, poll: Poll, file: PollsFile | None, *, output_format: str
) -> LastPoll:
    """Poll until all polls are done, and return the last one.

    A poll that fails as a whole has only its error, and no rows; the first one raises its AdminError. A note is shown
    at the first poll that has it. If the polls are kept in a file, it is saved after each of them: a failure is a note.
    """
    known_notes: set[Note] = set()
    is_redrawn = _is_redrawn(session.screen, output_format)
    session.disable_progress()
    with _open_display(session, options.columns, output_format) as show:
        done = 0
        while True:
            started = time.monotonic()
            at = datetime.now(UTC)
            session.begin_poll()
            rows: list[LagRow] = []
            failures: list[Failure] = []
            notes: list[str] = []
            try:
                reading = poll(round(at.timestamp() * 1000))
                rows = [group.total for group in reading.groups]
                failures = list(reading.failures)
                notes = _new_notes(reading.notes, known_notes, is_redrawn=is_redrawn)
            except AuthenticationFailedError:
                raise
            except AdminError as error:
                if not done:
                    raise
                failures = [Failure.of(error)]
            done += 1
            notes += [] if file is None else file.try_to_save()
            show(at, rows[: options.top], failures, notes)
            if options.polls is not None and done >= options.polls:
                return LastPoll(rows, failures)
            pause(max(0.0, options.interval_s - (time.monotonic() - started)))


def _is_redrawn(screen: Screen, output_format: str) -> bool:
    return output_format == "table" and screen.out_is_terminal and os.environ.get("TERM") != "dumb"


def _new_notes(notes: Iterable[Note], known: set[Note], *, is_redrawn: bool) -> list[str]:
    """Return the texts of notes that no earlier poll had, and add these to `known`.

    A note on trouble is new if its group is another one. A screen that is redrawn keeps it.
    """
    texts = []
    for note in notes:
        is_trouble = note.kind is NoteKind.TROUBLE
        known_as = note._replace(text="") if is_trouble else note
        if known_as not in known or (is_trouble and is_redrawn):
            texts.append(note.text)
        known.add(known_as)
    return texts


@contextmanager
def _open_display(session: ClusterSession, columns: tuple[Column, ...], output_format: str) -> Iterator[Show]:
    screen = session.screen
    if not _is_redrawn(screen, output_format):

        def write(at: datetime, rows: list[LagRow], failures: list[Failure], notes: list[str]) -> None:
            if output_format == "ndjson":
                stamped = [row._replace(at=format_time(at)) for row in rows]
                session.writer.add(Entry(columns, stamped, dict, cluster=session.cluster()))
            elif rows or not failures:
                screen.out.write(f"\n{format_time(at)}\n")
                write_table(screen, columns, rows)
            screen.out.flush()
            session.print_messages(notes)
            print_failures(screen, failures)

        yield write
        return
    from kafka_groups.rendering.live import LiveTable

    with LiveTable(screen) as table:
        last: tuple[datetime, list[LagRow]] | None = None

        def draw(at: datetime, rows: list[LagRow], failures: list[Failure], notes: list[str]) -> None:
            nonlocal last
            # The rows of the last poll that had some stay, with their time.
            last = last if last is not None and failures and not rows else (at, rows)
            messages = [f"Error at {format_time(at)}: {format_failure(failure)}" for failure in failures]
            shown = [*notes, *messages[:_MAX_MESSAGES]]
            shown += [f"… and {len(messages) - _MAX_MESSAGES:,} more errors"] if len(messages) > _MAX_MESSAGES else []
            caption = f"Lag at {format_time(last[0])}"
            table.draw(caption, columns, last[1], shown, hideable=PACE_HIDEABLE)

        yield draw
