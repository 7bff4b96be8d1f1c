"""The results of several clusters as they are written: rows, notes and failures, and the end of the document."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from kafka_groups.exit_codes import ResultStatus
from kafka_groups.groups.notes import Note
from kafka_groups.model import Failure, status_of
from kafka_groups.rendering.columns import Entry
from kafka_groups.rendering.screen import Screen, print_note, silence
from kafka_groups.rendering.stderr import lead_of, print_failures
from kafka_groups.rendering.writers import Writer


class ClusterResult(NamedTuple):
    """What one cluster adds to the result. Its entries, notes and failures name it.

    `failures_in_rows` are failures that only the rows show; stderr does not repeat them.
    """

    entries: Iterable[Entry]
    notes: Sequence[Note]
    failures: Sequence[Failure]
    anything_succeeded: bool
    notes_after_rows: Callable[[], Iterable[Note]]
    failures_in_rows: Collection[Failure] = frozenset()

    def failures_to_print(self) -> list[Failure]:
        """Return the failures that stderr has."""
        return [failure for failure in self.failures if failure not in self.failures_in_rows]


class SeveralResults:
    """The result of several clusters as it is written.

    Notes and failures are those of all clusters that were written, in this order.
    """

    def __init__(self, screen: Screen, writer: Writer) -> None:
        self._screen = screen
        self._writer = writer
        self._notes: list[Note] = []
        self._failures: list[Failure] = []
        self._anything_succeeded = False
        self._is_broken = False

    def write(self, results: Sequence[ClusterResult]) -> None:
        """Write the rows of clusters, with their notes before them on stderr, and keep their failures."""
        for result in results:
            self.add_notes(result.notes)
        for result in results:
            self._anything_succeeded |= result.anything_succeeded
            self._failures += result.failures
            self._write_rows(result.entries)

    def print_rest(self, notes: Iterable[Note], failures: Iterable[Failure]) -> None:
        """Print the notes and the failures that stand behind the rows."""
        # Where both streams are one file, notes stand behind the data.
        self._flush()
        self._print_notes(notes)
        print_failures(self._screen, failures)

    def add_notes(self, notes: Iterable[Note]) -> None:
        """Print notes, and add them to the document."""
        added = [*notes]
        self._notes += added
        self._print_notes(added)

    def _print_notes(self, notes: Iterable[Note]) -> None:
        for note in notes:
            print_note(self._screen, lead_of(self._screen, note.cluster) + note.text)

    def end(
        self, failures: Sequence[Failure] = (), notes: Sequence[Note] = (), *, is_unchecked: bool = False
    ) -> ResultStatus:
        """End the document, with failures and notes more, and return its status.

        `is_unchecked` if a condition had no group to check: then the command has failed.
        """
        every = [*self._failures, *failures]
        status = status_of(
            anything_failed=bool(every) or is_unchecked,
            anything_succeeded=self._anything_succeeded and not is_unchecked,
        )
        if not self._is_broken:
            self._guard(lambda: self._writer.end([*self._notes, *notes], every, status=status))
        self._flush()
        return status

    def _write_rows(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            if self._is_broken:
                return
            self._guard(lambda entry=entry: self._writer.add(entry))  # type: ignore[misc]  # a default binds the entry

    def _flush(self) -> None:
        if not self._is_broken:
            self._guard(self._screen.out.flush)

    def _guard(self, write: Callable[[], object]) -> None:
        """Write, unless nobody reads the rows any more, as with `head`: then only notes and failures are printed."""
        try:
            write()
        except BrokenPipeError:
            self._is_broken = True
            silence(self._screen.out)
