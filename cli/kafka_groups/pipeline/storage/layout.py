"""Where files are: `<table>/date=YYYY-MM-DD/batch=<name>/part-*.parquet`; names with a dot in front are not tables.

Spark and other readers leave out names that begin with a dot or an underscore.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from kafka_groups.pipeline.storage.places import Place

STAGING: Final = ".staging"
BUILD: Final = "build"  # the batch that all rows of a derived table are of
KEPT: Final = "kept"  # the batch of what retention leaves of a date
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,150}")
COMPACTED: Final = re.compile(r"compacted-(\d+)")


@dataclass(frozen=True, slots=True)
class BatchDirectory:
    """What a batch holds of one date of a table: its files and their bytes."""

    date: str
    batch: str
    files: int
    bytes: int


def checked_name(name: str) -> str:
    """The name as it is, if it can stand in a directory's name on any file system; else ValueError."""
    if not _NAME.fullmatch(name):
        message = f"{name!r} cannot be a name in the data directory"
        raise ValueError(message)
    return name


def new_batch_name(origin: str, at: datetime) -> str:
    """Return a name that no other batch has: the origin of its rows, a time in UTC, and random characters."""
    return f"{origin}-{at:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:12]}"


def new_staging(place: Place) -> str:
    """A new, hidden directory."""
    path = place.join(STAGING, uuid.uuid4().hex)
    place.make(path)
    return path


def date_path(place: Place, table: str, date: str) -> str:
    """Where a date of a table is."""
    return place.join(table, f"date={date}")


def batch_path(place: Place, table: str, date: str, batch: str) -> str:
    """Where a batch's rows of a date are."""
    return f"{date_path(place, table, date)}/batch={batch}"


def next_compacted(batches: Iterable[str]) -> str:
    """Return the name for joined files of a date that has these batches."""
    found = (COMPACTED.fullmatch(batch) for batch in batches)
    return f"compacted-{1 + max((int(match[1]) for match in found if match), default=0)}"
