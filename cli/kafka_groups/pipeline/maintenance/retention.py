"""Old dates go: of facts and of what was derived from them, but of group_events not all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from kafka_groups.pipeline.maintenance.last_events import thin
from kafka_groups.pipeline.schemas import GROUP_EVENTS, Table
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.storage.notes import RETENTION


def old_dates(storage: Storage, keep: Mapping[Table, timedelta], now: datetime) -> dict[Table, list[str]]:
    """Return the dates to remove, by table. From now on, a build does not make them again because they are missing."""
    first = {table: (now - kept).astimezone(UTC).date().isoformat() for table, kept in keep.items()}
    if first:
        _save_first_dates(storage, first)
    return {table: [date for date in storage.dates(table)[:-1] if date < begin] for table, begin in first.items()}


def _save_first_dates(storage: Storage, first: Mapping[Table, str]) -> None:
    """Save the first dates that are kept. What was removed stays so, however much the next run keeps."""
    note = storage.note(RETENTION)
    derived = dict(note.get("derived", {}))
    for table, begin in first.items():
        if table.derived:
            derived[table.name] = max(begin, str(derived.get(table.name, "")))
    facts = [begin for table, begin in first.items() if not table.derived]
    # A date is derived from all facts of it.
    begin = max([str(note.get("first_date", "")), *facts])
    storage.save_note(RETENTION, {"first_date": begin, "derived": derived})


def remove(storage: Storage, table: Table, old: Sequence[str]) -> Iterator[str]:
    """Yield the dates that were deleted, one by one."""
    if table == GROUP_EVENTS:
        yield from thin(storage, old)
        return
    for date in old:
        storage.remove(table, [date])
        yield date
