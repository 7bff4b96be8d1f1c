"""Where files are: `<table>/date=YYYY-MM-DD/<batch>.<random>.parquet`. The batch names the run that wrote the rows.

Spark and other readers leave out names that begin with a dot or an underscore.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Final

BUILD: Final = "build"  # the batch that all rows of a derived table are of
COMPACTED: Final = "compacted"  # the batch of files that compaction made of others, except those of samples
COMPACTED_SAMPLES: Final = "compacted-samples"  # the batch of those, each sorted
SORTED_SAMPLES: Final = "sorted-samples"  # the batch of the samples of a date that were sorted together
KEPT: Final = "kept"  # the batch of what retention leaves of a date
SAMPLE: Final = "sample-"  # begins the batches of samples
BACKFILL: Final = "backfill-"  # begins the batches of backfills
# The note {"first_date": …, "derived": {table: …}}: older dates of facts and derived tables were or will be removed.
RETENTION: Final = "retention"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,150}")


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file with rows of one table and one date (YYYY-MM-DD)."""

    table: str
    date: str
    path: str
    rows: int
    bytes: int

    @property
    def batch(self) -> str:
        """The run that wrote it; of a file that another program wrote, some name."""
        return self.path.rpartition("/")[2].partition(".")[0]


NewFile = DataFile  # one that no commit has made a part of its table yet


def checked_name(name: str) -> str:
    """Return the name if it can be part of a file's name on any file system; else raise ValueError."""
    if not _NAME.fullmatch(name):
        message = f"{name!r} cannot be a name in the data directory"
        raise ValueError(message)
    return name


def new_batch_name(origin: str, at: datetime) -> str:
    """Return a name that no other batch has: the origin of its rows, a time in UTC, and random characters."""
    return f"{begin_name(origin, at)}-{uuid.uuid4().hex[:12]}"


def begin_name(origin: str, at: datetime) -> str:
    """Return how the names of an origin's batches of this time begin; later ones are greater."""
    return f"{origin.rstrip('-')}-{at:%Y%m%dT%H%M%SZ}"


def new_file_name(table: str, date: str, batch: str) -> str:
    """Return the path of a new file, relative to the directory of all tables."""
    return f"{table}/date={date}/{batch}.{uuid.uuid4().hex[:16]}.parquet"
