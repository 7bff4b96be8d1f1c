"""The dates that a build makes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final


@dataclass(frozen=True, slots=True)
class DateRange:
    """The selected dates, both ends included (UTC)."""

    first: date = date.min
    last: date = date.max

    def __contains__(self, day: date) -> bool:
        """Return whether the date is selected."""
        return self.first <= day <= self.last

    def has_any(self, days: Iterable[date]) -> bool:
        """Return whether one of the days is selected."""
        return any(day in self for day in days)

    def up_to_last(self, days: Sequence[date]) -> list[date]:
        """Return the days that are selected, or before those."""
        return [day for day in days if day <= self.last]


ALL_DATES: Final = DateRange()
