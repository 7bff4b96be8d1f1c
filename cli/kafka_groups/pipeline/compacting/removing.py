"""Old dates go: of facts and of what was derived from them, but of group_events not all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from datetime import date as day_of

from kafka_groups.pipeline.compacting.thinning import thin
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.storage.notes import RETENTION
from kafka_groups.pipeline.tables import GROUP_EVENTS, SAMPLE_RUNS, TABLES, Table


def old_dates(storage: Storage, keep: timedelta, now: datetime) -> dict[Table, list[str]]:
    """Return the dates to delete, by table. From now on, no build writes a date again because they are missing."""
    first = (now - keep).astimezone(UTC).date()
    # What was deleted stays deleted, however much the next run keeps.
    known = str(storage.note(RETENTION).get("first_date", ""))
    storage.save_note(RETENTION, {"first_date": max(known, first.isoformat())})
    return {
        table: [date for date in storage.dates(table)[:-1] if day_of.fromisoformat(date) < first]
        for table in TABLES.values()
        # Without its row there, what is left of a sample would not count.
        if table != SAMPLE_RUNS
    }


def remove(storage: Storage, table: Table, old: Sequence[str]) -> Iterator[str]:
    """Yield the dates that were deleted, one by one."""
    if table == GROUP_EVENTS:
        yield from thin(storage, old)
        return
    for date in old:
        storage.remove(table, [date])
        yield date
