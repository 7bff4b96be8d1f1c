"""Rows as a dataclass of arrays: one array for each column, all of the same length."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self

import numpy as np


class Rows:
    """The base of dataclasses whose fields are arrays of the same length."""

    __slots__ = ()

    @classmethod
    def of(cls, columns: Any) -> Self:
        """Return rows from columns in the order of the fields."""
        return cls(*columns)

    @classmethod
    def join(cls, *parts: Self) -> Self:
        """Return the rows of all parts, one after another."""
        return cls.of(np.concatenate([getattr(part, name) for part in parts]) for name in cls.names())

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """Return the names of the columns."""
        return tuple(field.name for field in fields(cls))  # type: ignore[arg-type]

    def where(self, rows: Any) -> Self:
        """Return the rows that a mask or an array of places selects."""
        return self.of(getattr(self, name)[rows] for name in self.names())

    def __len__(self) -> int:
        return len(getattr(self, self.names()[0]))
