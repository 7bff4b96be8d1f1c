"""JSON: one document, or one object a line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from kafka_groups.model import Failure
from kafka_groups.rendering.columns import View
from kafka_groups.rendering.documents import failure_document
from kafka_groups.rendering.screen import Screen, escape_controls
from kafka_groups.rendering.writers import Entry


class NdjsonWriter:
    """One JSON object for each row, with its group."""

    def __init__(self, screen: Screen, view: View) -> None:
        self._screen = screen
        self._encode = view.encoder()

    def add(self, entry: Entry) -> None:
        """Write the rows of a group."""
        self._screen.out.writelines(_dumps(self._screen, self._encode(row)) + "\n" for row in entry.rows)

    def end(self, failures: Iterable[Failure], *, status: str) -> None:
        """Write nothing: failures are printed on stderr."""


class JsonWriter:
    """One document. It is written group by group, so its status, which is known last, is its last key."""

    def __init__(self, screen: Screen, schema: str) -> None:
        self._screen = screen
        self._head = f'{{"schema": {json.dumps(schema)},\n"groups": ['
        self._before = self._head

    def add(self, entry: Entry) -> None:
        """Write one element of `groups`."""
        self._screen.out.write(f"{self._before}\n{_dumps(self._screen, entry.document())}")
        self._before = ","

    def end(self, failures: Iterable[Failure], *, status: str) -> None:
        """Write the errors and the status."""
        errors = ",\n".join(_dumps(self._screen, failure_document(failure)) for failure in failures)
        head = self._head if self._before == self._head else ""
        self._screen.out.write(f'{head}],\n"errors": [{errors}],\n"status": {json.dumps(status)}}}\n')


def _dumps(screen: Screen, value: Mapping[str, Any]) -> str:
    # If the encoding of the stream lacks a character, only JSON's own escape is understood by JSON readers.
    is_unicode = (screen.out.encoding or "utf-8").lower().startswith("utf")
    text = json.dumps(value, ensure_ascii=not is_unicode)
    return escape_controls(text, lambda char: json.dumps(char)[1:-1]) if screen.out_is_terminal else text
