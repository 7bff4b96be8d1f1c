"""How the values of a column become the texts of its cells, in each format that has cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kafka_groups.rendering.columns import MISSING, Column
from kafka_groups.rendering.screen import Screen, escape_controls


def cell_texts(values: Iterable[Any], *, escaped: bool) -> list[str]:
    """Return the texts of a table's cells; a missing value and an empty text are a dash.

    `escaped` makes control characters visible, because a terminal would obey them.
    """
    texts = [MISSING if value is None or value == "" else str(value) for value in values]
    return list(map(escape_controls, texts)) if escaped else texts


def column_texts(column: Column, rows: Sequence[Any], *, escaped: bool = False) -> list[str]:
    """Return the column's text for each row of a table."""
    return cell_texts(map(column.of, rows), escaped=escaped)


def column_width(column: Column, rows: Sequence[Any]) -> int:
    """Return the width of the column on a terminal, in cells: that of its header or its widest text."""
    # Imported here, because only terminals need it.
    from rich.cells import cell_len

    return max(map(cell_len, (column.header, *column_texts(column, rows, escaped=True))))


def kafka_texts(column: Column, rows: Sequence[Any], *, escaped: bool = False) -> list[str]:
    """Return the column's text for each row as Kafka's tool prints it: the cell of an empty text is empty."""
    texts = [column.kafka_missing if value is None else str(value) for value in map(column.of, rows)]
    return list(map(escape_controls, texts)) if escaped else texts


def csv_cell(screen: Screen) -> Callable[[Any], Any]:
    """Return the function that turns a value into a cell of CSV; the csv module writes numbers and None itself."""
    return _csv_cell_on_terminal if screen.out_is_terminal else _csv_cell


def _csv_cell(value: Any) -> Any:
    return value


def _csv_cell_on_terminal(value: Any) -> Any:
    return escape_controls(value) if isinstance(value, str) else value
