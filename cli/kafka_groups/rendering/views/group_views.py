"""What the views of one kind of group are: the rows and columns of its tables, and the JSON object of a group."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from kafka_groups.model import GroupDescription, OffsetRow
from kafka_groups.rendering.columns import Column, View
from kafka_groups.rendering.schemas import Document


class GroupRows(NamedTuple):
    """A described group: its description, and the rows of its offsets."""

    description: GroupDescription
    offsets: Sequence[OffsetRow] = ()


class TableStyle(NamedTuple):
    """What a table of groups has: more columns with `verbose`, and with `as_kafka` those of Kafka's own tool."""

    verbose: bool = False
    as_kafka: bool = False


class GroupTable(NamedTuple):
    """One table of groups of a kind. `view` has all columns of its rows, for CSV, JSON and the schema.

    `rows` returns the rows of a group, `columns` the columns of a table of these rows in a style. `kafka_rows` returns
    the rows as Kafka's own tool prints them; None if it prints the same ones in the same order.
    """

    view: View
    rows: Callable[[GroupRows], Sequence[Any]]
    columns: Callable[[Sequence[Any], TableStyle], tuple[Column, ...]]
    kafka_rows: Callable[[GroupRows], Sequence[Any]] | None = None

    def rows_in(self, style: TableStyle, group: GroupRows) -> Sequence[Any]:
        """Return the rows of a group for a table in this style."""
        make_rows = self.kafka_rows if style.as_kafka and self.kafka_rows is not None else self.rows
        return make_rows(group)


class GroupViews(NamedTuple):
    """The views of one kind of group: its tables by name, and the function that returns the JSON object of a group.

    Every kind has the tables offsets, members and state. Only streams groups have the table topology.
    """

    tables: Mapping[str, GroupTable]
    document: Callable[[GroupRows], Document]


def fixed_columns(
    view: View, as_kafka: Mapping[bool, tuple[Column, ...]] | None = None
) -> Callable[[Sequence[Any], TableStyle], tuple[Column, ...]]:
    """Return the function of a table whose columns do not depend on its rows.

    `as_kafka` has the columns of Kafka's tool by verbosity; without it they are those of the view that the tool has.
    """
    columns: dict[TableStyle, tuple[Column, ...]] = {}
    for verbose in (False, True):
        options = {"--verbose"} if verbose else set()
        columns[TableStyle(verbose)] = view.table(options=options)
        theirs = view.table(options=options, as_kafka=True) if as_kafka is None else as_kafka[verbose]
        columns[TableStyle(verbose, as_kafka=True)] = theirs
    return lambda _rows, style: columns[style]
