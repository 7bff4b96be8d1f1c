"""What is left of group_events when its old dates go: the last record of each key, as compaction leaves it in a log.

These records are states. A stable group, a member that has been there for a year, the topics of a share group are
written once, and without that record nobody would be known to be there. What samples saw counts on its own day only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import date as day_of
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from kafka_groups.pipeline.schemas import GROUP_EVENTS
from kafka_groups.pipeline.storage import DataFile, Storage
from kafka_groups.pipeline.storage.layout import KEPT
from kafka_groups.pipeline.storage.storage_errors import as_storage_error

_DAY_US: Final = 86_400_000_000
_EXPRESSION: Final = "ConsumerGroupRegularExpression"
_PLACE: Final = ("cluster_id", "source_partition", "source_offset", "record_time")
_READ: Final = ("group", "type", "member_id", "tombstone", *_PLACE)
# Coordinators' clocks differ by less, and recreated logs begin later.
_CLOCKS_US: Final = 600_000_000

Key = tuple[str | None, ...]
Place = tuple[str, int, int, int]  # cluster, partition and offset of a record, and its time: logs may be recreated


class _Last(NamedTuple):
    """The newest record of a key."""

    tombstone: bool
    place: Place

    def is_before(self, other: _Last) -> bool:
        """Compare by offset; by time where they are too far apart, for a recreated topic begins again with 0."""
        (*_, offset, at_us), (*_, other_offset, other_at_us) = self.place, other.place
        return at_us < other_at_us if abs(at_us - other_at_us) > _CLOCKS_US else offset < other_offset


def thin(storage: Storage, dates: Sequence[str]) -> Iterator[str]:
    """Keep the last record of each key of these dates of group_events, unless it removes the key.

    Yield the dates that were deleted, one by one.

    These dates alone determine which record is the last: days after them are built from what was then.
    """
    files: dict[str, list[DataFile]] = {}
    for file in storage.files(GROUP_EVENTS, dates):
        files.setdefault(file.date, []).append(file)
    kept = _kept(storage, sorted(files.items()))
    for date, found in sorted(files.items()):
        if not _is_thin(storage, found, kept):
            _thin_date(storage, date, found, kept)
        if not storage.files(GROUP_EVENTS, [date]):
            yield date


def _thin_date(storage: Storage, date: str, files: Sequence[DataFile], kept: frozenset[Place]) -> None:
    seen: set[Place] = set()

    def mask(rows: pa.Table) -> list[bool]:
        """Return which rows are at the places, each once, whatever was read twice."""
        found = []
        for place in _tuples(_in_microseconds(rows.select(_PLACE))):
            is_kept = place in kept and place not in seen
            found.append(is_kept)
            if is_kept:
                seen.add(place)
        return found

    storage.keep_rows(GROUP_EVENTS, date, files, mask)


def _kept(storage: Storage, dates: Sequence[tuple[str, Sequence[DataFile]]]) -> frozenset[Place]:
    """Return where the last records are; the dates in their order."""
    last: dict[Key, _Last] = {}
    for date, files in dates:
        for rows in _records(storage, files):
            for group, kind, member, tombstone, cluster, partition, offset, at_us, pattern in _tuples(rows):
                key = (cluster, group, kind, member, pattern)
                found = _Last(bool(tombstone), (cluster, partition, offset, at_us))
                if key not in last or last[key].is_before(found):
                    last[key] = found
        # Later dates have nothing older, except where clocks differ: members that left need not be remembered for long.
        midnight_us = (day_of.fromisoformat(date) - day_of(1970, 1, 1)).days * _DAY_US
        last = {key: one for key, one in last.items() if not one.tombstone or one.place[-1] >= midnight_us}
    return frozenset(one.place for one in last.values() if not one.tombstone)


def _records(storage: Storage, files: Sequence[DataFile]) -> Iterator[pa.Table]:
    """Yield rows of the topic, with their patterns behind them."""
    paths = [file.path for file in files]
    with as_storage_error("read the tables", storage.into):
        dataset = ds.dataset(paths, schema=GROUP_EVENTS.arrow(), format="parquet", filesystem=storage.place.fs)
        is_record = ds.field("origin") == "topic"
        for batch in dataset.to_batches(columns=[*_READ, "details"], filter=is_record):
            rows = _in_microseconds(pa.table(batch.select(_READ)))
            said = pc.if_else(pc.equal(batch["type"], _EXPRESSION), batch["details"], None)
            patterns = [_pattern(text) for text in said.to_pylist()]
            yield rows.append_column("pattern", pa.array(patterns, pa.string()))


def _in_microseconds(rows: pa.Table) -> pa.Table:
    at = rows.schema.get_field_index("record_time")
    return rows.set_column(at, "record_time", pc.cast(rows["record_time"], pa.int64()))


def _pattern(details: str | None) -> str | None:
    return None if details is None else json.loads(details).get("regular_expression")


def _is_thin(storage: Storage, files: Sequence[DataFile], kept: frozenset[Place]) -> bool:
    """Return whether a run before has left just what this one would."""
    if {file.batch for file in files} != {KEPT}:
        return False
    places = {place for batch in _records(storage, files) for place in _tuples(batch.select(_PLACE))}
    return places <= kept


def _tuples(rows: pa.Table) -> Iterator[Any]:
    return zip(*(column.to_pylist() for column in rows.columns), strict=True)
