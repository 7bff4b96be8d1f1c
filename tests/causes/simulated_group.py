"""Groups that are simulated second by second: producers, members that read and commit, and polls that watch them.

Time is in seconds; the first poll is at 0. A simulation begins `BEFORE_S` earlier, at the end of all logs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from kafka_groups.causes.evidence import Evidence, GroupPoll, LogTime, PartitionPoll, TopicPoll
from kafka_groups.model import GroupDescription, TopicPartition
from tests.causes.observed_group import START_MS, description, member

BEFORE_S = 900
LOG_TIMES_S = (60, 120, 300, 900, 3_600, 21_600, 86_400)
DAY_S = 86_400
_BASE = 10_000_000


@dataclass(frozen=True)
class Stream:
    """What is written to a partition: records a second, with a daily wave, bursts, or a factor from a time on."""

    rate: float
    wave: float = 0.0
    phase: float = 0.0
    burst_period_s: float = 0.0
    burst_share: float = 1.0
    factor: float = 1.0
    factor_from_s: float = 0.0
    ends_s: float = math.inf
    first_s: float = -2 * DAY_S

    def offset(self, at_s: float) -> int:
        """Return the log end at a time."""
        time = min(at_s, self.ends_s)
        if time < self.first_s:
            return _BASE
        written = self.rate * (time - self.first_s)
        if self.wave:
            turn = 2 * math.pi / DAY_S
            written += self.rate * self.wave / turn * (math.sin(turn * time + self.phase) - math.sin(self.phase))
        if self.burst_period_s:
            periods = math.floor((time + self.phase) / self.burst_period_s)
            within = (time + self.phase) / self.burst_period_s - periods
            in_bursts = periods + min(1.0, within / self.burst_share)
            written = self.rate * self.burst_period_s * (in_bursts + 2 * DAY_S / self.burst_period_s)
        written += self.rate * (self.factor - 1) * max(0.0, time - self.factor_from_s)
        return _BASE + int(written)


@dataclass(frozen=True)
class Reader:
    """A member: its partitions, records a second that it can read, its commits, and when it reads at all."""

    partitions: tuple[int, ...]
    capacity: float
    commit_s: float = 5.0
    phase: float = 0.0
    slow_from_s: float = math.inf
    slow_capacity: float = 0.0
    reads: Callable[[float], bool] = lambda _at_s: True
    stuck: Mapping[int, float] = field(default_factory=dict)
    turn_s: float = 0.0


@dataclass(frozen=True)
class Simulation:
    """Streams by partition, their readers, and how polls watch. `restart_s` is when all members are replaced."""

    streams: tuple[Stream, ...]
    readers: tuple[Reader, ...]
    polls: int = 6
    restart_s: float = math.inf
    reset_s: float = math.inf
    partitions_added_s: float = math.inf
    markers: int = 0

    def evidence(self, random: Random) -> Evidence:
        """Return what polls saw."""
        commits = self._commits()
        polls_s = [5 * poll + random.uniform(-0.2, 0.2) * (poll > 0) for poll in range(self.polls)]
        times_ms = [START_MS + round(1000 * at_s) for at_s in polls_s]
        keys = [TopicPartition("orders", number) for number in range(len(self.streams))]
        partitions = {}
        for key, stream in zip(keys, self.streams, strict=True):
            seen = []
            for at_s, at_ms in zip(polls_s, times_ms, strict=True):
                end = stream.offset(at_s) + self.markers
                committed = commits[key.partition][math.floor(at_s)]
                epoch = None if at_s > self.reset_s else 0
                seen.append(PartitionPoll(at_ms, committed, end, 0, end - committed, leader_epoch=epoch, leader=1))
            partitions[key] = tuple(seen)
        log_times = {
            key: tuple(
                LogTime(START_MS - 1000 * before_s, self.streams[key.partition].offset(-before_s) + self.markers)
                for before_s in sorted(LOG_TIMES_S, reverse=True)
            )
            for key in keys
        }
        counts = [len(keys) + 2 * (at_s >= self.partitions_added_s) for at_s in polls_s]
        topics = tuple(TopicPoll(at_ms, "id", number) for at_ms, number in zip(times_ms, counts, strict=True))
        return Evidence(
            polls=tuple(GroupPoll(at_ms, self._group(at_s)) for at_ms, at_s in zip(times_ms, polls_s, strict=True)),
            partitions=partitions,
            log_times=log_times,
            topics={"orders": topics},
        )

    def _group(self, at_s: float) -> GroupDescription:
        if self.reset_s - 6 <= at_s <= self.reset_s + 6:
            return description()
        version = "new" if at_s > self.restart_s else "old"
        return description(
            *(
                member(f"app-{number}", {"orders": reader.partitions}, member_id=f"{version}-{number}")
                for number, reader in enumerate(self.readers)
            )
        )

    def _commits(self) -> list[dict[int, int]]:
        """Return the commit of each partition at each second."""
        last_s = 5 * self.polls
        commits: list[dict[int, int]] = [{} for _ in self.streams]
        ends = [[stream.offset(at_s) for at_s in range(-BEFORE_S, last_s)] for stream in self.streams]
        for reader in self.readers:
            positions = {number: ends[number][0] for number in reader.partitions}
            committed = dict(positions)
            for at_s in range(-BEFORE_S, last_s):
                if at_s - 1 < self.reset_s <= at_s:
                    positions = {number: offset - 5_000 for number, offset in positions.items()}
                    committed = dict(positions)
                unread = {number: ends[number][at_s + BEFORE_S] - position for number, position in positions.items()}
                self._read(reader, positions, unread, at_s)
                if (at_s + reader.phase) % reader.commit_s < 1 and reader.reads(at_s):
                    committed = dict(positions)
                for number, offset in committed.items():
                    commits[number][at_s] = offset
        return commits

    def _read(self, reader: Reader, positions: dict[int, int], unread: Mapping[int, int], at_s: int) -> None:
        """Read for one second: partitions share the capacity, or have turns."""
        if not reader.reads(at_s) or abs(at_s - self.restart_s) < 10 or abs(at_s - self.reset_s) < 6:
            return
        left = reader.slow_capacity if at_s >= reader.slow_from_s else reader.capacity
        left = math.floor(left * (at_s + 1)) - math.floor(left * at_s)
        order = sorted(positions, key=lambda number: unread[number])
        if reader.turn_s:
            turn = int(at_s / reader.turn_s) % len(order)
            order = [sorted(positions)[turn]]
        for place, number in enumerate(order):
            if at_s < reader.stuck.get(number, math.inf):
                taken = min(unread[number], math.ceil(left / (len(order) - place)))
                positions[number] += taken
                left -= taken


def steady_group(random: Random, *, commits_s: tuple[float, ...] = (1, 5)) -> Simulation:
    """Return a group that keeps up: 2 to 4 members with 1 to 4 partitions each."""
    members, each = random.randint(2, 4), random.randint(1, 4)
    rate = random.uniform(2, 200)
    streams = tuple(Stream(rate * random.uniform(0.8, 1.25)) for _ in range(members * each))
    commit_s = random.choice(commits_s)
    readers = tuple(
        Reader(
            tuple(range(first * each, first * each + each)),
            capacity=rate * each * random.uniform(1.6, 3),
            commit_s=commit_s,
            phase=random.uniform(0, commit_s),
        )
        for first in range(members)
    )
    return Simulation(streams, readers)


def with_readers(group: Simulation, **changes: Any) -> Simulation:
    """Return the group with changes to all of its members."""
    return replace(group, readers=tuple(replace(reader, **changes) for reader in group.readers))


def with_streams(group: Simulation, **changes: Any) -> Simulation:
    """Return the group with changes to all of its streams."""
    return replace(group, streams=tuple(replace(stream, **changes) for stream in group.streams))
