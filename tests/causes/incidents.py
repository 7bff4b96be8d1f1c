"""Simulated incidents by the name of their cause, and healthy groups."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from tests.causes.simulated_group import Simulation, steady_group, with_readers, with_streams

MIN_PARTITIONS_OF_HOT: Final = 4

Shape: TypeAlias = Callable[[Random], Simulation]


def _change_reader(group: Simulation, number: int, **changes: Any) -> Simulation:
    readers = [*group.readers]
    readers[number] = replace(readers[number], **changes)
    return replace(group, readers=tuple(readers))


def _all_stopped(random: Random) -> Simulation:
    begin_s = -random.uniform(180, 800)
    return with_readers(steady_group(random, commits_s=(1, 5, 60)), reads=lambda at_s: at_s < begin_s)


def _stuck_partition(random: Random) -> Simulation:
    group = steady_group(random)
    while len(group.readers[0].partitions) == 1:
        group = steady_group(random)
    return _change_reader(group, 0, stuck={group.readers[0].partitions[0]: -random.uniform(130, 800)})


def _slow_member(random: Random) -> Simulation:
    group = steady_group(random)
    while len(group.readers) == 2 and len(group.readers[0].partitions) == 1:
        group = steady_group(random)
    load = sum(group.streams[number].rate for number in group.readers[0].partitions)
    slow = random.uniform(0.05, 0.7) * load
    return _change_reader(group, 0, slow_from_s=-random.uniform(450, 800), slow_capacity=slow)


def _hot_partition(random: Random) -> Simulation:
    group = steady_group(random)
    while len(group.streams) < MIN_PARTITIONS_OF_HOT:
        group = steady_group(random)
    factor = random.uniform(5, 20)
    hot = replace(group.streams[0], factor=factor, factor_from_s=-random.uniform(400, 800))
    group = replace(group, streams=(hot, *group.streams[1:]))
    load = hot.rate * factor + sum(group.streams[number].rate for number in group.readers[0].partitions[1:])
    return _change_reader(group, 0, capacity=random.uniform(0.4, 0.7) * load)


def _too_little_capacity(random: Random) -> Simulation:
    group = steady_group(random)
    begin_s, share = -random.uniform(500, 800), random.uniform(0.1, 0.75)
    for number, reader in enumerate(group.readers):
        load = sum(group.streams[partition].rate for partition in reader.partitions)
        group = _change_reader(group, number, slow_from_s=begin_s, slow_capacity=share * load)
    return group


def _producer_surge(random: Random) -> Simulation:
    return with_streams(steady_group(random), factor=random.uniform(4.5, 15), factor_from_s=-random.uniform(200, 800))


def _rewind(random: Random) -> Simulation:
    return replace(steady_group(random), reset_s=random.uniform(7, 13))


def _new_partitions(random: Random) -> Simulation:
    return replace(steady_group(random), partitions_added_s=random.uniform(-5, 19))


INCIDENTS: Final[Mapping[str, Shape]] = MappingProxyType(
    {
        "all_stopped": _all_stopped,
        "stuck_partition": _stuck_partition,
        "slow_member": _slow_member,
        "hot_partition": _hot_partition,
        "too_little_capacity": _too_little_capacity,
        "producer_surge": _producer_surge,
        "rewind": _rewind,
        "new_partitions": _new_partitions,
    }
)


def _steady(random: Random) -> Simulation:
    return steady_group(random, commits_s=(1, 5, 15, 60))


def _daily_wave(random: Random) -> Simulation:
    group = with_streams(_steady(random), wave=random.uniform(0.3, 0.9), phase=random.uniform(0, 6.28))
    return with_readers(group, capacity=1.2 * 2.2 * max(reader.capacity for reader in group.readers))


def _burst(random: Random) -> Simulation:
    """Return producers that write in bursts, which members read at a third of the speed."""
    period_s, share = random.uniform(15, 120), random.uniform(0.1, 0.5)
    phase = random.uniform(0, 1000)
    return with_streams(_steady(random), burst_period_s=period_s, burst_share=share, phase=phase)


def _batch_reader(random: Random) -> Simulation:
    period_s = random.uniform(10, 120)
    phase = random.uniform(0, 1000)
    group = steady_group(random)
    capacity = 40 * max(reader.capacity for reader in group.readers)
    length_s = max(2.0, 0.1 * period_s)
    return with_readers(group, capacity=capacity, commit_s=1, reads=lambda at_s: (at_s + phase) % period_s < length_s)


def _rolling_restart(random: Random) -> Simulation:
    return replace(_steady(random), restart_s=random.uniform(-20, 25))


def _marker(random: Random) -> Simulation:
    group = with_streams(_steady(random), ends_s=-random.uniform(100, 800))
    return replace(group, markers=random.randint(1, 2))


def _seldom(random: Random) -> Simulation:
    return with_streams(_steady(random), rate=random.uniform(0.005, 0.2))


def _recovery(random: Random) -> Simulation:
    """Return a group that was down for minutes, and reads faster than producers write since then."""
    begin_s, end_s = -random.uniform(400, 800), -random.uniform(10, 120)
    group = with_readers(steady_group(random), reads=lambda at_s: not begin_s < at_s < end_s)
    load = max(sum(group.streams[number].rate for number in reader.partitions) for reader in group.readers)
    return with_readers(group, capacity=random.uniform(1.15, 4) * load)


def _turns(random: Random) -> Simulation:
    """Return members that read their partitions one after the other."""
    group = _steady(random)
    capacity = 8 * max(reader.capacity for reader in group.readers)
    return with_readers(group, capacity=capacity, turn_s=random.uniform(3, 15), commit_s=random.choice((1, 10)))


def _uneven(random: Random) -> Simulation:
    group = steady_group(random)
    hot = replace(group.streams[0], rate=8 * group.streams[0].rate)
    return with_readers(
        replace(group, streams=(hot, *group.streams[1:])), capacity=20 * max(each.capacity for each in group.readers)
    )


def _new_topic(random: Random) -> Simulation:
    return with_streams(_steady(random), first_s=-random.uniform(30, 800))


HEALTHY: Final[Mapping[str, Shape]] = MappingProxyType(
    {
        "steady": _steady,
        "daily wave": _daily_wave,
        "bursts": _burst,
        "batch reader": _batch_reader,
        "rolling restart": _rolling_restart,
        "transaction markers": _marker,
        "few records": _seldom,
        "recovery": _recovery,
        "partitions in turn": _turns,
        "uneven partitions": _uneven,
        "new topic": _new_topic,
    }
)


def _seldom_batch(random: Random) -> Simulation:
    period_s, phase = random.uniform(250, 800), random.uniform(0, 1000)
    group = steady_group(random)
    capacity = 100 * max(reader.capacity for reader in group.readers)
    return with_readers(group, capacity=capacity, commit_s=1, reads=lambda at_s: (at_s + phase) % period_s < 20)


def _seldom_commit(random: Random) -> Simulation:
    return with_readers(_recovery(random), commit_s=60, phase=random.uniform(0, 60))


# Polls of 30 s cannot tell these from a stop. They are healthy.
LONG_PAUSES: Final[Mapping[str, Shape]] = MappingProxyType(
    {"batch reader with a pause of minutes": _seldom_batch, "recovery with a commit each minute": _seldom_commit}
)
