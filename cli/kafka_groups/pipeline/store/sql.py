"""SQL texts: templates whose fields are rendered as identifiers, literals or other SQL, by one function.

The query engine of the library that reads the tables takes only texts, so nothing else may put values into SQL.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import date
from string import Formatter
from typing import TypeAlias


class Sql(str):
    """A rendered text of SQL, which is a part of a larger one."""

    __slots__ = ()


class Identifier(str):
    """The name of a table or a column."""

    __slots__ = ()


Value: TypeAlias = str | int | float | date | None
SqlValue: TypeAlias = Value | Collection[Value]


def render_sql(template: str, /, **values: SqlValue) -> Sql:
    """Return a template with each field `{name}` rendered: as itself if it is Sql, else as an identifier or a literal.

    A collection is rendered as its values with commas between them, which is what stands behind SELECT and in IN (…).
    An empty one is NULL, because IN () is no SQL and nothing is IN (NULL). Raises KeyError for a field without a value.
    """
    parts = []
    for text, field, _, _ in Formatter().parse(template):
        parts.append(text)
        if field is not None:
            parts.append(_render(values[field]))
    return Sql("".join(parts))


def _render(value: SqlValue) -> str:
    match value:
        case None:
            rendered = "NULL"
        case Sql():
            rendered = value
        case Identifier():
            rendered = '"' + value.replace('"', '""') + '"'
        case str():
            rendered = "'" + value.replace("'", "''") + "'"
        case date():
            rendered = f"DATE '{value.isoformat()}'"
        case int() | float():
            rendered = repr(value)
        case _:
            rendered = ", ".join(map(_render, value)) or "NULL"
    return rendered
