"""Staged files on their way into tables, and the lock of those who change tables."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from pyarrow.fs import FileType

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.storage.layout import STAGING
from kafka_groups.pipeline.storage.places import Place
from kafka_groups.pipeline.storage.staging import StagedFile

# Held while tables change: fractions of a second. A wait of this length means that the holder hangs.
CHANGING: Final = "changing"
CHANGING_WAIT_S: Final = 60.0


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
