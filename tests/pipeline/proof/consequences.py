"""Differences of one table that follow from those of another one, because its rows are derived from those rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from tests.pipeline.proof.differences import Difference, Expected, ExplainedDifferences
from tests.pipeline.proof.random_facts import Row

# For how long the last row of a partition counts for its group; brokers' times have milliseconds.
_FRESH: Final = timedelta(minutes=10, milliseconds=1)
# A report has one point for each part of its period of six days, and one behind a gap of ten minutes.
_PART: Final = timedelta(minutes=9)
_NO_TIME: Final = datetime.min.replace(tzinfo=UTC)
_TIMES: Final = ("observed_at", "evaluated_at", "started_at", "day", "at")


@dataclass(frozen=True, slots=True, kw_only=True)
class Consequence(Expected):
    """Differences that follow from the expected ones of the table `source`, of the same group and by the same defect.

    A column follows from its sources in `from_columns`, by default from the column of its own name, and from rows on
    one side only. A row on one side only follows from any of them. `is_source` returns whether the second row, one of
    `source`, bears on the first one.
    """

    source: str
    is_source: Callable[[Row, Row], bool]
    from_columns: Mapping[str, frozenset[str]] = field(default_factory=dict, hash=False)

    def explains(self, difference: Difference, before: ExplainedDifferences) -> frozenset[str] | None:
        """Return the differing columns that this explains; None if it explains nothing of the difference."""
        if difference.table != self.table:
            return None
        sources = [
            source
            for source in before.of(self.source, difference.key, self.defect)
            if self.is_source(difference.row, source.row)
        ]
        if not difference.columns:
            return frozenset() if self.is_whole_row and sources else None
        columns = (column for column in difference.columns & self.columns if self._follows(column, sources))
        return frozenset(columns) or None

    def _follows(self, column: str, sources: list[Difference]) -> bool:
        names = self.from_columns.get(column, frozenset({column}))
        return any(not source.columns or source.columns & names for source in sources)


def time_of(row: Row) -> datetime:
    """Return the time of a row of a table or of a report; the first time of all if it has none."""
    time: Any = next((row[name] for name in _TIMES if row.get(name) is not None), _NO_TIME)
    return datetime.fromisoformat(time) if isinstance(time, str) else time


def counts_at(group_row: Row, partition_row: Row) -> bool:
    """Return whether a row of lag_history may count for one of group_status."""
    return timedelta(0) <= time_of(group_row) - time_of(partition_row) <= _FRESH


def is_on_day(day_row: Row, row: Row) -> bool:
    """Return whether a row is one of the day of the other one."""
    return time_of(day_row).date() == time_of(row).date()


def is_same_time(report_row: Row, row: Row) -> bool:
    """Return whether both rows have one time."""
    return time_of(report_row) == time_of(row)


def is_near_point(point: Row, row: Row) -> bool:
    """Return whether a point of a report may be chosen because of a row of group_status."""
    reach = _PART + _FRESH if point["lag"] is None else _PART
    return abs(time_of(point) - time_of(row)) <= reach


def is_before(report_row: Row, row: Row) -> bool:
    """Return whether a row is not later than the last one that a report has for the group."""
    return time_of(row) <= time_of(report_row)
