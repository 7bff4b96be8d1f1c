"""A date with other files in it, at once: the whole directory of the date is made anew beside it and takes its place.

A reader that lists afterwards sees each row once, one that listed before reads on or fails because a file is gone;
none sees a row twice or misses one. File names are never used again.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Final

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.storage.failing import told
from kafka_groups.pipeline.storage.layout import date_path, files_by_batch, new_staging
from kafka_groups.pipeline.storage.places import Place
from kafka_groups.pipeline.storage.publishing import arrange, put_in
from kafka_groups.pipeline.storage.renaming import exchange

COMPACTED: Final = re.compile(r"compacted-(\d+)")


def check_exchange(place: Place) -> None:
    """StorageError unless directories can be exchanged in one step; else rows would be missing for a moment."""
    able = False
    if place.local:
        staging = new_staging(place)
        one, other = f"{staging}/one", f"{staging}/other"
        place.make(one)
        place.make(other)
        with told("exchange directories", place.into):
            able = exchange(one, other)
        place.delete(staging)
    if not able:
        message = (
            f"the file system of {place.into} cannot exchange directories in one step, so readers would miss rows; "
            "compact on a local file system of Linux (ext4, XFS, Btrfs, tmpfs)"
        )
        raise StorageError(message)


def swap_files(place: Place, table: str, date: str, gone: Collection[str], new: Collection[str], staging: str) -> bool:
    """The date has the new files in place of those that go; False, and nothing done, if one of them is gone already.

    The caller holds the lock.
    """
    there = files_by_batch(place, table, date)
    if not set(gone) <= {info.path for files in there.values() for info in files}:
        return False
    made = f"{staging}/date={date}"
    for batch, files in there.items():
        kept = [info for info in files if info.path not in gone]
        if kept:
            place.make(f"{made}/batch={batch}")
        for info in kept:
            place.copy_file(info.path, f"{made}/batch={batch}/{info.base_name}")
    arrange(place, f"{made}/batch={next_compacted(there)}", new)
    put_in(place, made, date_path(place, table, date), staging)
    return True


def next_compacted(batches: Iterable[str]) -> str:
    """The name for joined files of a date that has these batches."""
    found = (COMPACTED.fullmatch(batch) for batch in batches)
    return f"compacted-{1 + max((int(match[1]) for match in found if match), default=0)}"
