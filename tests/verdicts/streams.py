"""Simulated groups: records that are produced, a group that reads and commits, and what polls and history see of it.

A stream is a group on one or more partitions, in steps of a second. Streams are seeded by their number, which also
chooses the rate of records, and whether clocks are exact or jittered. Times are in seconds since the stream's start.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from kafka_groups.pipeline.build.frames import Observations
from kafka_groups.pipeline.frames.arrays import NULL, Flags, Floats, Ints
from tests.verdicts.retention import Retention
from tests.verdicts.shapes import Fault, Random, Shape

POLLS_S: Final = (1, 5, 15, 60, 300)
COMMITS_S: Final = (0.2, 1, 5, 15, 60, 300)
RATES: Final = (5, 70, 1_000, 5_000)
START_MS: Final = 1_790_000_000_000
# A record is processed this long after it was written, and a poll reads log ends this long after commits.
PROCESSING_S: Final = 0.5
BETWEEN_REQUESTS_S: Final = 0.05
# Intervals of jittered clocks differ by up to this share.
JITTER: Final = 0.1
MEMBERS: Final = 3


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a stream is made from. Streams with another number have another rate, clock and seed."""

    shape: Shape
    commit_s: float
    hours: float
    number: int = 0
    partitions: int = 1
    fault: Fault | None = None

    @property
    def is_jittered(self) -> bool:
        """Return whether clocks are jittered: in every second four streams."""
        return self.number // len(RATES) % 2 == 1

    @property
    def rate(self) -> float:
        """Return how many records are produced each second."""
        return RATES[self.number % len(RATES)] if self.shape.rate is None else self.shape.rate

    def random(self, *salt: int) -> Random:
        """Return random numbers of this setting."""
        names = f"{self.shape.name}{self.commit_s}{self.fault and self.fault.name}".encode()
        return np.random.default_rng([self.number, self.partitions, *salt, *names])


class Stream(NamedTuple):
    """A simulated group: log ends and positions by second and partition, and its commits by time and partition."""

    setting: Setting
    log_end: Floats
    position: Floats
    is_present: Flags
    commit_s: Floats
    committed: Ints


class _Schedule(NamedTuple):
    """When a group reads, and when its members are present, by second; and when a pause begins."""

    is_reading: Flags
    is_present: Flags
    pauses_s: Floats


def simulate(setting: Setting) -> Stream:
    """Return a stream."""
    chance = setting.random()
    shape = setting.shape
    seconds = np.arange(setting.hours * 3_600 + 1)
    schedule = _plan(setting, seconds, chance)
    phase = chance.uniform(0, shape.period_s or 1)
    relative = shape.produce(np.floor(seconds + phase), setting.number, chance)
    produced = np.repeat(relative[:, None] * setting.rate, setting.partitions, axis=1)
    if shape.is_random:
        produced = chance.poisson(produced).astype(np.float64)
    capacity = np.full_like(produced, shape.capacity * setting.rate) * schedule.is_reading[:, None]
    fault = setting.fault
    if fault is not None and fault.slow:
        capacity = np.where(
            (seconds < fault.at_s)[:, None], capacity, np.minimum(capacity, produced * (1 - fault.slow))
        )
    log_end = np.cumsum(produced, axis=0) + chance.uniform(0, 1, setting.partitions)
    position = _read(setting, log_end, np.cumsum(capacity, axis=0))
    commit_s = _commit_times(setting, schedule, chance)
    offsets = np.stack([np.interp(commit_s - PROCESSING_S, seconds, each) for each in position.T], axis=1)
    return Stream(setting, log_end, position, schedule.is_present, commit_s, np.floor(offsets).astype(np.int64))


def _plan(setting: Setting, seconds: Floats, chance: Random) -> _Schedule:
    """Return the schedule of a group: pauses of its shape, and what a fault makes of it."""
    shape = setting.shape
    fault = setting.fault
    is_reading = np.ones(len(seconds), np.bool_)
    pauses_s = np.empty(0)
    if shape.pause_s:
        starts = np.arange(-chance.uniform(0, shape.period_s), seconds[-1], shape.period_s)
        starts += chance.uniform(0, 0.05 * shape.period_s, len(starts)) if setting.is_jittered else 0
        last = np.searchsorted(starts, seconds, "right") - 1
        is_reading = (last < 0) | (seconds - starts[last] >= shape.pause_s)
        pauses_s = np.ceil(starts[starts > 0])
    is_present = is_reading | (not shape.is_leaving)
    if fault is not None and fault.is_leaving:
        is_present &= seconds < fault.at_s
        pauses_s = np.append(pauses_s[pauses_s < fault.at_s], fault.at_s)
    if fault is not None and fault.is_reset:
        is_absent = np.abs(seconds - fault.at_s) <= fault.absent_s
        is_reading &= ~is_absent
        is_present &= ~is_absent
    return _Schedule(is_reading, is_present, pauses_s)


def _read(setting: Setting, log_end: Floats, capacity: Floats) -> Floats:
    """Return the position of a reader that reads what its cumulated capacity allows, up to the log end."""
    position = capacity + np.minimum.accumulate(log_end - capacity)
    fault = setting.fault
    if fault is not None and fault.back_s:
        at = int(fault.at_s)
        first = np.maximum(0, position[at] - fault.back_s * setting.rate)
        limit = np.minimum.accumulate(log_end[at:] - capacity[at:])
        position[at:] = capacity[at:] + np.minimum(first - capacity[at], limit)
    return position


