"""What the derived tables need of one group, day by day: its records are read one after another."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from operator import itemgetter
from typing import Any, Final, NamedTuple

import numpy as np

from kafka_groups.pipeline.transform.kernels.group_events import (
    CLASSIC,
    CONSUMER,
    NOTHING,
    UNKNOWN,
    DayEvents,
    Record,
    Samples,
)
from kafka_groups.pipeline.transform.kernels.memberships import EMPTY, Change, Entry, Life, Membership
from kafka_groups.pipeline.transform.kernels.rebalances import Epoch, Generation, Rebalance, Span, classic_rebalance
from kafka_groups.pipeline.transform.kernels.segments import DAY_US, Ints

_REMOVED: Final = "group_removed"
_BEGINNING: Final = int(np.iinfo(np.int64).min)
# The same batch has both records of an online upgrade.
_MOVES_WITHIN_US: Final = 60_000_000
# Ends of types whose records replace the topics that the record before with the same key named; CLASSIC is one, too.
_NAMING: Final = ("MemberMetadata", "StatePartitionMetadata", "RegularExpression", "Topology")
# Type, member and expression.
_Subject = tuple[str, str | None, str | None]


class Timeline(NamedTuple):
    """What held from when on, on one day; the first entry of each array is what held when it began."""

    times: Ints
    states: Any
    members: Ints

    def at_times(self, times: Ints) -> tuple[Any, Ints]:
        """Return the state, or None, and the number of members, negative if not known, at times of the day."""
        place = np.searchsorted(self.times, times, side="right") - 1
        return self.states[place], self.members[place]

    @property
    def members_max(self) -> int | None:
        """The most members of the day; None if their number was not known at some time of it."""
        counted = self._counted()
        return None if not counted.size or (counted == UNKNOWN).any() else int(counted.max())

    @property
    def has_members(self) -> bool:
        """Whether the group had members on the day, or may have had some; False if nothing is known of them."""
        return bool((self._counted() != 0).any())

    def _counted(self) -> Any:
        return self.members[self.members != NOTHING]


@dataclass(frozen=True, slots=True)
class GroupDay:
    """A group on one day since 1970. Rebalances are those that began on it; they alone depend on the next day, too."""

    day: int
    timeline: Timeline
    topics: frozenset[str]  # that members subscribe to at the end of the day, or had assigned
    has_no_rebalances: bool  # a share or streams group: its records do not show rebalances
    state: str  # what it leaves to the next day, as JSON: states are equal if and only if their texts are
    rebalances: Sequence[Rebalance] = ()


def build_group_days(state: str | None, events: Mapping[int, DayEvents], days: Collection[int]) -> Iterator[GroupDay]:
    """Return the group on each of `days`, in order.

    `state` is that of the last day before `events`, if there is one: those of all days, and of the day after the last
    one if it is there, for rebalances. Events between `days` count, too.
    """
    for day in sorted({*days, *events}):
        reader = _DayReader(state)
        found = reader.read_day(day, events.get(day, DayEvents()))
        state = found.state
        if day in days:
            yield replace(found, rebalances=reader.rebalances(day, events.get(day + 1, DayEvents()).records))


class _DayReader:
    """What the records of a group show, from the state before a day on."""

    def __init__(self, state: str | None) -> None:
        before = json.loads(state or "{}")
        self._membership = Membership(*before.get("membership", ()))  # before the first of `_lives`
        self._span = Span(**before.get("span", {}))
        self._classic_members: Collection[str] | None = before.get("classic_members")
        self._generation = before.get("generation") and Generation(*before["generation"])
        self._known: tuple[str | None, int] = tuple(before.get("known", (None, NOTHING)))  # state and members
        self._topics: dict[_Subject, tuple[str, ...]] = {
            tuple(subject): tuple(topics) for topics, subjects in before.get("topics", ()) for subject in subjects
        }
        self._has_no_rebalances = before.get("has_no_rebalances", False)
        self._records_read = 0
        self._lives: list[Life] = []
        self._entries: list[Entry] = []
        self._before: Record | None = None  # the last one that shows the group's protocol
        self._epochs: list[Epoch] = []
        self._newcomers: set[str] = set()  # members that joined after the last epoch
        self._classic_rebalances: list[Rebalance] = []

    def read_day(self, day: int, events: DayEvents) -> GroupDay:
        """Return the day without its rebalances."""
        self._read_records(events.records)
        self._has_no_rebalances |= events.has_no_rebalances
        entries = [*self._entries, *(entry for life in self._lives for entry in life.entries())]
        timeline = _build_timeline(self._known, entries, events.samples)
        topics = events.samples.topics.union(*self._topics.values())
        return GroupDay(day, timeline, topics, self._has_no_rebalances, self._state(timeline))

    def rebalances(self, day: int, following: Sequence[Record]) -> tuple[Rebalance, ...]:
        """Return the rebalances of the day that was read, after the records of the next day, which may end them."""
        self._read_records(following)
        pairs = zip_longest(self._epochs, self._epochs[1:])
        found = [*self._classic_rebalances, *(epoch.rebalance(next_epoch) for epoch, next_epoch in pairs)]
        began = (one for one in found if one.started_at // DAY_US == day)
        return tuple(sorted(began, key=lambda one: (one.started_at, one.generation, one.protocol)))

    def _state(self, timeline: Timeline) -> str:
        # Members of a group subscribe to the same topics, as a rule.
        subjects: dict[tuple[str, ...], list[_Subject]] = {}
        for subject in sorted((one for one, topics in self._topics.items() if topics), key=str):
            subjects.setdefault(self._topics[subject], []).append(subject)
        state = {
            "membership": self._membership_now(),
            "span": vars(self._span),
            "classic_members": self._classic_members,
            "generation": self._generation,
            "known": (timeline.states[-1], int(timeline.members[-1])),
            "topics": sorted(subjects.items()),
            "has_no_rebalances": self._has_no_rebalances,
        }
        return json.dumps(state, separators=(",", ":"), sort_keys=True, ensure_ascii=False, default=sorted)

    def _membership_now(self) -> Membership:
        return self._lives[-1].membership() if self._lives else self._membership

    def _read_records(self, records: Sequence[Record]) -> None:
        for record in records:
            if not self._lives or self._lives[-1].is_removed:
                self._lives.append(Life(self._membership_now(), self._records_read))
            change, is_arrival = self._lives[-1].read(record)
            if change is not None:
                self._read_change(change)
            if is_arrival:
                self._read_arrival(record)
            if record.type in {CLASSIC, CONSUMER}:
                self._read_protocol(record)
            if record.type == CLASSIC or record.type.endswith(_NAMING):
                self._topics[record.type, record.member_id, record.expression] = record.topics
            if self._lives[-1].is_removed:
                # The next life may be a group of another kind.
                self._span = Span(self._span.has_begun, self._span.kept)
            self._records_read += 1

    def _read_change(self, change: Change) -> None:
        name = change.record.member_id or ""
        if change.number > 0:
            self._newcomers.add(name)
        if change.record.type.startswith("ConsumerGroup"):
            self._span.count(name, change.number)

    def _read_arrival(self, record: Record) -> None:
        # A member that joins with the next epoch is first STABLE, with no partitions, at the epoch before.
        if record.member_id is None or record.member_id in self._newcomers or not self._epochs:
            return
        epoch = self._epochs[-1]
        if epoch.life is self._lives[-1] and epoch.record.epoch == record.epoch:
            epoch.arrivals.setdefault(record.member_id, record.at_us)

    def _read_protocol(self, record: Record) -> None:
        is_removal, before, self._before = record.event_type == _REMOVED, self._before or record, record
        is_soon = record.at_us - before.at_us <= _MOVES_WITHIN_US
        if is_removal:
            self._entries.append(Entry(record.at_us, self._records_read, "Dead", 0))
        elif before.event_type == _REMOVED and before.type != record.type and is_soon:
            # The group moved to the other protocol.
            self._entries.pop()
        if record.type == CLASSIC:
            self._read_classic(record)
        elif is_removal:
            # An online downgrade keeps the members: they were there before the next generation.
            self._generation = Generation(None, self._span.left, record.at_us, None)
            self._span = Span(has_begun=True)
        elif record.event_type == "group_epoch" and record.epoch != self._span.epoch:
            life = self._lives[-1]
            at = len(life.records) - 1
            self._epochs.append(Epoch(life, at, record, self._span, life.change, life.joined_at))
            self._span, self._newcomers = Span(has_begun=True, epoch=record.epoch), set()

    def _read_classic(self, record: Record) -> None:
        rebalance = classic_rebalance(record, self._generation)
        if rebalance is not None:
            self._classic_rebalances.append(rebalance)
        if record.event_type == _REMOVED:
            self._span.has_begun, self._span.kept = True, self._classic_members
        else:
            state = "Stable" if record.event_type == "generation" else EMPTY
            self._entries.append(Entry(record.at_us, self._records_read, state, len(record.ids or ())))
        self._generation = Generation.of(record)
        self._classic_members = self._generation.members


def _build_timeline(before: tuple[str | None, int], entries: Sequence[Entry], samples: Samples) -> Timeline:
    """Return the timeline of a day from what its records and its samples say; samples are before records of a time."""
    ordered = [Entry(_BEGINNING, 0, *before), *sorted(entries, key=itemgetter(0, 1))]
    times, _, states, members = zip(*ordered, strict=True)
    whole = np.concatenate([samples.times, times])
    order = np.argsort(whole, kind="stable")
    # What says nothing of the members leaves their number as it was.
    counts = np.concatenate([samples.members, members])[order]
    said = np.maximum.accumulate(np.where(counts != NOTHING, np.arange(len(counts)), 0))
    return Timeline(whole[order], np.concatenate([samples.states, states])[order], counts[said])
