"""What `lag --watch` shows of each poll: lines of ndjson, a block, or a table that is redrawn on a terminal."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from kafka_groups.commands.lag_rows import ClusterLag, entries_of
from kafka_groups.model import Failure
from kafka_groups.rendering.columns import Column
from kafka_groups.rendering.screen import Screen, print_note
from kafka_groups.rendering.stderr import format_failure, lead_of, print_failures
from kafka_groups.rendering.times import format_time
from kafka_groups.rendering.views.lag import PACE_HIDEABLE
from kafka_groups.rendering.writers import Writer
from kafka_groups.rendering.writers.clusters import ClusterColumns, ClusterRow
from kafka_groups.rendering.writers.table import write_table

if TYPE_CHECKING:
    from kafka_groups.rendering.live import LiveTable

_MAX_MESSAGES: Final = 3


class ShownPoll(NamedTuple):
    """What is shown of a poll when all clusters have ended: rows, the worst first, failures, and texts of notes."""

    at: datetime
    rows: Sequence[ClusterLag]
    failures: Sequence[Failure]
    notes: Sequence[str]


class Display(Protocol):
    """The output of a watch. `is_redrawn`: a poll replaces the one before it, and its notes."""

    is_redrawn: bool

    def add(self, at: datetime, rows: Sequence[ClusterLag]) -> None:
        """Show the rows of a cluster, which has ended, of the poll at a time."""

    def end(self, poll: ShownPoll) -> None:
        """Show a poll."""


class WatchTable(NamedTuple):
    """The columns of the rows of a watch, and the number of rows of each poll, None for all."""

    columns: tuple[Column, ...]
    top: int | None


@contextmanager
def open_display(screen: Screen, writer: Writer, table: WatchTable, output_format: str) -> Iterator[Display]:
    """Yield the display of a format."""
    if output_format == "ndjson":
        yield _Lines(screen, writer, table)
        return
    # The same columns for all polls, because a table compares their identity.
    columns = ClusterColumns().of(table.columns) if screen.names_clusters else table.columns
    shown = table._replace(columns=columns)
    if not screen.out_is_terminal or os.environ.get("TERM") == "dumb":
        yield _Blocks(screen, shown)
        return
    from kafka_groups.rendering.live import LiveTable

    with LiveTable(screen) as live:
        yield _RedrawnTable(screen, shown, live)


class _Lines:
    """Lines of ndjson. The rows of a cluster are written when it ends, unless only the worst of all are shown."""

    is_redrawn = False

    def __init__(self, screen: Screen, writer: Writer, table: WatchTable) -> None:
        self._screen = screen
        self._writer = writer
        self._table = table

    def add(self, at: datetime, rows: Sequence[ClusterLag]) -> None:
        if self._table.top is None:
            self._write(at, rows)

    def end(self, poll: ShownPoll) -> None:
        if self._table.top is not None:
            self._write(poll.at, poll.rows[: self._table.top])
        _print_messages(self._screen, poll)

    def _write(self, at: datetime, rows: Iterable[ClusterLag]) -> None:
        stamped = (ClusterLag(cluster, row._replace(at=format_time(at))) for cluster, row in rows)
        for entry in entries_of(stamped, self._table.columns):
            self._writer.add(entry)
        self._screen.out.flush()


class _Blocks:
    """A table for each poll, with its time before it; none for a poll without rows that failed."""

    is_redrawn = False

    def __init__(self, screen: Screen, table: WatchTable) -> None:
        self._screen = screen
        self._table = table

    def add(self, at: datetime, rows: Sequence[ClusterLag]) -> None:
        """Show nothing: rows are those of all clusters."""

    def end(self, poll: ShownPoll) -> None:
        if poll.rows or not poll.failures:
            self._screen.out.write(f"\n{format_time(poll.at)}\n")
            rows = poll.rows[: self._table.top]
            write_table(self._screen, self._table.columns, _table_rows(self._screen, rows))
        self._screen.out.flush()
        _print_messages(self._screen, poll)


class _RedrawnTable:
    """A table that is redrawn in place on a terminal.

    The rows of the last poll that had some stay with their time if a poll has none and failed. The rows of a cluster
    that failed do not stay beside newer ones of others: its error is shown instead.
    """

    is_redrawn = True

    def __init__(self, screen: Screen, table: WatchTable, live: LiveTable) -> None:
        self._screen = screen
        self._table = table
        self._live = live
        self._last: ShownPoll | None = None

    def add(self, at: datetime, rows: Sequence[ClusterLag]) -> None:
        """Show nothing: rows are those of all clusters."""

    def end(self, poll: ShownPoll) -> None:
        last = self._last = self._last if self._last is not None and poll.failures and not poll.rows else poll
        time = format_time(poll.at)
        messages = [
            f"{lead_of(self._screen, failure.cluster)}Error at {time}: {format_failure(failure)}"
            for failure in poll.failures
        ]
        shown = [*poll.notes, *messages[:_MAX_MESSAGES]]
        shown += [f"… and {len(messages) - _MAX_MESSAGES:,} more errors"] if len(messages) > _MAX_MESSAGES else []
        rows = _table_rows(self._screen, last.rows[: self._table.top])
        caption = f"Lag at {format_time(last.at)}"
        self._live.draw(caption, self._table.columns, rows, shown, hideable=PACE_HIDEABLE)


def _table_rows(screen: Screen, rows: Sequence[ClusterLag]) -> list[Any]:
    if not screen.names_clusters:
        return [row for _, row in rows]
    return [ClusterRow(cluster.name, row) for cluster, row in rows]


def _print_messages(screen: Screen, poll: ShownPoll) -> None:
    for note in poll.notes:
        print_note(screen, note)
    print_failures(screen, poll.failures)
