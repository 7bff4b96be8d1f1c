"""The file that says that a directory is ours, and what wrote it."""

from __future__ import annotations

import errno
import json
import os
from datetime import UTC, datetime
from typing import Any, Final

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
    kind = place.info(place.root).type
    if kind == FileType.File:
        message = f"{place.into} is a file, and tables need a directory; name a directory"
        raise StorageError(message)
    text = place.read_text(place.join(MARKER))
    if text is not None:
        _check(place, text)
    else:
        _check_empty(place, create=create)
    if create:
        _check_permission(place)


def write_marker(place: RootDirectory) -> None:
    """Make the directory ours, unless it is already. StorageError if that is not possible."""
    if place.read_text(place.join(MARKER)) is not None:
        # Somebody else may have been faster.
        check_marker(place, create=True)
        return
    place.make(place.root)
    place.write_text(place.join(MARKER), json.dumps(_content(), indent=2) + "\n")


def is_new(place: RootDirectory) -> bool:
    """Return whether there is nothing yet that could be ours or anybody's: no directory, or an empty one."""
    kind = place.info(place.root).type
    if kind != FileType.Directory:
        return bool(kind == FileType.NotFound)
    return place.read_text(place.join(MARKER)) is None and not _others(place)


def _content() -> dict[str, Any]:
    return {
        "what": _WHAT,
        "schema_version": SCHEMA_VERSION,
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "made_by": f"kafka-groups {__version__}",
    }


def _check(place: RootDirectory, text: str) -> None:
    try:
        content = json.loads(text)
        ours = content["what"] == _WHAT
        version = _version(content["schema_version"])
    except (ValueError, KeyError, TypeError) as error:
        message = f"{place.join(MARKER)} cannot be parsed; restore it, or name another directory"
        raise StorageError(message) from error
    if not ours:
        message = f"{place.into} is not a directory of this pipeline; name another directory"
        raise StorageError(message)
    if version > SCHEMA_VERSION:
        message = (
            f"the tables in {place.into} were created by {content.get('made_by', 'a newer version')} (schema "
            f"{version}), and this is kafka-groups {__version__} (schema {SCHEMA_VERSION}); use that version, or a "
            "newer one"
        )
        raise StorageError(message)
    if version < SCHEMA_VERSION:
        message = (
            f"the tables in {place.into} are of an older layout (schema {version}), which this version does not read; "
            "name a new directory, and run ingest, backfill and build again"
        )
        raise StorageError(message)


def _version(value: object) -> int:
    if type(value) is not int or value < 1:
        raise ValueError(value)
    return value


def _check_empty(place: RootDirectory, *, create: bool) -> None:
    others = _others(place)
    if others:
        message = (
            f"{place.into} is not a directory of this pipeline: it contains {others[0]!r} and no {MARKER}; "
            "name another directory, or an empty one"
        )
        raise StorageError(message)
    if not create:
        message = f"there are no tables in {place.into}; create them with `kafka-groups pipeline ingest` or `sample`"
        raise StorageError(message)


def _others(place: RootDirectory) -> list[str]:
    # Half of a marker is what a crash leaves; lost+found stands in the root of a disk.
    found = [info.base_name for info in place.children(place.root)]
    return [name for name in found if not name.startswith(MARKER) and name != "lost+found"]


def _check_permission(place: RootDirectory) -> None:
    # What is not there yet is made, and the attempt shows it.
    if not place.is_local or not os.path.isdir(place.root):
        return
    with as_storage_error("write", place.into):
        disk = os.statvfs(place.root)
        if disk.f_flag & os.ST_RDONLY:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS))
        # File systems that do not count say that they have none at all.
        if disk.f_blocks and not disk.f_bfree:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if not os.access(place.root, os.W_OK | os.X_OK):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES))
