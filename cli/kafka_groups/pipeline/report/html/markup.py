"""Pieces of HTML in which any name from the cluster is safe."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

from kafka_groups.rendering.screen import escape_controls

NOT_KNOWN = "–"  # noqa: RUF001 - a dash as wide as a digit


class Cell(NamedTuple):
    """A cell: its markup (None if unknown), the label that a phone shows next to it, and its CSS classes."""

    markup: str | None
    label: str
    classes: str = ""


def escape_text(content: object) -> str:
    """Return the value as text, also for attributes, with visible control and direction characters."""
    return escape(escape_controls(str(content)))


def escape_name(value: str) -> str:
    """Return a name from the cluster, which may be written from right to left."""
    return f"<bdi>{escape_text(value)}</bdi>"


def embed_json(value: Any) -> str:
    """Return the value as JSON that cannot close the script element around it."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c").replace(">", "\\u003e")


def make_row(head_cell: Cell, cells: Iterable[Cell]) -> str:
    """Return a row of a table; a phone shows it as a card."""
    return f'<tr><th scope="row"{_classes(head_cell.classes)}>{head_cell.markup}</th>{"".join(map(_cell, cells))}</tr>'


def make_table(headers: Sequence[Cell], rows: Iterable[str], *, label: str, classes: str = "") -> str:
    """Return a table that scrolls within the page, unless a phone shows it as cards."""
    head_markup = "".join(f'<th scope="col"{_classes(header.classes)}>{header.label}</th>' for header in headers)
    return (
        f'<div class="scroll" role="region" aria-label="{label}" tabindex="0"><table{_classes(classes)}>'
        f"<thead><tr>{head_markup}</tr></thead>\n<tbody>\n{chr(10).join(rows)}\n</tbody></table></div>"
    )


def make_section(element_id: str, title: str, *content: str) -> str:
    """Return a section with its heading; `element_id` is the target of links to it."""
    content_markup = "\n".join(filter(None, content))
    return f'<section aria-labelledby="{element_id}">\n<h2 id="{element_id}">{title}</h2>\n{content_markup}\n</section>'


def _cell(cell: Cell) -> str:
    classes = cell.classes if cell.markup is not None else f"{cell.classes} empty".strip()
    return f'<td data-label="{cell.label}"{_classes(classes)}>{NOT_KNOWN if cell.markup is None else cell.markup}</td>'


def _classes(names: str) -> str:
    return f' class="{names}"' if names else ""
