"""The file that says that a directory is ours, and what wrote it."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from typing import Any, Final

from pyarrow.fs import FileType

from kafka_groups import __version__
from kafka_groups.errors import StorageError
from kafka_groups.pipeline.storage.places import Place
from kafka_groups.pipeline.tables import SCHEMA_VERSION

MARKER: Final = "kafka-groups-pipeline.json"
_WHAT: Final = "tables of kafka-groups pipeline"


def check_marker(place: Place, *, create: bool) -> None:
    """Raises StorageError unless the directory is ours, of a version that we know; makes it if it may and must."""
    kind = place.info(place.root).type
    if kind == FileType.File:
        message = f"{place.into} is a file, and the tables need a directory: name another."
        raise StorageError(message)
    text = place.read_text(place.join(MARKER))
    if text is not None:
        _check(place, text)
    else:
        _check_empty(place, create=create)
    if create:
        _check_permission(place)
    if create and text is None:
        place.make(place.root)
        place.write_text(place.join(MARKER), json.dumps(_content(), indent=2) + "\n")


def _content() -> dict[str, Any]:
    return {
        "what": _WHAT,
        "schema_version": SCHEMA_VERSION,
        "table_format": "parquet",
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "made_by": f"kafka-groups {__version__}",
    }


def _check(place: Place, text: str) -> None:
    try:
        content = json.loads(text)
        ours = content["what"] == _WHAT
        version, form = int(content["schema_version"]), content["table_format"]
    except (ValueError, KeyError, TypeError) as error:
        message = f"{place.join(MARKER)} cannot be understood: restore it, or name another directory."
        raise StorageError(message) from error
    if not ours:
        message = f"{place.into} is not a directory of this pipeline: name another."
        raise StorageError(message)
    if version > SCHEMA_VERSION:
        message = (
            f"The tables in {place.into} were made by {content.get('made_by', 'a newer one')} (schema {version}), and "
            f"this is kafka-groups {__version__} (schema {SCHEMA_VERSION}): use that version, or a newer one."
        )
        raise StorageError(message)
    if form != "parquet":
        message = f"The tables in {place.into} are of the format {form!r}, and this version knows parquet."
        raise StorageError(message)


def _check_empty(place: Place, *, create: bool) -> None:
    # Half of a marker is what a crash leaves; lost+found stands in the root of a disk.
    found = [info.base_name for info in place.children(place.root)]
    others = [name for name in found if not name.startswith(MARKER) and name != "lost+found"]
    if others:
        message = (
            f"{place.into} is not a directory of this pipeline: it holds {others[0]!r} and no {MARKER}. Nothing was "
            "touched; name another directory, or an empty one."
        )
        raise StorageError(message)
    if not create:
        message = f"There are no tables in {place.into}: make them with `kafka-groups pipeline ingest`."
        raise StorageError(message)


def _check_permission(place: Place) -> None:
    if place.local and os.path.isdir(place.root) and not os.access(place.root, os.W_OK | os.X_OK):  # noqa: PTH112
        message = f"Cannot write in {place.into}: this user may not. Give it the permission, or name another directory."
        raise StorageError(message)
