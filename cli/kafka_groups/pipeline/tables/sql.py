"""SQL from templates: fields are rendered safely as identifiers, literals or other SQL, in one of two dialects.

DataFusion reads the tables, and Spark SQL registers them in catalogs. Neither takes parameters apart from the text, so
no function outside of this module may put values into SQL.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import date
from string import Formatter
from typing import Final, NamedTuple, TypeAlias


class Sql(str):
    """A rendered piece of SQL, which may become part of a larger one."""

    __slots__ = ()


class Identifier(str):
    """The name of a table or a column."""

    __slots__ = ()


Value: TypeAlias = str | int | float | date | None
SqlValue: TypeAlias = Value | Collection[Value]


class _Dialect(NamedTuple):
    """How a dialect quotes texts and identifiers."""

    quote_text: Callable[[str], str]
    quote_identifier: Callable[[str], str]


# In literals of Spark, a backslash escapes the character after it; in literals of DataFusion, it is a character.
_SPARK_ESCAPES: Final = str.maketrans({"\\": r"\\", "'": r"\'", "\n": r"\n", "\r": r"\r"})
_DATAFUSION: Final = _Dialect(
    quote_text=lambda text: "'" + text.replace("'", "''") + "'",
    quote_identifier=lambda name: '"' + name.replace('"', '""') + '"',
)
_SPARK: Final = _Dialect(
    quote_text=lambda text: "'" + text.translate(_SPARK_ESCAPES) + "'",
    quote_identifier=lambda name: "`" + name.replace("`", "``") + "`",
)


def render_sql(template: str, /, **values: SqlValue) -> Sql:
    """Return the template as DataFusion's SQL, with each field `{name}` replaced by its value.

    Sql is inserted unchanged, an Identifier is quoted, and any other value becomes a literal. A collection becomes a
    list with commas, as after SELECT or in IN (…). An empty collection becomes NULL, because IN () is not valid SQL and
    IN (NULL) is true for no row. Write braces that belong to the SQL twice. Raises KeyError if a value is missing.
    """
    return _render_template(template, values, _DATAFUSION)


def render_spark_sql(template: str, /, **values: SqlValue) -> Sql:
    """Return the template as Spark SQL, with each field replaced by its value, as in `render_sql`."""
    return _render_template(template, values, _SPARK)


def any_of(conditions: Iterable[Sql]) -> Sql:
    """Return a condition that is true where any of these conditions is true; FALSE if there are none."""
    return Sql(" OR ".join(f"({condition})" for condition in conditions) or "FALSE")


def _render_template(template: str, values: Mapping[str, SqlValue], dialect: _Dialect) -> Sql:
    parts = []
    for text, field, _, _ in Formatter().parse(template):
        parts.append(text)
        if field is not None:
            parts.append(_render(values[field], dialect))
    return Sql("".join(parts))


def _render(value: SqlValue, dialect: _Dialect) -> str:
    """Return the SQL of one value, by its type."""
    match value:
        case None:
            rendered = "NULL"
        case Sql():
            rendered = value
        case Identifier():
            rendered = dialect.quote_identifier(value)
        case str():
            rendered = dialect.quote_text(value)
        case date():
            rendered = f"DATE '{value.isoformat()}'"
        case int() | float():
            rendered = repr(value)
        case _:
            rendered = ", ".join(_render(part, dialect) for part in value) or "NULL"
    return rendered
