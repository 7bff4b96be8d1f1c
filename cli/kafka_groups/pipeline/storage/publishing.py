"""Staged files become a batch's directories, so that readers see old rows or new ones, and a repeat changes nothing."""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from pyarrow.fs import FileType

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.storage.layout import STAGING, batch_path, date_path, dates_of, new_staging, numbered
from kafka_groups.pipeline.storage.notes import read_note
from kafka_groups.pipeline.storage.places import Place
from kafka_groups.pipeline.storage.staging import StagedFile

# Held while directories change places: fractions of a second. Whoever waits this long waits for something that hangs.
CHANGING: Final = "changing"
CHANGING_WAIT_S: Final = 60.0
JOINED: Final = "joined-batches"

# What readers take for data, and what Hadoop writes beside it.
_OURS: Final = re.compile(r".*/batch=[^/]+/[^._/][^/]*\.parquet|.*/(\.[^/]+\.crc|_SUCCESS)")

Target = tuple[str, str]  # table, date


def publish_batch(place: Place, batch: str, files: Sequence[StagedFile], tables: Collection[str]) -> None:
    """Afterwards the batch holds exactly these files, in all of the tables.

    First its new directories are made whole in staging; then what an earlier attempt wrote elsewhere goes; then each
    directory takes its place in one step. So no row is seen twice at any time, and a crash leaves what a repeat mends.
    The caller holds the lock.
    """
    staging = new_staging(place)
    try:
        check_there(place, files)
        made = _arrange(place, staging, files)
        for table, date in _written_before(place, batch, tables):
            if (table, date) not in made:
                remove_directory(place, batch_path(place, table, date, batch), staging)
        for (table, date), directory in made.items():
            place.make(date_path(place, table, date))
            put_in(place, directory, batch_path(place, table, date, batch), staging)
        forget_stages(place, files)
    finally:
        place.delete(staging)


def put_in(place: Place, new: str, target: str, staging: str) -> None:
    """`new` becomes `target`, in one step, whether that is there or not. Files that are not ours stay."""
    if place.info(target).type == FileType.NotFound:
        place.move_in(new, target)
        return
    old = f"{staging}/old-{uuid.uuid4().hex}"
    if not place.local:  # what is there will be deleted
        _move_strangers(place, target, old)
    place.swap(new, target, old)
    _move_strangers(place, old, target)


def remove_directory(place: Place, target: str, staging: str) -> None:
    """A directory goes in one step, if it is there, unless it holds files that are not ours: those stay."""
    if place.info(target).type == FileType.NotFound:
        return
    old = f"{staging}/old-{uuid.uuid4().hex}"
    if place.local:
        place.move_in(target, old)
    else:
        _move_strangers(place, target, old)
        place.delete(target)
    _move_strangers(place, old, target)


def _move_strangers(place: Place, source: str, target: str) -> None:
    """Whoever put a file of their own beside ours finds it where it was."""
    for info in place.children(source, recursive=True):
        moved = target + str(info.path).removeprefix(source)
        # What waits in staging stands below another directory by then.
        is_ours = _OURS.fullmatch(moved) or _OURS.fullmatch(str(info.path))
        if info.type == FileType.File and not is_ours:
            place.make(moved.rpartition("/")[0])
            place.move_file(info.path, moved)


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
    for info in place.infos([place.inside(file.path) for file in files]):
        if info.type != FileType.File:
            message = f"{info.path} was deleted before its batch was published; run the command again"
            raise StorageError(message)


def forget_stages(place: Place, files: Sequence[StagedFile]) -> None:
    """Stages go that the files were the last of."""
    # Nobody comes back to a stage for one attempt. One for many is made again by whoever writes to it next.
    home = place.join(STAGING, "")
    inside = [path for path in (place.inside(file.path) for file in files) if path.startswith(home)]
    for stage in sorted({path.removeprefix(home).partition("/")[0] for path in inside}):
        if not place.children(home + stage):
            place.delete(home + stage)


def _arrange(place: Place, staging: str, files: Sequence[StagedFile]) -> dict[Target, str]:
    sorted_out: dict[Target, list[str]] = {}
    for file in files:
        sorted_out.setdefault((file.table, file.date), []).append(place.inside(file.path))
    made = {}
    for (table, date), paths in sorted_out.items():
        made[table, date] = f"{staging}/{table}-{date}"
        arrange(place, made[table, date], paths)
    return made


def _written_before(place: Place, batch: str, tables: Collection[str]) -> list[Target]:
    targets = [(table, date) for table in sorted(tables) for date in dates_of(place, table)]
    if not targets:
        return []
    found = place.infos([batch_path(place, table, date, batch) for table, date in targets])
    return [target for target, info in zip(targets, found, strict=True) if info.type != FileType.NotFound]


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