def _commit_times(setting: Setting, schedule: _Schedule, chance: Random) -> Floats:
    """Return when the group commits.

    A batch reader, and one that leaves, also commit at the end of their work. In a pause, groups of even numbers go on
    to commit one offset; those of odd numbers commit when the pause ends.
    """
    shape = setting.shape
    fault = setting.fault
    times = _clock(setting.commit_s, len(schedule.is_present) - 1, chance, is_jittered=setting.is_jittered)
    second = times.astype(np.int64)
    if shape.pause_s and not shape.is_leaving and (setting.number + setting.number // len(RATES)) % 2:
        reading = np.flatnonzero(schedule.is_reading)
        following = reading[np.minimum(np.searchsorted(reading, second), len(reading) - 1)]
        times = np.where(schedule.is_reading[second], times, np.maximum(times, following))
    times = times[schedule.is_present[times.astype(np.int64)]]
    if shape.is_batch or shape.is_leaving or (fault is not None and fault.is_leaving):
        times = np.append(times, schedule.pauses_s)
    if fault is not None and not fault.is_committing:
        times = times[times <= fault.at_s]
    if fault is not None and fault.is_reset:
        times = np.append(times, fault.at_s + 1)
    unique: Floats = np.unique(times)
    return unique


def _clock(interval_s: float, until_s: float, chance: Random, *, is_jittered: bool) -> Floats:
    """Return times of one interval each from a random one on, exact or jittered."""
    count = int(until_s / interval_s * (1 + 2 * JITTER)) + 1
    steps = interval_s * (1 + JITTER * chance.uniform(-1, 1, count) * is_jittered)
    times: Floats = chance.uniform(0, interval_s) + np.cumsum(steps) - steps[0]
    return times[times < until_s - 1]


class Seen(NamedTuple):
    """Observations of streams; key k is partition k % partitions of stream k // partitions, and rows have its time."""

    observations: Observations
    at_s: Floats
    poll: Ints  # number of the poll in its stream


def observe(streams: Sequence[Stream], poll_s: float, *, has_commits: bool, retention: Retention | None = None) -> Seen:
    """Return what polls see of streams, or what history sees at the same times: it also knows commits.

    Without a retention log starts are unknown.
    """
    parts = [
        _observe_partition(stream, partition, poll_s, has_commits=has_commits, retention=retention)
        for stream in streams
        for partition in range(stream.setting.partitions)
    ]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    columns["key"] = np.repeat(np.arange(len(parts)), [len(part["poll"]) for part in parts])
    at_s = columns.pop("at_s")
    poll = columns.pop("poll")
    zeros = np.zeros(len(poll), np.int64)
    return Seen(Observations(incarnation=zeros, log_number=zeros, **columns), at_s, poll)


def _observe_partition(
    stream: Stream, partition: int, poll_s: float, *, has_commits: bool, retention: Retention | None
) -> dict[str, Floats | Ints]:
    """Return the columns of observations of a partition from the first commit on."""
    setting = stream.setting
    chance = setting.random(int(poll_s), 1)
    start_ms = START_MS + int(chance.integers(86_400_000))
    until_s = len(stream.is_present) - 1
    at_s = _clock(poll_s, until_s, chance, is_jittered=setting.is_jittered)
    at_s = at_s[at_s >= stream.commit_s[0]]
    commit = np.searchsorted(stream.commit_s, at_s, "right") - 1
    committed = stream.committed[:, partition]
    indices = np.arange(len(committed))
    is_move = np.append(True, committed[1:] != committed[:-1])
    repeated = indices - np.maximum.accumulate(np.where(is_move, indices, 0))
    seconds = np.arange(until_s + 1)
    log_end = np.floor(np.interp(at_s + BETWEEN_REQUESTS_S, seconds, stream.log_end[:, partition])).astype(np.int64)
    unknown = np.full(len(at_s), NULL)
    log_start = unknown
    if retention is not None:
        log_start = retention.log_starts(stream.log_end[:, partition])[at_s.astype(np.int64)]
    return {
        "at_s": at_s,
        "poll": np.arange(len(at_s)),
        "at_ms": start_ms + np.floor(at_s * 1_000).astype(np.int64),
        "committed_offset": committed[commit],
        "log_start": log_start,
        "log_end": log_end,
        "lag": log_end - np.maximum(committed[commit], log_start),
        "lost_records": np.maximum(0, log_start.clip(0) - committed[commit]),
        "member_count": np.where(stream.is_present[at_s.astype(np.int64)], MEMBERS, 0),
        "commit_ms": start_ms + np.floor(stream.commit_s[commit] * 1_000).astype(np.int64) if has_commits else unknown,
        "repeated_commits": repeated[commit] if has_commits else unknown,
        "highest_offset": _find_highest(committed, commit) if has_commits else committed[commit],
    }


def _find_highest(committed: Ints, commit: Ints) -> Ints:
    """Return the highest offset that was committed since the observation before; `commit` is the last one of each."""
    starts = np.minimum(np.concatenate([[0], commit[:-1] + 1]), commit)
    ranges = np.stack([starts, commit + 1], axis=1).ravel()
    highest: Ints = np.maximum.reduceat(np.append(committed, 0), ranges)[::2]
    return np.maximum(highest, committed[commit])
