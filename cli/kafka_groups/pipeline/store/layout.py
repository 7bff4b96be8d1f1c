"""Where files are: `<table>/date=YYYY-MM-DD/<batch>.<random>.parquet`. The batch names the run that wrote the rows.

Spark and other readers leave out names that begin with a dot or an underscore. A small file, the marker, says that a
directory is ours, and what wrote it.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Final

from pyarrow.fs import FileType

from kafka_groups import __version__
from kafka_groups.errors import StorageError
from kafka_groups.pipeline.store.data_files import (
    BACKFILL,
    BUILD,
    COMPACTED,
    COMPACTED_SAMPLES,
    KEPT,
    SAMPLE,
    SORTED_SAMPLES,
    DataFile,
    NewFile,
    new_batch_name,
    new_path,
)
from kafka_groups.pipeline.store.root_directory import RootDirectory
from kafka_groups.pipeline.tables import SCHEMA_VERSION

__all__ = [
    "BACKFILL",
    "BUILD",
    "COMPACTED",
    "COMPACTED_SAMPLES",
    "KEPT",
    "MARKER",
    "RETENTION",
    "SAMPLE",
    "SORTED_SAMPLES",
    "DataFile",
    "NewFile",
    "is_new",
    "new_batch_name",
    "new_path",
    "write_marker",
]

RETENTION: Final = "retention"  # the note {"first_date": …, "derived": {table: …}}: older dates are to be removed
MARKER: Final = "kafka-groups-pipeline.json"
_WHAT: Final = "tables of kafka-groups pipeline"


def is_new(place: RootDirectory) -> bool:
    """Return whether there is no directory, or an empty one.

    Raises StorageError for one that is not ours, or of a layout or a version that we do not know.
    """
    if place.info(place.root).type == FileType.File:
        message = f"{place.into} is a file, and tables need a directory; name a directory"
        raise StorageError(message)
    # A draft is what a crash leaves of a marker; lost+found stands in the root of a disk.
    others = [name for name in place.names(place.root) if not name.endswith(".draft") and name != "lost+found"]
    # Looked for after the others were listed: another program may write it, and then tables, at any moment.
    if _has_marker(place):
        return False
    if others:
        message = (
            f"{place.into} is not a directory of this pipeline: it contains {others[0]!r} and no {MARKER}; "
            "name another directory, or an empty one"
        )
        raise StorageError(message)
    return True


def write_marker(place: RootDirectory) -> None:
    """Make the directory ours, unless it is already. StorageError if that is not possible."""
    if not _has_marker(place):
        content = {
            "what": _WHAT,
            "schema_version": SCHEMA_VERSION,
            "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "made_by": f"kafka-groups {__version__}",
        }
        place.write_small(place.join(MARKER), json.dumps(content, indent=2) + "\n")


def _has_marker(place: RootDirectory) -> bool:
    """Return whether the marker is there. StorageError for one that is not ours, or of another schema version."""
    text = place.read_small(place.join(MARKER))
    if text is None:
        return False
    try:
        content = dict(json.loads(text))
    except (ValueError, TypeError):
        content = {}
    version = content.get("schema_version")
    if type(version) is not int or version < 1:
        fault = f"{place.join(MARKER)} cannot be parsed; restore it, or name another directory"
    elif content.get("what") != _WHAT:
        fault = f"{place.into} is not a directory of this pipeline; name another directory"
    elif version > SCHEMA_VERSION:
        fault = (
            f"the tables in {place.into} were created by {content.get('made_by', 'a newer version')} (schema "
            f"{version}), and this is kafka-groups {__version__} (schema {SCHEMA_VERSION}); use that version, or a "
            "newer one"
        )
    elif version < SCHEMA_VERSION:
        fault = (
            f"the tables in {place.into} are of an older layout (schema {version}), which this version does not read; "
            "name a new directory, and run ingest, backfill and build again"
        )
    else:
        return True
    raise StorageError(fault)
