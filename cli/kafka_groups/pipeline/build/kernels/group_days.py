"""What the derived tables need of one group, day by day: its records are read one after another."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, NamedTuple

import numpy as np

from kafka_groups.pipeline.build.kernels import group_lives as lives
from kafka_groups.pipeline.build.kernels.group_lives import CLASSIC, REMOVED, UNKNOWN, Life, Rebalance, Record
from kafka_groups.pipeline.build.kernels.segments import DAY_US, NULL, Array, Ints

_MOVES_WITHIN_US: Final = 60_000_000  # the same batch has both records of an online upgrade
_LATE_MS: Final = 1_000  # the broker's timer ends a join phase that members hold up, and may be late
# Ends of types whose records replace the topics that the record before with the same key named.
_NAMING: Final = (CLASSIC, "MemberMetadata", "StatePartitionMetadata", "RegularExpression", "Topology")


class Timeline(NamedTuple):
    """What held of a group from when on, on one day."""

    times: Ints = np.zeros(0, np.int64)
    states: Array = np.zeros(0, np.object_)  # None where a state is not known
    members: Ints = np.zeros(0, np.int64)  # UNKNOWN, or NULL where nothing shows the members

    def at_times(self, times: Ints) -> tuple[Any, Ints]:
        """Return the state and the number of members at times of the day, none of them before the first entry."""
        place = np.searchsorted(self.times, times, side="right") - 1
        return self.states[place], self.members[place]

    @property
    def members_max(self) -> int:
        """The most members of the day; UNKNOWN if their number was not known at some time, NULL if it never was."""
        return UNKNOWN if (self.members == UNKNOWN).any() else int(self.members.max())


class DayEvents(NamedTuple):
    """What happened to a group on one day. Records are in order of their log, each once."""

    records: Sequence[Record] = ()
    samples: Timeline = Timeline()
    topics: frozenset[str] = frozenset()  # assigned to members in the last sample of the day
    has_no_rebalances: bool = False


@dataclass(frozen=True, slots=True)
class GroupDay:
    """A group on one day since 1970. Rebalances are those that began on it; they alone depend on the next day, too."""

    day: int
    timeline: Timeline
    topics: frozenset[str]  # that members subscribe to at the end of the day, or had assigned
    has_no_rebalances: bool  # a share or streams group: its records do not show rebalances
    state: str  # what it leaves to the next day, as JSON: states are equal if and only if their texts are
    rebalances: Sequence[Rebalance]


def build_group_days(state: str | None, events: Mapping[int, DayEvents], days: Collection[int]) -> Iterator[GroupDay]:
    """Return the group on each of `days`, in order; events between them count, too.

    `state` is that of the last day before `events`, which go on until the day after the last one, for rebalances.
    """
    for day in sorted({*days, *events}):
        following = events.get(day + 1, DayEvents()).records if day in days else ()
        found = _DayReader(state).read(day, events.get(day, DayEvents()), following)
        state = found.state
        if day in days:
            yield found


class _Generation(NamedTuple):
    """The last record of a classic group, or the downgrade that began one."""

    epoch: int | None  # None: the group was removed, or downgraded, so any generation after it is another one
    members: Collection[str] | None
    time: int
    join_timeout_ms: int | None


class _DayReader:
    """What the records of a group show, from the state before a day on."""

    def __init__(self, state: str | None) -> None:
        before = json.loads(state or "{}")
        self._lives = [Life(lives.Membership(*before.get("membership", ())), lives.Span(**before.get("span", {})))]
        self._generation = before.get("generation") and _Generation(*before["generation"])
        self._known: tuple[str | None, int] = tuple(before.get("known", (None, NULL)))  # state and members
        self._topics: dict[tuple[str, str | None, str | None], tuple[str, ...]] = {  # by type, member and expression
            tuple(subject): tuple(topics) for topics, subjects in before.get("topics", ()) for subject in subjects
        }
        self._has_no_rebalances = before.get("has_no_rebalances", False)
        self._entries: list[lives.Entry] = []  # of the classic group, and of removals
        self._before: Record | None = None  # the last one that shows the group's protocol
        self._classic_rebalances: list[Rebalance] = []

    def read(self, day: int, events: DayEvents, following: Sequence[Record]) -> GroupDay:
        """Return the day, with rebalances that records of the next day may end."""
        self._read_records(0, events.records)
        self._has_no_rebalances |= events.has_no_rebalances
        timeline = self._timeline(events.samples)
        topics = events.topics.union(*self._topics.values())
        state = self._state(timeline)
        self._read_records(len(events.records), following)
        epochs = [(life, epoch) for life in self._lives for epoch in life.epochs]
        pairs = zip(epochs, [*epochs[1:], (None, None)], strict=False)
        consumer = (life.rebalance(epoch, next_epoch) for (life, epoch), (_, next_epoch) in pairs)
        found = (one for one in (*self._classic_rebalances, *consumer) if one.started_at // DAY_US == day)
        rebalances = tuple(sorted(found, key=lambda one: (one.started_at, one.generation, one.protocol)))
        return GroupDay(day, timeline, topics, self._has_no_rebalances, state, rebalances)

    def _timeline(self, samples: Timeline) -> Timeline:
        """Return what records and samples of the day say; samples are before records of the same time."""
        entries = [*self._entries, *(entry for life in self._lives for entry in life.entries())]
        ordered = [(NULL, 0, *self._known), *sorted(entries, key=itemgetter(0, 1))]
        times, _, states, members = zip(*ordered, strict=True)
        both = [np.concatenate(each) for each in zip(samples, (times, states, members), strict=True)]
        order = np.argsort(both[0], kind="stable")
        whole = Timeline(*(column[order] for column in both))
        # What says nothing of the members leaves their number as it was.
        said = np.where(whole.members != NULL, np.arange(len(whole.members)), 0)
        return whole._replace(members=whole.members[np.maximum.accumulate(said)])

    def _state(self, timeline: Timeline) -> str:
        # Members of a group subscribe to the same topics, as a rule.
        named = sorted(((topics, subject) for subject, topics in self._topics.items() if topics), key=str)
        state = {
            "membership": self._lives[-1].membership(),
            "span": vars(self._lives[-1].span),
            "generation": self._generation,
            "known": (timeline.states[-1], int(timeline.members[-1])),
            "topics": [(topics, [subject for _, subject in same]) for topics, same in groupby(named, itemgetter(0))],
            "has_no_rebalances": self._has_no_rebalances,
        }
        return json.dumps(state, separators=(",", ":"), sort_keys=True, ensure_ascii=False)

    def _read_records(self, first: int, records: Sequence[Record]) -> None:
        for at, record in enumerate(records, first):
            if self._lives[-1].is_removed:
                self._lives.append(Life(self._lives[-1].membership(), self._lives[-1].span))
            if record.type in {CLASSIC, lives.CONSUMER}:
                self._read_protocol(at, record)
            if record.type.endswith(_NAMING):
                self._topics[record.type, record.member_id, record.expression] = record.topics
            self._lives[-1].read(at, record)

    def _read_protocol(self, at: int, record: Record) -> None:
        before, self._before = self._before or record, record
        is_soon = record.at_us - before.at_us <= _MOVES_WITHIN_US
        if record.event_type == REMOVED:
            self._entries.append((record.at_us, at, "Dead", 0))
        elif before.event_type == REMOVED and before.type != record.type and is_soon:
            self._entries.pop()  # the group moved to the other protocol
        life, classic = self._lives[-1], self._generation
        if record.type == CLASSIC and record.event_type == REMOVED:
            # If the generation after a downgrade is lost, the members are not known.
            life.upgrade(None if classic is None or classic.epoch is None else classic.members)
            self._generation = _Generation(None, (), record.at_us, 0)
        elif record.event_type == REMOVED:
            # An online downgrade keeps the members: they were there before the next generation.
            self._generation = _Generation(None, life.span.names_of(-1, 0), record.at_us, None)
        elif record.type == CLASSIC:
            rebalance = _classic_rebalance(record, classic)
            self._classic_rebalances += [] if rebalance is None else [rebalance]
            state = "Stable" if record.event_type == "generation" else "Empty"
            self._entries.append((record.at_us, at, state, len(record.ids or ())))
            self._generation = _Generation(record.epoch, record.ids, record.at_us, record.join_timeout_ms)


def _classic_rebalance(record: Record, before: _Generation | None) -> Rebalance | None:
    """Return the rebalance that ended with this record, if its generation is another one than before.

    When it began is not logged. So `started_at` is the earliest time at which it can have begun, and the duration a
    bound. It began after the group's record before; commits show nothing, because the broker accepts those of the old
    generation until all members have joined. It also began no longer than the members' rebalance timeout before all
    had joined, and the record has that time. If neither is known, `started_at` is the record, and the duration null.
    """
    ended_at, joined_at = record.at_us, record.state_us
    # Generation 0 is a group that was just created (brokers since 4.0 write it).
    if record.epoch is None or record.epoch <= 0 or (before is not None and before.epoch == record.epoch):
        return None
    if before is None:
        # A group's first generation is 1, and had no members before; any other first record had others before it.
        before = _Generation(0, (), 0, 0) if record.epoch == 1 else _Generation(None, None, 0, None)
    if joined_at is not None and joined_at // 1_000 > ended_at // 1_000:
        joined_at = None
    since = before.time
    timeouts = [one for one in (before.join_timeout_ms, record.join_timeout_ms) if one is not None]
    # If generations before were given up and left no record, there was more than one join phase.
    if joined_at is not None and record.epoch == (before.epoch or 0) + 1 and len(timeouts) > 1:
        since = max(since, (joined_at // 1_000 - max(timeouts) - _LATE_MS) * 1_000)
    # A rebalance is followed until the end of the day after it began.
    is_usable = since <= ended_at and ended_at // DAY_US - since // DAY_US <= 1
    times = since if is_usable else ended_at, ended_at, lives.milliseconds(since, ended_at) if is_usable else None
    sync_ms = lives.milliseconds(joined_at, ended_at) if record.ids else None
    size_before, size = (None if names is None else len(names) for names in (before.members, record.ids))
    came = went = None
    if before.members is not None and record.ids is not None:
        old, new = {*before.members}, {*record.ids}
        came, went = tuple(sorted(new - old)), tuple(sorted(old - new))
    return Rebalance("classic", record.epoch, *times, "bound", sync_ms, size_before, size, came, went)
