"""A file that is part of a table."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file with rows of one date (YYYY-MM-DD) and batch, as the log of its table lists it."""

    date: str
    batch: str
    path: str
    bytes: int
    rows: int
