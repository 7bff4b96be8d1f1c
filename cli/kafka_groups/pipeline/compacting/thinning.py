"""What is left of group_events when its old dates go: the last record of each key, as compaction leaves it in a log.

These records are states. A stable group, a member that has been there for a year, the topics of a share group are told
once, and without that record nobody would be known to be there. What samples saw counts on its own day and goes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.storage import KEPT, DataFile, Storage
from kafka_groups.pipeline.storage.failing import is_gone, told
from kafka_groups.pipeline.tables import GROUP_EVENTS

_EXPRESSION: Final = "ConsumerGroupRegularExpression"
_PLACE: Final = ("cluster_id", "source_partition", "source_offset")
_READ: Final = ("group", "type", "member_id", "tombstone", "record_time", *_PLACE)

Key = tuple[str | None, ...]
Place = tuple[str, int, int]  # cluster, partition and offset of a record


class _Last(NamedTuple):
    """The newest record of a key; a topic that was made anew begins again with offset 0."""

    at_us: int
    offset: int
    tombstone: bool
    place: Place


def thin(storage: Storage, dates: Sequence[str]) -> list[str]:
    """Of these dates of group_events the last record of each key stays, unless it removes the key; dates that are gone.

    Which record is the last is told by these dates alone: days after them are built from what was then.
    """
    files: dict[str, list[DataFile]] = {}
    for file in storage.format.files(GROUP_EVENTS.name, dates):
        files.setdefault(file.date, []).append(file)
    kept = _kept(storage, [found for _, found in sorted(files.items())])
    for date, found in sorted(files.items()):
        if not _is_thin(storage, found, kept):
            _thin_date(storage, date, found, kept)
    return sorted(files.keys() - set(storage.format.dates(GROUP_EVENTS.name)))


def _thin_date(storage: Storage, date: str, files: Sequence[DataFile], kept: frozenset[Place]) -> None:
    seen: set[Place] = set()

    def mask(rows: pa.Table) -> list[bool]:
        """Those of the places, each once, whatever was read twice."""
        found = []
        for place in _tuples(rows.select(_PLACE)):
            found.append(place in kept and place not in seen)
            seen.add(place)
        return found

    try:
        storage.thin_date(GROUP_EVENTS, date, files, mask)
    except StorageError as error:
        if not is_gone(error):  # a batch of it was published anew meanwhile: next time
            raise


def _kept(storage: Storage, dates: Sequence[Sequence[DataFile]]) -> frozenset[Place]:
    """Where the last records are; the dates' files in their order."""
    last: dict[Key, _Last] = {}
    for files in dates:
        for rows in _records(storage, files):
            for group, kind, member, tombstone, at_us, cluster, partition, offset, pattern in _tuples(rows):
                key = (cluster, group, kind, member, pattern)
                found = _Last(at_us, offset, bool(tombstone), (cluster, partition, offset))
                if key not in last or last[key] < found:
                    last[key] = found
        # Later dates have nothing older: members that went need not be remembered.
        last = {key: one for key, one in last.items() if not one.tombstone}
    return frozenset(one.place for one in last.values())


def _records(storage: Storage, files: Sequence[DataFile]) -> Iterator[pa.Table]:
    """Rows of the topic, with their patterns behind them."""
    paths = [file.path for file in files]
    with told("read the tables", storage.into):
        dataset = ds.dataset(paths, schema=GROUP_EVENTS.arrow(), format="parquet", filesystem=storage.place.fs)
        is_record = ds.field("origin") == "topic"
        for batch in dataset.to_batches(columns=[*_READ, "details"], filter=is_record):
            rows = pa.table(batch.select(_READ))
            at = rows.schema.get_field_index("record_time")
            rows = rows.set_column(at, "record_time", pc.cast(rows["record_time"], pa.int64()))
            said = pc.if_else(pc.equal(batch["type"], _EXPRESSION), batch["details"], None)
            patterns = [_pattern(text) for text in said.to_pylist()]
            yield rows.append_column("pattern", pa.array(patterns, pa.string()))


def _pattern(details: str | None) -> str | None:
    return None if details is None else json.loads(details).get("regular_expression")


def _is_thin(storage: Storage, files: Sequence[DataFile], kept: frozenset[Place]) -> bool:
    """Whether a run before has left just what this one would."""
    if {file.batch for file in files} != {KEPT}:
        return False
    places = {place for batch in _records(storage, files) for place in _tuples(batch.select(_PLACE))}
    return places <= kept


def _tuples(rows: pa.Table) -> Iterator[Any]:
    return zip(*(column.to_pylist() for column in rows.columns), strict=True)
