"""Staged files on their way into tables, the lock of those who change tables, and batches that were joined."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Sequence
from typing import Final

from pyarrow.fs import FileType

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.storage.layout import STAGING, numbered
from kafka_groups.pipeline.storage.notes import read_note
from kafka_groups.pipeline.storage.places import Place
from kafka_groups.pipeline.storage.staging import StagedFile

# Held while tables change: fractions of a second. Whoever waits this long waits for something that hangs.
CHANGING: Final = "changing"
CHANGING_WAIT_S: Final = 60.0
JOINED: Final = "joined-batches"


def arrange(place: Place, directory: str, paths: Iterable[str]) -> None:
    """Files move to a new directory, under names that no reader has listed before."""
    place.make(directory)
    for number, path in enumerate(paths):
        place.move_file(path, f"{directory}/part-{number:05}-{uuid.uuid4().hex[:12]}.parquet")


def clean_staging(place: Place, older_than_s: float) -> None:
    """Deletes what attempts left behind that did nothing for so long, in seconds."""
    for info in place.children(place.join(STAGING)):
        last = max([info, *place.children(info.path, recursive=True)], key=lambda entry: entry.mtime_ns or 0)
        if (last.mtime_ns or 0) / 1e9 <= time.time() - older_than_s:
            place.delete(info.path)


def check_there(place: Place, files: Sequence[StagedFile]) -> None:
    """StorageError if a staged file is gone."""
    if not files:
        return
    for info in place.infos([file.path for file in files]):
        if info.type != FileType.File:
            message = f"{info.path} was deleted before its batch was published; run the command again"
            raise StorageError(message)


def forget_stages(place: Place, files: Sequence[StagedFile]) -> None:
    """Stages go that the files were the last of."""
    # Nobody comes back to a stage for one attempt. One for many is made again by whoever writes to it next.
    home = place.join(STAGING, "")
    inside = [file.path for file in files if file.path.startswith(home)]
    for stage in sorted({path.removeprefix(home).partition("/")[0] for path in inside}):
        if not place.children(home + stage):
            place.delete(home + stage)


def joined_batches(place: Place) -> dict[str, int]:
    """The highest number of each writer's batches that compaction may have joined."""
    helps = "restore it: without it a repeated batch would be written twice"
    return {writer: int(number) for writer, number in read_note(place, JOINED, helps=helps).items()}


def refuse_joined(place: Place, batch: str) -> None:
    """StorageError if its rows are in a compacted batch by now: published once more, they would be there twice."""
    found = numbered(batch)
    if found and found[1] <= joined_batches(place).get(found[0], -1):
        message = (
            f"batch {batch} of {place.into} is repeated after it was compacted, so the checkpoint is older than the "
            "tables; restore both from the same time, or name a new directory"
        )
        raise StorageError(message)
