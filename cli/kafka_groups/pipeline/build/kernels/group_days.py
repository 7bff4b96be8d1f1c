"""A group day by day: from a day's events and the checkpoint before it to the day's results and the next checkpoint.

A day's events are the events whose time is on that day. The state at the end of a day depends on these events and on
earlier days. A day's rebalances are the rebalances that began on that day. They also depend on the records of the next
day, which may end them.

A *late record* of a day comes earlier in the log than a record of the previous day, because the clocks of two
coordinators differ. The newest record in the log decides the state. So a late record is put between the records of the
last ten minutes of the previous day (`group_checkpoint`). The previous day is not rewritten. If a rebalance's previous
generation arrives late, that day may keep a second row for it, with another `members_before`. If clocks differ by more
than ten minutes, records are in the order of their dates.

Example: generation 6 was written on day 0, after generation 5, which a clock that is ahead dated to day 1.

>>> midnight_us = 86_400_000_000
>>> def row(offset, at_us, number, *members):
...     return GroupRecord(0, offset, at_us, "GroupMetadata", "generation", epoch=number, member_ids=members)
>>> days = {
...     0: DayEvents([row(4, midnight_us - 60_000_000, 4, "a"), row(6, midnight_us - 2_000_000, 6, "a", "b", "c")]),
...     1: DayEvents([row(5, midnight_us + 5_000_000, 5, "a", "b")]),
... }
>>> for day in build_group_days(None, days, [0, 1]):
...     print(day.day, day.timeline.last, [(rebalance.generation, rebalance.joined) for rebalance in day.rebalances])
0 ('Stable', 3) [(4, None), (5, ('b',)), (6, ('c',))]
1 ('Stable', 3) []
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import NamedTuple

from kafka_groups.pipeline.build.kernels.group_checkpoint import GroupCheckpoint, RecentRecords
from kafka_groups.pipeline.build.kernels.group_reader import GroupReader
from kafka_groups.pipeline.build.kernels.group_records import GroupRecord, log_position
from kafka_groups.pipeline.build.kernels.group_timeline import (
    Timeline,
    build_timeline,
    drop_superseded,
)
from kafka_groups.pipeline.build.kernels.rebalance_rows import Rebalance
from kafka_groups.pipeline.build.kernels.segments import DAY_US
from kafka_groups.pipeline.frames.arrays import NULL
from kafka_groups.pipeline.tables import LARGEST_CLOCK_DIFFERENCE_US


class DayEvents(NamedTuple):
    """The events of a group on one day."""

    records: Sequence[GroupRecord] = ()  # in the order of the log, each once
    samples: Timeline = Timeline()  # sampled states, in the order of their times
    topics: frozenset[str] = frozenset()  # assigned to members in the last sample of the day


@dataclass(frozen=True, slots=True)
class GroupDay:
    """The results for a group on one day."""

    day: int  # days since 1970
    timeline: Timeline
    topics: frozenset[str]  # topics that members subscribe to at the end of the day, or had assigned
    state: str  # checkpoint at the end of the day, as JSON
    rebalances: Sequence[Rebalance]  # those that began on the day, by start, generation and protocol


def build_group_days(state: str | None, events: Mapping[int, DayEvents], days: Collection[int]) -> Iterator[GroupDay]:
    """Yield the group on each of `days`, which are days since 1970, in ascending order.

    `state` is the checkpoint (JSON) of the last day before all `events` and `days`; None if nothing is known. `events`
    must be complete up to and including the day after the last of `days`. Days with events that are not in `days`
    change the state, but are not returned.
    """
    for day in sorted({*days, *events}):
        next_records = events.get(day + 1, DayEvents()).records if day in days else ()
        group_day = _build_day(GroupCheckpoint.from_json(state), day, events.get(day, DayEvents()), next_records)
        state = group_day.state
        if day in days:
            yield group_day


def _build_day(
    checkpoint_before: GroupCheckpoint, day: int, events: DayEvents, next_records: Sequence[GroupRecord]
) -> GroupDay:
    """Return a day (days since 1970) from the checkpoint before it, its events, and the records of the next day.

    Records of both days are in the order of the log. Records of the next day only end or change rebalances of this day.
    """
    recent_records = _find_recent_records(checkpoint_before, day)
    late_records = [
        record for record in events.records if recent_records is not None and recent_records.is_late(record)
    ]
    records = [record for record in events.records if recent_records is None or not recent_records.is_late(record)]
    start_checkpoint = (
        _insert_late_records(checkpoint_before, recent_records, late_records)
        if recent_records is not None and late_records
        else checkpoint_before
    )
    reader = GroupReader(start_checkpoint)
    recent_records_of_day = _read_day(reader, records, day)
    timeline = build_timeline((start_checkpoint.state, start_checkpoint.member_count), reader.entries(), events.samples)
    checkpoint = replace(reader.checkpoint(*timeline.last), recent=recent_records_of_day)
    topics = events.topics | reader.topics()
    if recent_records is not None and late_records:
        # Late records of this day may have begun rebalances, between records of the day before.
        reader = _read_from(recent_records.before, recent_records.join([*events.records, *next_records]))
    elif recent_records_of_day is not None and any(map(recent_records_of_day.is_late, next_records)):
        # Late records of the next day come between the records of rebalances of this day.
        reader = _read_from(checkpoint_before, sorted([*records, *next_records], key=log_position))
    else:
        reader.read(next_records)
    rebalances = [rebalance for rebalance in reader.rebalances() if rebalance.started_at // DAY_US == day]
    return GroupDay(
        day=day,
        timeline=timeline,
        topics=frozenset(topics),
        state=checkpoint.to_json(),
        rebalances=tuple(sorted(rebalances, key=attrgetter("started_at", "generation", "group_protocol"))),
    )


def _read_day(reader: GroupReader, records: Sequence[GroupRecord], day: int) -> RecentRecords | None:
    """Read the records of a day (days since 1970), and return its recent records; None if there are none.

    `records` are in the order of the log. The recent records begin with the first record of the day's last ten minutes,
    and include all records after it in the log, whatever their times.
    """
    recent_us = (day + 1) * DAY_US - LARGEST_CLOCK_DIFFERENCE_US
    for index, record in enumerate(records):
        if record.at_us >= recent_us:
            reader.read(records[:index])
            # The state and number of members of this checkpoint are not used: the timeline of the day has them.
            checkpoint_before = reader.checkpoint(None, NULL)
            reader.read(records[index:])
            return RecentRecords(checkpoint_before, records[index:])
    reader.read(records)
    return None


def _find_recent_records(checkpoint_before: GroupCheckpoint, day: int) -> RecentRecords | None:
    """Return the recent records of the day before `day`; None if that day had none.

    Recent records of an earlier day are no longer recent.
    """
    recent_records = checkpoint_before.recent
    return (
        recent_records if recent_records is not None and recent_records.records[0].at_us // DAY_US == day - 1 else None
    )


def _insert_late_records(
    checkpoint_before: GroupCheckpoint, recent_records: RecentRecords, late_records: Sequence[GroupRecord]
) -> GroupCheckpoint:
    """Return `checkpoint_before` as it would be if the late records had been read in the order of the log.

    `recent_records` are the recent records of `checkpoint_before`. The state and the number of members stay unless the
    late records change them, because a sample may have shown more than the records.
    """
    reader = _read_from(recent_records.before, recent_records.join(late_records))
    shown_state = _find_last_shown(reader)
    if shown_state is None or shown_state == _find_last_shown(
        _read_from(recent_records.before, recent_records.records)
    ):
        shown_state = checkpoint_before.state, checkpoint_before.member_count
    return reader.checkpoint(*shown_state)


def _read_from(checkpoint_before: GroupCheckpoint, records: Sequence[GroupRecord]) -> GroupReader:
    """Return a reader that has read records, in the order of the log, from a checkpoint on."""
    reader = GroupReader(checkpoint_before)
    reader.read(records)
    return reader


def _find_last_shown(reader: GroupReader) -> tuple[str | None, int] | None:
    """Return the state and the number of members that the records show at the end; None if they show neither."""
    entries = drop_superseded(reader.entries())
    return (entries[-1].state, entries[-1].member_count) if entries else None
