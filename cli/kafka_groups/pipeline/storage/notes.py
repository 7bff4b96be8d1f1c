"""Small states that are kept between runs: a JSON object a file."""

from __future__ import annotations

import json
from typing import Any, Final

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.storage.layout import checked_name
from kafka_groups.pipeline.storage.root_directory import RootDirectory

NOTES: Final = ".notes"
# {"first_date": …, "derived": {table: …}}: older dates, of facts and of derived tables, were removed, or will be.
RETENTION: Final = "retention"


def read_note(
    place: RootDirectory, name: str, *, helps: str = "delete it, and run the command again"
) -> dict[str, Any]:
    """Return what was saved under the name; empty if nothing was. StorageError, with what `helps`, if it is damaged."""
    path = _path(place, name)
    text = place.read_text(path)
    try:
        return dict(json.loads(text)) if text is not None else {}
    except (ValueError, TypeError) as error:
        message = f"{path} cannot be parsed; {helps}"
        raise StorageError(message) from error


def save_note(place: RootDirectory, name: str, content: dict[str, Any]) -> None:
    """Save it; a reader sees the old one or the new one, whole."""
    place.make(place.join(NOTES))
    place.write_text(_path(place, name), json.dumps(content) + "\n")


def _path(place: RootDirectory, name: str) -> str:
    return place.join(NOTES, f"{checked_name(name)}.json")
