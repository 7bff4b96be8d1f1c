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

    `rows` returns the rows of a group, `columns` those of a table of these rows in a style.
    """

    view: View
    rows: Callable[[GroupRows], Sequence[Any]]
    columns: Callable[[Sequence[Any], TableStyle], tuple[Column, ...]]


class GroupViews(NamedTuple):
    """The views of one kind of group: its tables by name (offsets, members, state), and the JSON object of a group."""

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
