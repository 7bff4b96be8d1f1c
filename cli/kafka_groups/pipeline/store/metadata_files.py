"""Metadata files: small states that commands keep between runs, as JSON objects in `.notes/<name>.json`.

The directory is named `.notes` because data directories of earlier versions have it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.store.root_directory import RootDirectory

# The metadata of retention is {"first_date": date, "derived": {table: date}} with dates as YYYY-MM-DD. Older dates of
# facts, or of the derived table, are removed, and no build makes them again.
RETENTION: Final = "retention"


def read_metadata(directory: RootDirectory, name: str) -> dict[str, Any]:
    """Return the content of a metadata file; empty if it was never written. Raises StorageError if it is not JSON."""
    path = _path_of(directory, name)
    metadata_bytes = directory.read_small(path)
    if metadata_bytes is None:
        return {}
    try:
        return dict(json.loads(metadata_bytes))
    except (ValueError, TypeError) as error:
        message = f"{path} cannot be parsed; delete it, and run the command again"
        raise StorageError(message) from error


def write_metadata(directory: RootDirectory, name: str, content: Mapping[str, Any]) -> None:
    """Write a metadata file, which replaces that of this name at once: a reader sees the old or the new content."""
    directory.write_small(_path_of(directory, name), json.dumps(content) + "\n")


def _path_of(directory: RootDirectory, name: str) -> str:
    return directory.join(".notes", f"{name}.json")
