"""Rows of group_events for tests, and what kernels build of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa

from kafka_groups.pipeline.build.group_events import read_day_events
from kafka_groups.pipeline.build.group_frames import EventRows
from kafka_groups.pipeline.build.kernels.group_days import DayEvents, GroupDay, build_group_days

Row = dict[str, Any]
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
TODAY = NOON.date()
DAY = 86_400
COLUMNS = (
    "record_time",
    "state_time",
    *(name for name in EventRows.names() if name not in {"at_us", "state_us"}),
)


def at(seconds: float) -> datetime:
    return NOON + timedelta(milliseconds=round(seconds * 1_000))


def microseconds(time: datetime) -> int:
    return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def on(day: int) -> date:
    """Return the date this number of days after today."""
    return TODAY + timedelta(days=day)


def number(day: date) -> int:
    """Return a date as the number of days since 1970."""
    return (day - date(1970, 1, 1)).days


def record(seconds: float, event_type: str, kind: str, offset: int = 0, **others: Any) -> Row:
    """Return a record of a group; if it has no offset, `placed` sets one."""
    row = dict.fromkeys(COLUMNS) | {"origin": "topic", "source_partition": 0, "source_offset": offset}
    row |= {"record_time": at(seconds), "record_name": kind, "event_type": event_type, "is_tombstone": False} | others
    for member in row["members"] or ():
        for name in ("group_instance_id", "rebalance_timeout_ms", "topics", "assignment"):
            member.setdefault(name, None)
    return row


def sample(seconds: float, state: str | None, *names: str, **others: Any) -> Row:
    """Return a sample of a group. Without names, the sample did not list the members."""
    members = [{"member_id": name} for name in names] or None
    row = record(seconds, "state_seen", "Snapshot", state=state, members=members)
    return row | {"origin": "sample", "source_partition": None, "source_offset": None} | others


def joined(seconds: float, name: str, **others: Any) -> Row:
    return record(seconds, "member_metadata", "ConsumerGroupMemberMetadata", member_id=name, **others)


def left(seconds: float, name: str) -> Row:
    return record(seconds, "member_left", "ConsumerGroupMemberMetadata", member_id=name, is_tombstone=True)


def removed(seconds: float, kind: str = "ConsumerGroupMetadata") -> Row:
    return record(seconds, "group_removed", kind, is_tombstone=True)


def epoch(seconds: float, number: int) -> Row:
    return record(seconds, "group_epoch", "ConsumerGroupMetadata", epoch=number)


def stable(seconds: float, number: int, name: str, *, since: int = 0, state: str = "STABLE") -> Row:
    """Return the record of a member that reached the epoch; before, it was at the epoch `since`."""
    fields: Row = {"epoch": number, "previous_epoch": since, "member_id": name, "member_state": state}
    return record(seconds, "member_assignment", "ConsumerGroupCurrentMemberAssignment", **fields)


def member(name: str, timeout_s: float | None = 60, *, instance: str | None = None) -> Row:
    timeout = None if timeout_s is None else int(timeout_s * 1_000)
    return {"member_id": name, "rebalance_timeout_ms": timeout, "group_instance_id": instance}


def generation(seconds: float, number: int, *members: Row | str, all_joined: float | None = None) -> Row:
    """Return a classic group's record, empty without members; by default, all joined half a second before."""
    event_type = "generation" if members else "group_emptied"
    since = at(seconds - 0.5 if all_joined is None else all_joined)
    listed = [member(one) if isinstance(one, str) else dict(one) for one in members]
    return record(seconds, event_type, "GroupMetadata", epoch=number, members=listed, state_time=since)


def placed(rows: Iterable[Row]) -> list[Row]:
    """Return the records with offsets, in the order of a log."""
    return [row | {"source_offset": index} if row["origin"] == "topic" else row for index, row in enumerate(rows)]


def split(rows: Sequence[Row]) -> dict[int, DayEvents]:
    """Return the events of one group by day."""
    times = (("at_us", "record_time"), ("state_us", "state_time"))
    placed_rows = [row | {name: row[time] and microseconds(row[time]) for name, time in times} for row in rows]
    batch = pa.RecordBatch.from_pylist(placed_rows, EventRows.schema())
    return read_day_events(batch, np.zeros(len(rows), np.int64)).get(0, {})


def build(rows: Sequence[Row], days: Iterable[int] = (0,), state: str | None = None) -> list[GroupDay]:
    """Return the group on these dates, from rows with offsets."""
    return list(build_group_days(state, split(rows), [number(on(day)) for day in days]))


def at_time(days: Sequence[GroupDay], seconds: float) -> tuple[str | None, int | None]:
    """Return the state and the number of members of the group at a time."""
    (day,) = [day for day in days if day.day == number(at(seconds).date())]
    states, members = day.timeline.at_times(np.array([microseconds(at(seconds))]))
    return states[0], int(members[0]) if members[0] >= 0 else None
