"""The marker: a small file that marks a directory as a data directory, and states the version of its tables."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, Final

from pyarrow.fs import FileType

from kafka_groups import __version__
from kafka_groups.errors import StorageError
from kafka_groups.pipeline.store.root_directory import RootDirectory
from kafka_groups.pipeline.tables import SCHEMA_VERSION

MARKER: Final = "kafka-groups-pipeline.json"
_WHAT: Final = "tables of kafka-groups pipeline"


def is_new(directory: RootDirectory) -> bool:
    """Return whether the directory does not exist or is empty; false if it has the marker of this schema version.

    Drafts of the marker and `lost+found` do not count as content. Raises StorageError if the directory is a file, holds
    something else, or has a marker of another schema version.
    """
    if directory.info(directory.root).type == FileType.File:
        message = f"{directory.location} is a file, and tables need a directory; name a directory"
        raise StorageError(message)
    # A crash leaves drafts of a marker, and the root of a disk has lost+found.
    foreign_names = [
        name for name in directory.names(directory.root) if not name.endswith(".draft") and name != "lost+found"
    ]
    # The marker is read after the names: another program may write it, and then tables, at any moment.
    if has_marker(directory):
        return False
    if foreign_names:
        message = (
            f"{directory.location} is not a directory of this pipeline: it contains {foreign_names[0]!r} and no "
            f"{MARKER}; "
            "name another directory, or an empty one"
        )
        raise StorageError(message)
    return True


def write_marker(directory: RootDirectory) -> None:
    """Write the marker, and create the directory if it does not exist; do nothing if the marker exists.

    Call `is_new` before, which refuses a directory with other content. Two programs may write the marker at once.
    Raises StorageError if the marker cannot be written, or if there is a marker of another schema version.
    """
    if has_marker(directory):
        return
    content = {
        "what": _WHAT,
        "schema_version": SCHEMA_VERSION,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "made_by": f"kafka-groups {__version__}",
    }
    directory.write_small(directory.join(MARKER), json.dumps(content, indent=2) + "\n")


def has_marker(directory: RootDirectory) -> bool:
    """Return whether the directory has a marker of this schema version.

    Raises StorageError if the marker has another schema version, cannot be parsed, or is another program's.
    """
    marker_bytes = directory.read_small(directory.join(MARKER))
    if marker_bytes is None:
        return False
    problem = _describe_problem(directory, _parse_marker(marker_bytes))
    if problem is not None:
        raise StorageError(problem)
    return True


def _parse_marker(marker_bytes: bytes) -> dict[str, Any]:
    """Return the content of a marker; empty if it is not a JSON object."""
    try:
        return dict(json.loads(marker_bytes))
    except (ValueError, TypeError):
        return {}


def _describe_problem(directory: RootDirectory, content: dict[str, Any]) -> str | None:
    """Return why the tables of a marker with this content cannot be used, and the next step; None if they can be."""
    schema_version = content.get("schema_version")
    if type(schema_version) is not int or schema_version < 1:
        return f"{directory.join(MARKER)} cannot be parsed; restore it, or name another directory"
    if content.get("what") != _WHAT:
        return f"{directory.location} is not a directory of this pipeline; name another directory"
    if schema_version > SCHEMA_VERSION:
        return (
            f"the tables in {directory.location} were created by {content.get('made_by', 'a newer version')} (schema "
            f"{schema_version}), and this is kafka-groups {__version__} (schema {SCHEMA_VERSION}); use that version, "
            "or a newer one"
        )
    if schema_version < SCHEMA_VERSION:
        return (
            f"the tables in {directory.location} have an older layout (schema {schema_version}), which this version "
            "does not read; name a new directory, and run ingest, backfill and build again"
        )
    return None
