"""Where Spark keeps how far a cluster was read, and the name that this reading writes its batches under."""

from __future__ import annotations

import json
import re
import uuid
from dataclasses import dataclass
from typing import Any, Final

from pyarrow.fs import FileType

from kafka_groups.errors import SourceError, StorageError
from kafka_groups.pipeline.storage.places import Place

CHECKPOINTS: Final = ".checkpoints"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """`location` is Spark's; `writer` is random, as old as the checkpoint, and the first part of its batches' names.

    `home` is the directory of both, on the place's file system.
    """

    location: str
    writer: str
    home: str


def open_checkpoint(place: Place, cluster_id: str) -> Checkpoint:
    """The checkpoint of a cluster, made if there is none.

    SourceError if it is another cluster's, StorageError if it cannot be used. A checkpoint that was deleted starts anew
    under a new writer, for a new batch 0 must not take the place of the old one.
    """
    home = place.join(CHECKPOINTS, re.sub(r"[^A-Za-z0-9_-]", "_", cluster_id))
    location = place.spark(f"{home}/ingest")
    text = place.read_text(f"{home}/owner.json")
    begun = place.info(f"{home}/ingest").type == FileType.Directory
    if begun:
        return Checkpoint(location, _writer(text, cluster_id, home), home)
    if text is not None:
        _writer(text, cluster_id, home)
    place.make(home)
    writer = f"ingest-{uuid.uuid4().hex[:8]}"
    place.write_text(f"{home}/owner.json", json.dumps({"cluster_id": cluster_id, "writer": writer}) + "\n")
    return Checkpoint(location, writer, home)


def planned_position(place: Place, home: str, number: int | None = None) -> dict[str, Any] | None:
    """Where a batch ends as Spark keeps it, the newest that was planned if none is named; None if nobody knows."""
    logs = {int(log.base_name): log for log in place.children(f"{home}/ingest/offsets") if log.base_name.isdecimal()}
    if not logs or (number is not None and number not in logs):
        return None
    text = place.read_text(logs[max(logs) if number is None else number].path) or ""
    try:
        position = json.loads(text.splitlines()[-1])
    except (ValueError, IndexError):
        # Spark's own format; without it nothing else is wrong.
        return None
    return position if isinstance(position, dict) else None


def planned_positions(place: Place) -> list[dict[str, Any]]:
    """Of every checkpoint of the directory, where its newest batch ends."""
    found = [planned_position(place, home.path) for home in place.children(place.join(CHECKPOINTS))]
    return [position for position in found if position is not None]


def _writer(text: str | None, cluster_id: str, home: str) -> str:
    try:
        content = json.loads(text or "")
        owner, writer = str(content["cluster_id"]), str(content["writer"])
    except (ValueError, KeyError, TypeError) as error:
        message = f"{home}/owner.json is not readable: restore it, or delete {home} to read anew."
        raise StorageError(message) from error
    if owner != cluster_id:
        message = (
            f"The checkpoint in {home} is of cluster {owner}, and this is {cluster_id}: ask the other brokers, or name "
            "another directory."
        )
        raise SourceError(message)
    return writer
