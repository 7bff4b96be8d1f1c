"""Rows of group_events for tests, and what kernels build of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa

from kafka_groups.pipeline.schemas import GROUP_EVENTS
from kafka_groups.pipeline.transform.kernels.group_days import GroupDay, build_group_days
from kafka_groups.pipeline.transform.kernels.group_events import COLUMNS
from kafka_groups.pipeline.transform.kernels.group_state import GroupState

Row = dict[str, Any]
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
TODAY = NOON.date()
DAY = 86_400
_FIELDS = {field.name: field for field in GROUP_EVENTS.arrow()} | {"expression": pa.field("expression", pa.string())}
SCHEMA = pa.schema([_FIELDS[name] for name in COLUMNS])


def at(seconds: float) -> datetime:
    return NOON + timedelta(milliseconds=round(seconds * 1_000))


def microseconds(time: datetime) -> int:
    return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def on(day: int) -> date:
    """The date so many days after today."""
    return TODAY + timedelta(days=day)


def record(seconds: float, event_type: str, kind: str, offset: int = 0, **others: Any) -> Row:
    """A record of a group; without an offset, `placed` gives it one."""
    row = dict.fromkeys(COLUMNS) | {"origin": "topic", "source_partition": 0, "source_offset": offset}
    row |= {"record_time": at(seconds), "type": kind, "event_type": event_type, "tombstone": False} | others
    for member in row["members"] or ():
        for name in ("group_instance_id", "rebalance_timeout_ms", "topics", "assignment"):
            member.setdefault(name, None)
    return row


def sample(seconds: float, state: str | None, *names: str, **others: Any) -> Row:
    """A sample of a group; without names, it could not list the members."""
    members = [{"member_id": name} for name in names] or None
    row = record(seconds, "state_seen", "Snapshot", state=state, members=members)
    return row | {"origin": "sample", "source_partition": None, "source_offset": None} | others


def joined(seconds: float, name: str, **others: Any) -> Row:
    return record(seconds, "member_metadata", "ConsumerGroupMemberMetadata", member_id=name, **others)


def left(seconds: float, name: str) -> Row:
    return record(seconds, "member_left", "ConsumerGroupMemberMetadata", member_id=name, tombstone=True)


def removed(seconds: float, kind: str = "ConsumerGroupMetadata") -> Row:
    return record(seconds, "group_removed", kind, tombstone=True)


def epoch(seconds: float, number: int) -> Row:
    return record(seconds, "group_epoch", "ConsumerGroupMetadata", epoch=number)


def stable(seconds: float, number: int, name: str, *, since: int = 0, state: str = "STABLE") -> Row:
    """The member reached the epoch; before, it was at the epoch `since`."""
    fields: Row = {"epoch": number, "previous_epoch": since, "member_id": name, "member_state": state}
    return record(seconds, "member_assignment", "ConsumerGroupCurrentMemberAssignment", **fields)


def member(name: str, timeout_s: float | None = 60, *, instance: str | None = None) -> Row:
    timeout = None if timeout_s is None else int(timeout_s * 1_000)
    return {"member_id": name, "rebalance_timeout_ms": timeout, "group_instance_id": instance}


def generation(seconds: float, number: int, *members: Row | str, all_joined: float | None = None) -> Row:
    """A classic group's record, which is empty without members; all joined half a second before, by default."""
    event_type = "generation" if members else "group_emptied"
    since = at(seconds - 0.5 if all_joined is None else all_joined)
    listed = [member(one) if isinstance(one, str) else dict(one) for one in members]
    return record(seconds, event_type, "GroupMetadata", epoch=number, members=listed, state_time=since)


def placed(rows: Iterable[Row]) -> list[Row]:
    """The records in the order of a log."""
    return [row | {"source_offset": place} if row["origin"] == "topic" else row for place, row in enumerate(rows)]


def batch(rows: Sequence[Row]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(list(rows), schema=SCHEMA)


def build(rows: Sequence[Row], days: Iterable[int] = (0,), state: GroupState | None = None) -> list[GroupDay]:
    """The group on dates, from rows that are placed."""
    return list(build_group_days(state or GroupState(), batch(rows), [on(day) for day in days]))
