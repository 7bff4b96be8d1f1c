"""A frame: a dataclass whose fields are columns, declared by `@frame`, and by `columns.column` for each field.

An instance holds rows: a numpy array for each column, all of one length. Rows are selected, joined and sorted by the
names of columns; the order of columns does not matter. Tables are frames, too, but their rows are Arrow record batches
(`batches.py`), because they have strings and nulls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache, wraps
from typing import Any, Final, Self, TypeVar, cast, dataclass_transform

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.frames.arrays import Array, Flags, Ints, to_array
from kafka_groups.pipeline.frames.columns import (
    BOOLEAN,
    FLOAT64,
    INT8,
    INT16,
    INT32,
    INT64,
    TIMESTAMP,
    Column,
    column,
)

C = TypeVar("C", bound=type)

# The numpy type of the arrays of an Arrow type, as `to_array` returns them.
_DTYPES: Final = {
    **dict.fromkeys((INT8, INT16, INT32, INT64, TIMESTAMP), np.dtype(np.int64)),
    FLOAT64: np.dtype(np.float64),
    BOOLEAN: np.dtype(np.bool_),
}


class ColumnError(ValueError):
    """An error in the columns of rows: one is missing, is not declared, or has a wrong length or type."""


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(column,))
def frame(cls: C) -> C:
    """Decorate a subclass of Frame: it becomes a frozen dataclass with slots and keyword arguments.

    Its constructor raises ColumnError, with the names of the columns, if any are missing or not declared.
    """
    declared: Any = dataclass(frozen=True, slots=True, kw_only=True)(cls)
    assign_columns = declared.__init__

    @wraps(assign_columns)
    def check_names(self: Frame, **columns: Array) -> None:
        if columns.keys() != {*self.names()}:
            missing = [name for name in self.names() if name not in columns]
            undeclared = [name for name in columns if name not in self.names()]
            problem = f"needs the columns {', '.join(missing)}"
            if not missing:
                problem = f"does not declare the columns {', '.join(undeclared)}"
            msg = f"{cls.__name__} {problem}, and is given {', '.join(columns)}"
            raise ColumnError(msg)
        assign_columns(self, **columns)

    declared.__init__ = check_names
    return cast("C", declared)


class Frame:
    """The base class of frames; `@frame` makes each subclass a dataclass."""

    __slots__ = ()

    @classmethod
    @cache
    def columns(cls) -> tuple[Column, ...]:
        """Return the columns."""
        declared: Any = cls  # Each subclass is a dataclass.
        return tuple(Column(field.name, **field.metadata) for field in fields(declared))

    @classmethod
    @cache
    def names(cls) -> tuple[str, ...]:
        """Return the names of the columns."""
        return tuple(column.name for column in cls.columns())

    @classmethod
    @cache
    def _dtypes(cls) -> Mapping[str, np.dtype[Any]]:
        """Return the numpy type of each column by its name, without columns that only Arrow can hold."""
        dtypes = {column.name: _DTYPES.get(column.type) for column in cls.columns()}
        return {name: dtype for name, dtype in dtypes.items() if dtype is not None}

    @classmethod
    @cache
    def schema(cls) -> Any:
        """Return the columns as an Arrow schema."""
        return pa.schema([(column.name, column.type) for column in cls.columns()])

    @classmethod
    def from_batch(cls, batch: Any, **others: Array) -> Self:
        """Return the rows of a record batch or an Arrow table as arrays; `others` are columns that it lacks.

        Columns that the frame does not declare are ignored. Raises ColumnError for a missing column.
        """
        columns: dict[str, Any] = dict(others)
        for name in cls.names():
            if name not in columns:
                if name not in batch.schema.names:
                    msg = f"{cls.__name__} needs the column {name!r}, and the rows have {', '.join(batch.schema.names)}"
                    raise ColumnError(msg)
                columns[name] = to_array(batch[name])
        return cls(**columns)

    @classmethod
    def join(cls, *parts: Self) -> Self:
        """Return the rows of all parts, one part after another."""
        return cls(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in cls.names()})

    @classmethod
    def empty(cls) -> Self:
        """Return no rows."""
        return cls(**{name: np.zeros(0, dtype) for name, dtype in cls._dtypes().items()})

    def __post_init__(self) -> None:
        """Raise ColumnError, with the column's name, if a column has another length or type than it must have."""
        size = len(self)
        dtypes = self._dtypes()
        for name, values in self.arrays().items():
            if len(values) != size:
                msg = f"{type(self).__name__} has {size} rows, and its column {name!r} has {len(values)}"
                raise ColumnError(msg)
            if values.dtype != dtypes[name]:
                msg = f"the column {name!r} of {type(self).__name__} has {dtypes[name]}, and is given {values.dtype}"
                raise ColumnError(msg)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(getattr(self, self.names()[0]))

    def arrays(self) -> Mapping[str, Array]:
        """Return the array of each column, by name."""
        return {name: getattr(self, name) for name in self.names()}

    def take(self, rows: Flags | Ints) -> Self:
        """Return the rows that a mask or an array of indices selects."""
        return type(self)(**{name: values[rows] for name, values in self.arrays().items()})

    def sort_by(self, *names: str) -> Self:
        """Return the rows in ascending order of these columns; rows that are equal in all of them keep their order."""
        return self.take(np.lexsort([getattr(self, name) for name in reversed(names)]))
