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
_VERSION: Final = "v1"  # the first line of Spark's logs


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """`location` is Spark's; `writer` is random, as old as the checkpoint, and the first part of its batches' names."""

    location: str
    writer: str


def open_checkpoint(place: Place, cluster_id: str) -> Checkpoint:
    """The checkpoint of a cluster, made if there is none.

    SourceError if it is another cluster's, StorageError if it cannot be used. A checkpoint that was deleted starts anew
    under a new writer, for a new batch 0 must not take the place of the old one.
    """
    home = _home(place, cluster_id)
    location = place.spark(f"{home}/ingest")
    text = place.read_text(f"{home}/owner.json")
    begun = place.info(f"{home}/ingest").type == FileType.Directory
    if begun:
        return Checkpoint(location, _writer(text, cluster_id, home))
    if text is not None:
        _writer(text, cluster_id, home)
    place.make(home)
    writer = f"ingest-{uuid.uuid4().hex[:8]}"
    place.write_text(f"{home}/owner.json", json.dumps({"cluster_id": cluster_id, "writer": writer}) + "\n")
    return Checkpoint(location, writer)


def planned_position(place: Place, cluster_id: str) -> dict[str, Any] | None:
    """Where the newest batch ends that Spark planned for a cluster; None if there is none, or it is kept in a new way.

    StorageError if a file is damaged that Spark begins with: what it is, and what to delete.
    """
    return _newest_position(place, _home(place, cluster_id))


def planned_positions(place: Place) -> list[dict[str, Any]]:
    """Of every checkpoint of the directory, where its newest batch ends; StorageError as `planned_position` says."""
    found = [_newest_position(place, home.path) for home in place.children(place.join(CHECKPOINTS))]
    return [position for position in found if position is not None]


def position_after(place: Place, cluster_id: str, number: int) -> dict[str, Any] | None:
    """Where a batch ends, for who only tells how far it came; None if nobody knows."""
    return _position(_text(place, f"{_home(place, cluster_id)}/ingest/offsets/{number}"))


def _home(place: Place, cluster_id: str) -> str:
    return place.join(CHECKPOINTS, re.sub(r"[^A-Za-z0-9_-]", "_", cluster_id))


def _newest_position(place: Place, home: str) -> dict[str, Any] | None:
    spark = f"{home}/ingest"
    planned = _newest(place, f"{spark}/offsets")
    if planned is not None:
        _require_planned(place, home, planned)
    _require_committed(place, home)
    return None if planned is None else _position(_text(place, f"{spark}/offsets/{planned}"))


def _require_planned(place: Place, home: str, planned: int) -> None:
    """Spark reads the newest batch's offsets, and those before it, where the newest begins."""
    spark = f"{home}/ingest"
    if not _is_whole(_text(place, f"{spark}/offsets/{planned}"), lines=2):
        raise _read_batch_again(place, spark, f"offsets/{planned}", f"commits/{planned}")
    before = f"{spark}/offsets/{planned - 1}"
    if not _is_whole(_text(place, before), lines=2):
        # Not by the batch: a newer one was planned, so that this one may be compacted, and is not written again then.
        raise _read_all_again(home, before)


def _require_committed(place: Place, home: str) -> None:
    spark = f"{home}/ingest"
    committed = _newest(place, f"{spark}/commits")
    if committed is not None and not _is_whole(_text(place, f"{spark}/commits/{committed}"), lines=0):
        raise _read_batch_again(place, spark, f"commits/{committed}")
    metadata = _text(place, f"{spark}/metadata")
    if metadata is not None and _object(metadata) is None:
        raise _read_all_again(home, f"{spark}/metadata")


def _newest(place: Place, directory: str) -> int | None:
    return max((int(log.base_name) for log in place.children(directory) if log.base_name.isdecimal()), default=None)


def _text(place: Place, path: str) -> str | None:
    """What a file of Spark's says; None if it is not there, empty if it is no text."""
    try:
        return place.read_text(path)
    except StorageError as error:
        if isinstance(error.__cause__, UnicodeDecodeError):
            return ""
        raise


def _is_whole(log: str | None, *, lines: int) -> bool:
    """Whether nothing is cut off: after the version come at least so many lines of JSON. What is not there is whole."""
    if log is None:
        return True
    version, *rest = log.splitlines() or [""]
    if version != _VERSION:
        # A Spark to come may write others; without them nothing else is wrong.
        return re.fullmatch(r"v\d+", version) is not None
    return len(rest) >= lines and all(_object(line) is not None for line in rest)


def _position(log: str | None) -> dict[str, Any] | None:
    # Of a Spark to come, too, as far as it goes on to write it last.
    lines = (log or "").splitlines()
    return _object(lines[-1]) if len(lines) > 1 else None


def _object(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _read_batch_again(place: Place, spark: str, *names: str) -> StorageError:
    """The first of the names is damaged, and all have to go: Spark takes a checksum without its file for a rival."""
    there = [
        name
        for each in names
        for name in (each, re.sub(r"(\d+)$", r".\1.crc", each))
        if place.info(f"{spark}/{name}").type == FileType.File
    ]
    return StorageError(
        f"{spark}/{names[0]} is damaged, as after a power failure; delete {', '.join(there)} in {spark}, and run "
        "ingest again: it continues there, and replaces the rows that it reads a second time"
    )


def _read_all_again(home: str, path: str) -> StorageError:
    return StorageError(
        f"{path} is damaged, as after a power failure; delete {home}, and run ingest again: it reads all records that "
        "the brokers still have, and build counts each row once"
    )


def _writer(text: str | None, cluster_id: str, home: str) -> str:
    try:
        content = json.loads(text or "")
        owner, writer = str(content["cluster_id"]), str(content["writer"])
    except (ValueError, KeyError, TypeError) as error:
        message = f"{home}/owner.json cannot be parsed; restore it, or delete {home} to read all records again"
        raise StorageError(message) from error
    if owner != cluster_id:
        message = (
            f"the checkpoint in {home} belongs to cluster {owner}, and the brokers to cluster {cluster_id}; connect to "
            "the other cluster, or name another directory"
        )
        raise SourceError(message)
    return writer
