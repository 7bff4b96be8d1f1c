"""Old dates go: of facts and of what was derived from them, but of group_events not all.

Of group_events the last record of each key stays, as compaction leaves it in a log. These records are states: a stable
group, a member that has been there for a year, the topics of a share group are written once, and without that record
nobody would be known to be there. What samples saw counts on its own day only.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from datetime import date as day_of
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from kafka_groups.pipeline.schemas import GROUP_EVENTS, Table
from kafka_groups.pipeline.storage import DataFile, Storage
from kafka_groups.pipeline.storage.compaction import in_order, open_dataset, write_sorted
from kafka_groups.pipeline.storage.layout import KEPT, RETENTION
from kafka_groups.pipeline.storage.storage_errors import as_storage_error

_DAY_US: Final = 86_400_000_000
# Coordinators' clocks differ by less, and recreated logs begin later.
_CLOCKS_US: Final = 600_000_000
_EXPRESSION: Final = "ConsumerGroupRegularExpression"
_KEY: Final = ("cluster_id", "group", "type", "member_id")
_READ: Final = (*_KEY, "origin", "tombstone", "source_offset", "record_time", "details")


class _Record(NamedTuple):
    """A record of a key, and where it stands among the rows of its date."""

    is_tombstone: bool
    offset: int
    at_us: int
    date: str
    row: int

    def is_before(self, other: _Record) -> bool:
        """Compare by offset; by time where they are too far apart, for a recreated topic begins again with 0."""
        is_far = abs(self.at_us - other.at_us) > _CLOCKS_US
        return self.at_us < other.at_us if is_far else self.offset < other.offset


def old_dates(storage: Storage, keep: Mapping[Table, timedelta], now: datetime) -> dict[Table, list[str]]:
    """Return the dates to remove, by table. From now on, a build does not make them again because they are missing.

    The first dates that are kept are saved: what was removed stays so, however much the next run keeps.
    """
    note = storage.note(RETENTION)
    begin, derived = str(note.get("first_date", "")), dict(note.get("derived", {}))
    old = {}
    for table, kept in keep.items():
        first = (now - kept).astimezone(UTC).date().isoformat()
        old[table] = [date for date in storage.dates(table)[:-1] if date < first]
        if table.derived:
            derived[table.name] = max(first, str(derived.get(table.name, "")))
        else:  # a date is derived from all facts of it
            begin = max(begin, first)
    if keep:
        storage.save_note(RETENTION, {"first_date": begin, "derived": derived})
    return old


def remove(storage: Storage, table: Table, dates: Sequence[str]) -> Iterator[str]:
    """Remove old dates of a table, each before it is yielded; of group_events, leave the last records."""
    if table != GROUP_EVENTS:
        for date in dates:
            storage.remove(table, [date])
            yield date
        return
    files = {date: storage.files(table, [date]) for date in dates}
    last = _last_rows(storage, files)
    for date, found in files.items():
        _keep(storage, found, last.get(date, []))
        yield date


def _keep(storage: Storage, files: Sequence[DataFile], rows: Sequence[int]) -> None:
    """Leave only these rows of the files of a date, which may be larger than memory."""
    if len(rows) == sum(file.rows for file in files):
        return
    new = []
    if rows:
        dataset = open_dataset(storage.place, files)
        with as_storage_error("read the tables", storage.into):
            kept = in_order(GROUP_EVENTS, dataset.take(pa.array(rows)))
        new.append(write_sorted(storage.place, GROUP_EVENTS, files[0].date, KEPT, kept))
    storage.swap(GROUP_EVENTS, files, new, same_rows=False)


def _last_rows(storage: Storage, files: Mapping[str, Sequence[DataFile]]) -> dict[str, list[int]]:
    """Return by date which rows are the last record of their key, unless it removes the key.

    These dates alone determine which record is the last: days after them are built from what was then.
    """
    last: dict[tuple[str | None, ...], _Record] = {}
    for date, found in sorted(files.items()):
        for key, record in _records(storage, date, found):
            if key not in last or last[key].is_before(record):
                last[key] = record
        # Later dates have nothing older, except where clocks differ: members that left need not be remembered for long.
        midnight_us = (day_of.fromisoformat(date) - day_of(1970, 1, 1)).days * _DAY_US
        last = {key: each for key, each in last.items() if not each.is_tombstone or each.at_us >= midnight_us}
    rows: dict[str, list[int]] = {}
    for each in last.values():
        if not each.is_tombstone:
            rows.setdefault(each.date, []).append(each.row)
    return {date: sorted(numbers) for date, numbers in rows.items()}


def _records(
    storage: Storage, date: str, files: Sequence[DataFile]
) -> Iterator[tuple[tuple[str | None, ...], _Record]]:
    """Yield the records of the topic, each after its key."""
    dataset = open_dataset(storage.place, files)
    row = -1
    with as_storage_error("read the tables", storage.into):
        for batch in dataset.to_batches(columns=[*_READ]):
            columns = {name: batch[name] for name in _READ}
            columns["record_time"] = columns["record_time"].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
            columns["details"] = pc.if_else(pc.equal(batch["type"], _EXPRESSION), batch["details"], None)
            for *key, origin, tombstone, offset, at_us, details in zip(
                *(column.to_pylist() for column in columns.values()), strict=True
            ):
                row += 1
                if origin == "topic":
                    pattern = None if details is None else json.loads(details).get("regular_expression")
                    yield (*key, pattern), _Record(bool(tombstone), offset, at_us, date, row)
