"""Pieces of HTML that are safe whatever a cluster's names are."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

from kafka_groups.rendering.screen import escape_controls

NOT_KNOWN = "–"  # noqa: RUF001 - a dash as wide as a digit


class Cell(NamedTuple):
    """A cell: its markup (None where nothing is known), the label that a phone shows with it, its classes."""

    markup: str | None
    label: str
    classes: str = ""


def text(value: object) -> str:
    """Return the value as text, also inside of quotes; controls and signs that turn the direction are spelled out."""
    return escape(escape_controls(str(value)))


def name(value: str) -> str:
    """Return a cluster's name for something, which may be written from right to left."""
    return f"<bdi>{text(value)}</bdi>"


def embedded(value: Any) -> str:
    """Return JSON that no HTML parser takes for anything else."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c").replace(">", "\\u003e")


def row(head: Cell, cells: Iterable[Cell]) -> str:
    """Return a line of a table, which is a card on a phone."""
    return f'<tr><th scope="row"{_classes(head.classes)}>{head.markup}</th>{"".join(map(_cell, cells))}</tr>'


def table(headers: Sequence[Cell], rows: Iterable[str], *, label: str, classes: str = "") -> str:
    """Return a table that scrolls within itself where it has not become cards."""
    head = "".join(f'<th scope="col"{_classes(header.classes)}>{header.label}</th>' for header in headers)
    return (
        f'<div class="scroll" role="region" aria-label="{label}" tabindex="0"><table{_classes(classes)}>'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{chr(10).join(rows)}\n</tbody></table></div>"
    )


def section(identity: str, title: str, *content: str) -> str:
    """Return a section under its heading."""
    inner = "\n".join(filter(None, content))
    return f'<section aria-labelledby="{identity}">\n<h2 id="{identity}">{title}</h2>\n{inner}\n</section>'


def _cell(cell: Cell) -> str:
    classes = cell.classes if cell.markup is not None else f"{cell.classes} empty".strip()
    return f'<td data-label="{cell.label}"{_classes(classes)}>{NOT_KNOWN if cell.markup is None else cell.markup}</td>'


def _classes(names: str) -> str:
    return f' class="{names}"' if names else ""
