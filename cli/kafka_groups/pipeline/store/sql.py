"""SQL texts: templates whose fields are rendered as identifiers, literals or other SQL, by one function.

The query engine that reads the tables takes only texts, so no other function may put values into SQL.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import date
from string import Formatter
from typing import TypeAlias


class Sql(str):
    """A rendered text of SQL, which may be a part of a larger one."""

    __slots__ = ()


class Identifier(str):
    """The name of a table or a column."""

    __slots__ = ()


Value: TypeAlias = str | int | float | date | None
SqlValue: TypeAlias = Value | Collection[Value]


def render_sql(template: str, /, **values: SqlValue) -> Sql:
    """Return the template with each field `{name}` replaced by its value, which is Sql, an identifier or a literal.

    A value of the class Sql is inserted as it is. A collection becomes its values with commas between them, as they
    stand after SELECT and in IN (…). An empty one becomes NULL, because IN () is no SQL, and IN (NULL) is true for no
    row. Braces that belong to the SQL are written twice. Raises KeyError for a field without a value.
    """
    parts = []
    for text, field, _, _ in Formatter().parse(template):
        parts.append(text)
        if field is not None:
            parts.append(_render(values[field]))
    return Sql("".join(parts))


def any_of(conditions: Iterable[Sql]) -> Sql:
    """Return the condition that is true where one of these conditions is true; FALSE if there is none."""
    return Sql(" OR ".join(f"({condition})" for condition in conditions) or "FALSE")


def _render(value: SqlValue) -> str:
    """Return the SQL of one value, by its type."""
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
