"""Notes: small states that commands keep between runs, as JSON objects in `.notes/<name>.json` of the directory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.store.root_directory import RootDirectory

# The note of retention is {"first_date": date, "derived": {table: date}} with dates as YYYY-MM-DD. Older dates of
# facts, or of the derived table, are removed, and no build makes them again.
RETENTION: Final = "retention"


def read_note(directory: RootDirectory, name: str) -> dict[str, Any]:
    """Return the content of a note; empty if it was never written. Raises StorageError if it cannot be parsed."""
    path = _path_of(directory, name)
    note_bytes = directory.read_small(path)
    if note_bytes is None:
        return {}
    try:
        return dict(json.loads(note_bytes))
    except (ValueError, TypeError) as error:
        message = f"{path} cannot be parsed; delete it, and run the command again"
        raise StorageError(message) from error


def write_note(directory: RootDirectory, name: str, content: Mapping[str, Any]) -> None:
    """Write a note, which replaces the note of this name at once: a reader sees the old or the new content."""
    directory.write_small(_path_of(directory, name), json.dumps(content) + "\n")


def _path_of(directory: RootDirectory, name: str) -> str:
    return directory.join(".notes", f"{name}.json")
