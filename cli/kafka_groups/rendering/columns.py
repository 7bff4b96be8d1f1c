"""Columns of views, one declaration for the table, CSV, JSON and the JSON Schema, and the groups that are written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from operator import attrgetter
from typing import Any, Final, Literal, NamedTuple

from kafka_groups.rendering.clusters import Cluster
from kafka_groups.rendering.schemas import Document, Schema, object_schema

WhenNarrow = Literal["cut", "fold"]

# The cell of a missing value in a table.
MISSING: Final = "-"


class Column(NamedTuple):
    """A column of a view; its value is an attribute of the row, or a dotted path of attributes.

    `header` names it in tables and CSV, and is empty if it is only in JSON. `schema` describes its value in JSON, and
    is None if it is only in tables and CSV. The JSON key is `key`, or the attribute. `show` turns the value into a
    cell, `encode` into a JSON value.

    `kafka_width` is the width that Kafka's own tool gives it (`--format kafka`), 0 for an unpadded cell, None if that
    tool does not have the column; `fits_longest` means that a longer cell widens the whole column there, and
    `kafka_missing` is its cell for a missing value. A column with an `option` is shown only with that option.
    `when_narrow` is what a terminal too narrow for the table may do to the text: cut it, fold it, or (None) nothing,
    because the text identifies the row.
    """

    header: str
    attribute: str
    is_number: bool = False
    kafka_width: int | None = None
    fits_longest: bool = False
    kafka_missing: str = MISSING
    when_narrow: WhenNarrow | None = None
    option: str | None = None
    key: str | None = None
    schema: Schema | None = None
    show: Callable[[Any], Any] | None = None
    encode: Callable[[Any], Any] | None = None

    @property
    def of(self) -> Callable[[Any], Any]:
        """Return the function that returns the column's cell of a row."""
        get = attrgetter(self.attribute)
        show = self.show
        return get if show is None else lambda row: show(get(row))

    @property
    def json_key(self) -> str:
        """Return the key of the value in JSON: `key`, or the last part of the attribute's path."""
        return self.key or self.attribute.rpartition(".")[2]


class View(NamedTuple):
    """The columns of one kind of row; two of them at least."""

    columns: tuple[Column, ...]

    def table(self, *, options: Collection[str] | None = None, as_kafka: bool = False) -> tuple[Column, ...]:
        """Return the columns of a table or CSV with these options, or all (None); `as_kafka` only those of Kafka."""
        return tuple(
            column
            for column in self.columns
            if column.header
            and (options is None or column.option is None or column.option in options)
            and (column.kafka_width is not None or not as_kafka)
        )

    def encoder(self, *, without: Sequence[str] = ()) -> Callable[[Any], Document]:
        """Return the function that turns a row into a JSON object, without some of its keys."""
        columns = [c for c in self.columns if c.schema is not None and c.json_key not in without]
        keys = [column.json_key for column in columns]
        get = attrgetter(*(column.attribute for column in columns))
        encoders = [(column.json_key, column.encode) for column in columns if column.encode is not None]

        def encode(row: Any) -> Document:
            document = dict(zip(keys, get(row), strict=True))
            for key, encode_value in encoders:
                document[key] = encode_value(document[key])
            return document

        return encode

    def schema(self, *, without: Sequence[str] = (), **more: Any) -> Schema:
        """Return the JSON Schema of the row, without some of its keys."""
        return object_schema(self.properties(without=without), **more)

    def properties(self, *, without: Sequence[str] = ()) -> dict[str, Schema]:
        """Return the JSON Schemas of the row's values by key."""
        return {
            column.json_key: column.schema
            for column in self.columns
            if column.schema is not None and column.json_key not in without
        }


class Entry(NamedTuple):
    """One group to write: its rows, and the function that makes its JSON object.

    `columns` may differ from group to group where a column is shown only if it has a value. `view` and
    `csv_columns`, the columns of a CSV, are given where they differ from kind to kind of group.
    `is_header_kept` means that a block without rows has its header, as in Kafka's members view. `cluster` is the
    cluster of all rows.
    """

    columns: Sequence[Column]
    rows: Sequence[Any]
    document: Callable[[], Document]
    is_header_kept: bool = False
    view: View | None = None
    csv_columns: Sequence[Column] | None = None
    cluster: Cluster | None = None


def name_column(header: str, attribute: str, *, kafka_width: int, **more: Any) -> Column:
    """Return a column of names, as wide as the longest of them."""
    return Column(header, attribute, kafka_width=kafka_width, fits_longest=True, **more)


def text_column(header: str, attribute: str, **more: Any) -> Column:
    """Return a column of texts."""
    return Column(header, attribute, **more)


def number_column(header: str, attribute: str, **more: Any) -> Column:
    """Return a column of numbers, aligned to the right."""
    return Column(header, attribute, is_number=True, **more)
