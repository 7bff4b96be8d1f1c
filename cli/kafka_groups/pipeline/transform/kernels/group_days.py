"""What the derived tables need of one group, date by date."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from kafka_groups.pipeline.transform.kernels.classic_rebalances import ClassicDay, follow_generations
from kafka_groups.pipeline.transform.kernels.consumer_rebalances import consumer_rebalances
from kafka_groups.pipeline.transform.kernels.epochs import EpochDay, follow_epochs
from kafka_groups.pipeline.transform.kernels.group_events import DayEvents, Record, split_days
from kafka_groups.pipeline.transform.kernels.group_state import GroupState
from kafka_groups.pipeline.transform.kernels.group_timeline import (
    Removal,
    Timeline,
    build_timeline,
    entries_of,
    removals,
)
from kafka_groups.pipeline.transform.kernels.memberships import LifeDay, split_lives
from kafka_groups.pipeline.transform.kernels.rebalances import Rebalance
from kafka_groups.pipeline.transform.kernels.segments import DAY_US
from kafka_groups.pipeline.transform.kernels.source_logs import in_log_order
from kafka_groups.pipeline.transform.kernels.subscriptions import subscribe

if TYPE_CHECKING:
    import pyarrow as pa

_NO_EVENTS: Final = DayEvents([], None, has_no_rebalances=False)


@dataclass(frozen=True, slots=True)
class GroupDay:
    """A group on one date. Rebalances are those that began on it; they alone depend on the next date, too."""

    date: date
    rebalances: tuple[Rebalance, ...]
    timeline: Timeline
    topics: frozenset[str]  # that members subscribe to at the end of the date, or had assigned
    has_no_rebalances: bool  # a share or streams group: its records do not show rebalances
    state: GroupState


class _Walked(NamedTuple):
    """One date before the rebalances are known that began on it."""

    epochs: EpochDay
    classic: ClassicDay
    timeline: Timeline
    topics: frozenset[str]
    state: GroupState


def build_group_days(state: GroupState, events: pa.RecordBatch, dates: Collection[date]) -> Iterator[GroupDay]:
    """Return the group on each of `dates`, in order.

    `state` is that of the last date before `events`, which has COLUMNS in any order of rows: those of all dates, and of
    the date after the last one if it is there, for rebalances. Events between `dates` count, too.
    """
    wanted = {(one - date(1970, 1, 1)).days for one in dates}
    events_by_day = split_days(events)
    days = sorted(wanted | events_by_day.keys())
    waiting: tuple[int, _Walked] | None = None
    for day in days:
        walked = _walk(events_by_day.get(day, _NO_EVENTS), state)
        state = walked.state
        if waiting is not None:
            yield from _finish(*waiting, walked if day == waiting[0] + 1 else None, wanted)
        waiting = day, walked
    if waiting is not None:
        yield from _finish(*waiting, None, wanted)


def _finish(day: int, walked: _Walked, following: _Walked | None, wanted: Collection[int]) -> Iterator[GroupDay]:
    if day not in wanted:
        return
    found = list(consumer_rebalances(walked.epochs, None if following is None else following.epochs))
    found.extend(walked.classic.rebalances)
    if following is not None:
        found.extend(following.classic.rebalances)
    began = tuple(sorted((one for one in found if one.started_at // DAY_US == day), key=_order))
    on = date(1970, 1, 1) + timedelta(days=day)
    yield GroupDay(on, began, walked.timeline, walked.topics, walked.state.has_no_rebalances, walked.state)


def _order(rebalance: Rebalance) -> tuple[int, int, str]:
    return rebalance.started_at, rebalance.generation, rebalance.protocol


def _walk(events: DayEvents, before: GroupState) -> _Walked:
    records, logs = in_log_order(events.records, before.logs)
    lives, membership = split_lives(records, before.membership)
    epochs = follow_epochs(lives, before.span, before.classic_members)
    classic = follow_generations(records, epochs.downgrades, before.generation, before.classic_members)
    timeline, removal = _timeline(events, records, lives, before)
    topics = subscribe(records, before.topics)
    sampled = frozenset() if events.samples is None else events.samples.topics
    state = GroupState(
        logs,
        membership,
        epochs.span,
        classic.before,
        classic.members,
        timeline.last(),
        removal,
        topics,
        before.has_no_rebalances or events.has_no_rebalances,
    )
    return _Walked(epochs, classic, timeline, sampled.union(*topics.values()), state)


def _timeline(
    events: DayEvents, records: list[Record], lives: list[LifeDay], before: GroupState
) -> tuple[Timeline, Removal | None]:
    deleted, has_moved, removal = removals(records, before.removal)
    known = before.known
    if has_moved and before.removal is not None:
        known = before.removal.otherwise
    entries = list(entries_of(records, lives))
    timeline = build_timeline(known, [*entries, *deleted], events.samples)
    if removal is not None:
        otherwise = build_timeline(known, [*entries, *deleted[:-1]], events.samples)
        removal = removal._replace(otherwise=otherwise.last())
    return timeline, removal
