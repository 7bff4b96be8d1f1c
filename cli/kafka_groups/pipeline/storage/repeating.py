"""Whether a batch that is repeated has the rows that it had: then there is nothing to commit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pyarrow.parquet as pq

from kafka_groups.pipeline.storage.failing import told
from kafka_groups.pipeline.storage.places import Place
from kafka_groups.pipeline.tables import Table

DatedFile = tuple[str, str]  # date, path


@dataclass(slots=True)
class _Told:
    """What footers tell of a date: how many rows, and the first and the last value of each column of the identity."""

    rows: int = 0
    first: dict[str, Any] = field(default_factory=dict)
    last: dict[str, Any] = field(default_factory=dict)


def are_the_same(place: Place, table: Table, old: Iterable[DatedFile], new: Iterable[DatedFile]) -> bool:
    """Whether the files hold the same rows, date by date, as far as their footers tell, however they are cut.

    The same offsets are read once more after a crash, so it is yes then. It is no where a checkpoint came back from
    a backup and a batch of the same number reads on to another end: such a batch takes the place of the old one.
    """
    return _told(place, table, old) == _told(place, table, new)


def _told(place: Place, table: Table, files: Iterable[DatedFile]) -> dict[str, _Told]:
    found: dict[str, _Told] = {}
    for date, path in files:
        with told("read the tables", path):
            footer = pq.read_metadata(path, filesystem=place.fs)
        one = found.setdefault(date, _Told())
        one.rows += footer.num_rows
        for number in range(footer.num_row_groups):
            _add(one, table, footer.row_group(number))
    return found


def _add(one: _Told, table: Table, group: Any) -> None:
    for number in range(group.num_columns):
        column = group.column(number)
        name, known = column.path_in_schema, column.statistics
        if name in table.identity and known is not None and known.has_min_max:
            one.first[name] = min(known.min, one.first.get(name, known.min))
            one.last[name] = max(known.max, one.last.get(name, known.max))
