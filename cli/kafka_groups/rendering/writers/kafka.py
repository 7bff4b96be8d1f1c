"""The columns and padding of kafka-consumer-groups.sh, for scripts that parse its output."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from kafka_groups.groups.notes import Note
from kafka_groups.model import Failure
from kafka_groups.rendering.columns import Column, Entry
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.writers.cells import kafka_texts


class KafkaWriter:
    """Blocks as Kafka's tool prints them."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen

    def add(self, entry: Entry) -> None:
        """Write the group's block."""
        if entry.rows or entry.is_header_kept:
            lines = kafka_lines(entry.columns, entry.rows, escaped=self._screen.out_is_terminal)
            self._screen.out.write("\n" + "\n".join(lines) + "\n")

    def end(self, notes: Iterable[Note], failures: Iterable[Failure], *, status: str) -> None:
        """Write nothing: failures are printed on stderr."""


class KafkaListWriter:
    """The list as Kafka's tool prints it: one table, with ten blanks more after the group than it needs."""

    _before = ""
    _spare = 10

    def __init__(self, screen: Screen, columns: Sequence[Column]) -> None:
        self._screen = screen
        self._columns = columns
        self._rows: list[Any] = []

    def add(self, entry: Entry) -> None:
        """Keep the rows: the longest names determine the widths."""
        self._rows += entry.rows

    def end(self, notes: Iterable[Note], failures: Iterable[Failure], *, status: str) -> None:
        """Write the whole table, unless everything failed."""
        if self._rows or status != "failed":
            lines = kafka_lines(self._columns, self._rows, spare=self._spare, escaped=self._screen.out_is_terminal)
            self._screen.out.write(self._before + "\n".join(lines) + "\n")


class KafkaResetWriter(KafkaListWriter):
    """New offsets as Kafka's tool prints them: one table behind a blank line, only of what is committed."""

    _before = "\n"
    _spare = 0

    def add(self, entry: Entry) -> None:
        """Keep the rows with a new offset."""
        self._rows += [row for row in entry.rows if row.new_offset is not None]


def kafka_lines(columns: Sequence[Column], rows: Sequence[Any], *, spare: int = 0, escaped: bool = False) -> list[str]:
    """Return lines as Kafka's tool prints them: its widths, all aligned to the left, `spare` blanks after the first."""
    padded = []
    for at, column in enumerate(columns):
        texts = [column.header, *kafka_texts(column, rows, escaped=escaped)]
        longest = max(map(_java_length, texts[1:]), default=0) if column.fits_longest else 0
        width = max(column.kafka_width or 0, longest) + (0 if at else spare)
        padded.append([text + " " * (width - _java_length(text)) for text in texts])
    return [" ".join(line) for line in zip(*padded, strict=True)]


def _java_length(text: str) -> int:
    """Return the length that Java pads: the number of UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
