"""The file that says that a directory is ours, and what wrote it."""

from __future__ import annotations

import json
import os
import tempfile
from datetime import UTC, datetime
from typing import Final

from pyarrow.fs import FileType

from kafka_groups import __version__
from kafka_groups.errors import StorageError
from kafka_groups.pipeline.schemas import SCHEMA_VERSION
from kafka_groups.pipeline.storage.root_directory import RootDirectory
from kafka_groups.pipeline.storage.storage_errors import as_storage_error

MARKER: Final = "kafka-groups-pipeline.json"
_WHAT: Final = "tables of kafka-groups pipeline"


def check_marker(place: RootDirectory, *, create: bool) -> None:
    """Raise StorageError unless the directory is ours, or may become so, of a layout and a version that we know.

    Nothing is made: that does `write_marker`.
    """
    if fault := _find_fault(place, create=create):
        raise StorageError(fault)
    # What is not there yet is made, and the attempt shows it.
    if create and place.is_local and os.path.isdir(place.root):
        with as_storage_error("write", place.into), tempfile.TemporaryFile(dir=place.root, buffering=0) as file:
            file.write(b"x")


def write_marker(place: RootDirectory) -> None:
    """Make the directory ours, unless it is already. StorageError if that is not possible."""
    if place.read_small(place.join(MARKER)) is None:
        content = {
            "what": _WHAT,
            "schema_version": SCHEMA_VERSION,
            "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "made_by": f"kafka-groups {__version__}",
        }
        place.write_small(place.join(MARKER), json.dumps(content, indent=2) + "\n")


def is_new(place: RootDirectory) -> bool:
    """Return whether there is nothing yet that could be ours or anybody's: no directory, or an empty one."""
    is_file = place.info(place.root).type == FileType.File
    return not is_file and place.read_small(place.join(MARKER)) is None and not _others(place)


def _find_fault(place: RootDirectory, *, create: bool) -> str | None:
    """Return why the directory cannot be used; None if it can."""
    if place.info(place.root).type == FileType.File:
        return f"{place.into} is a file, and tables need a directory; name a directory"
    text = place.read_small(place.join(MARKER))
    if text is not None:
        return _find_fault_of_marker(place, text)
    if others := _others(place):
        return (
            f"{place.into} is not a directory of this pipeline: it contains {others[0]!r} and no {MARKER}; "
            "name another directory, or an empty one"
        )
    if not create:
        return f"there are no tables in {place.into}; create them with `kafka-groups pipeline ingest` or `sample`"
    return None


def _find_fault_of_marker(place: RootDirectory, text: bytes) -> str | None:
    try:
        content = dict(json.loads(text))
    except (ValueError, TypeError):
        content = {}
    version = content.get("schema_version")
    if type(version) is not int or version < 1:
        return f"{place.join(MARKER)} cannot be parsed; restore it, or name another directory"
    if content.get("what") != _WHAT:
        return f"{place.into} is not a directory of this pipeline; name another directory"
    if version > SCHEMA_VERSION:
        return (
            f"the tables in {place.into} were created by {content.get('made_by', 'a newer version')} (schema "
            f"{version}), and this is kafka-groups {__version__} (schema {SCHEMA_VERSION}); use that version, or a "
            "newer one"
        )
    if version < SCHEMA_VERSION:
        return (
            f"the tables in {place.into} are of an older layout (schema {version}), which this version does not read; "
            "name a new directory, and run ingest, backfill and build again"
        )
    return None


def _others(place: RootDirectory) -> list[str]:
    # A draft is what a crash leaves of a marker; lost+found stands in the root of a disk.
    return [name for name in place.names(place.root) if not name.endswith(".draft") and name != "lost+found"]
