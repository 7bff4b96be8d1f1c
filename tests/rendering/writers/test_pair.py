"""Two writers of one result."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest

from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.model import Failure
from kafka_groups.rendering.columns import Entry
from kafka_groups.rendering.writers.pair import PairWriter


class Recorder:
    """A writer that records its calls in a list that it shares; its end may raise an error."""

    def __init__(self, name: str, calls: list[object], error: Exception | None = None) -> None:
        self._name = name
        self._calls = calls
        self._error = error

    def add(self, entry: Entry) -> None:
        """Record the rows."""
        self._calls.append((self._name, entry.rows))

    def end(self, notes: Iterable[Note], failures: Iterable[Failure], *, status: str) -> None:
        """Record the notes and the failures, then raise the error."""
        self._calls.append((self._name, list(notes), list(failures), status))
        if self._error is not None:
            raise self._error


NOTE = Note(NoteKind.NO_MATCH, None, "No group matches.")
FAILURE = Failure(code=None, name="TIMEOUT", message="late")


def test_both_writers_receive_every_group_and_the_end() -> None:
    calls: list[object] = []
    pair = PairWriter(Recorder("first", calls), Recorder("second", calls))
    pair.add(Entry((), ["row"], dict))

    def failures() -> Iterator[Failure]:
        yield FAILURE

    # Notes and failures that can be read only once reach both.
    pair.end(iter([NOTE]), failures(), status="partial")
    assert calls == [
        ("first", ["row"]),
        ("second", ["row"]),
        ("first", [NOTE], [FAILURE], "partial"),
        ("second", [NOTE], [FAILURE], "partial"),
    ]


def test_an_error_of_the_first_writer_does_not_keep_the_second_from_its_end() -> None:
    calls: list[object] = []
    pair = PairWriter(Recorder("first", calls, BrokenPipeError()), Recorder("second", calls))
    with pytest.raises(BrokenPipeError):
        pair.end([NOTE], [FAILURE], status="failed")
    assert calls == [("first", [NOTE], [FAILURE], "failed"), ("second", [NOTE], [FAILURE], "failed")]
