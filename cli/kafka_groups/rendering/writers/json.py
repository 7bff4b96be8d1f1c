"""JSON: one document, or one object a line."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from kafka_groups.groups.notes import Note
from kafka_groups.model import Failure
from kafka_groups.rendering.columns import Entry, View
from kafka_groups.rendering.documents import failure_document, format_json, note_document
from kafka_groups.rendering.schemas import Document
from kafka_groups.rendering.screen import Screen


class NdjsonWriter:
    """One JSON object for each row, with its group; `view` is that of groups that have none of their own."""

    def __init__(self, screen: Screen, view: View) -> None:
        self._screen = screen
        self._view = view
        self._encoded = view
        self._encode: Callable[[Any], Document] = view.encoder()

    def add(self, entry: Entry) -> None:
        """Write the rows of a group."""
        view = entry.view or self._view
        if view is not self._encoded:
            self._encoded = view
            self._encode = view.encoder()
        head = {} if entry.cluster is None else entry.cluster.document()
        self._screen.out.writelines(format_json(self._screen, head | self._encode(row)) + "\n" for row in entry.rows)

    def end(self, notes: Iterable[Note], failures: Iterable[Failure], *, status: str) -> None:
        """Write nothing: notes and failures are printed on stderr."""


class JsonWriter:
    """One document. It is written group by group, so its status, which is known last, is its last key.

    `items` is the key of what is written, for a command whose result is not of groups.
    """

    def __init__(self, screen: Screen, schema: str, *, items: str = "groups") -> None:
        self._screen = screen
        self._head = f'{{"schema": {json.dumps(schema)},\n{json.dumps(items)}: ['
        self._before = self._head

    def add(self, entry: Entry) -> None:
        """Write one element of the items."""
        head = {} if entry.cluster is None else entry.cluster.document()
        self._screen.out.write(f"{self._before}\n{format_json(self._screen, head | entry.document())}")
        self._before = ","

    def end(self, notes: Iterable[Note], failures: Iterable[Failure], *, status: str) -> None:
        """Write the notes, the errors and the status."""
        errors = ",\n".join(format_json(self._screen, failure_document(failure)) for failure in failures)
        texts = ",\n".join(format_json(self._screen, note_document(note)) for note in notes)
        head = self._head if self._before == self._head else ""
        self._screen.out.write(
            f'{head}],\n"notes": [{texts}],\n"errors": [{errors}],\n"status": {json.dumps(status)}}}\n'
        )
