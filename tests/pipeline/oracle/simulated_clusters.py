"""Seeded simulations of a small cluster over two to four days.

Things happen in periods of some 40 minutes, some of them across midnight; in between nothing is produced. Events lie
in the first 300 ms of a second and samples in its second half, so that nothing happens during a sample.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Final

from tests.pipeline.oracle.simulated_facts import SimulatedCluster
from tests.pipeline.oracle.simulated_groups import Group, Reader, choose_offset
from tests.pipeline.oracle.simulated_logs import DAY_MS, Broker, OffsetsPartition

MINUTE_MS: Final = 60_000
_KINDS: Final = ("classic", "classic", "consumer", "consumer", "admin")


class Simulation:
    """A seeded run of events in the order of true time, which fills `cluster`."""

    def __init__(self, seed: int) -> None:
        """Simulate a random cluster from its creation to its last ingest."""
        self.chance = Random(seed)
        self.agenda: list[tuple[float, int, Callable[[float], None]]] = []
        chance = self.chance
        brokers = [Broker(number) for number in range(3)]
        if seed % 2:
            brokers[1].clock_ahead_ms = chance.choice((10_000, 25_000, 60_000))
            brokers[2].clock_ahead_ms = chance.choice((0, 0, 400, 5_000))
        offsets = [OffsetsPartition(number, brokers[number % 3]) for number in range(4)]
        self.cluster = SimulatedCluster(seed, brokers, offsets)
        self.is_compacted = seed % 3 == 1
        self.days = chance.randint(2, 4)
        self._add_topics()
        self._add_groups()
        self.periods = self._periods()
        for first_s, last_s in self.periods:
            self._fill(first_s, last_s)
        self._run()
        end_ms = self.periods[-1][1] * 1_000 + 700
        if chance.random() < 0.8:
            self.cluster.ingest(end_ms)
            self.cluster.is_fully_read = not self.cluster.is_lossy

    def at(self, seconds: float, action: Callable[[float], None]) -> None:
        """Add an action to the agenda, in that second."""
        ms = int(seconds) * 1_000 + self.chance.randint(0, 290)
        heapq.heappush(self.agenda, (ms, len(self.agenda) + int(self.chance.random() * 1e9), action))

    def _run(self) -> None:
        while self.agenda:
            ms, _, action = heapq.heappop(self.agenda)
            action(ms)

    def _add_topics(self) -> None:
        for topic in range(self.chance.randint(1, 3)):
            for number in range(self.chance.randint(1, 3)):
                self.cluster.new_log(f"topic-{topic}", number, 0.0, self.chance.randrange(3))

    def _add_groups(self) -> None:
        chance, cluster = self.chance, self.cluster
        for number in range(chance.randint(2, 5)):
            group = cluster.new_group(f"group-{number}", chance.choice(_KINDS))
            for log in chance.sample(cluster.logs, chance.randint(1, min(3, len(cluster.logs)))):
                share = chance.choice((1.0, 1.0, 0.9, 0.0))
                group.readers.append(Reader(log, chance.choice((20_000, 40_000, 150_000)), share))

    def _periods(self) -> list[tuple[int, int]]:
        chance = self.chance
        starts = [int(chance.uniform(6, 20) * 3_600)]
        starts += [day * 86_400 - chance.randint(300, 1_800) for day in range(1, self.days) if chance.random() < 0.8]
        starts += [
            day * 86_400 + int(chance.uniform(3, 12) * 3_600) for day in range(1, self.days) if chance.random() < 0.5
        ]
        return [(start, start + chance.randint(1_200, 2_400)) for start in sorted(starts)]

    def _fill(self, first_s: int, last_s: int) -> None:
        """Add random numbers of events to a period, at random times."""
        for log in self.cluster.logs:
            rate = self.chance.choice((0.0, 0.2, 3.0, 40.0))
            self.at(first_s, partial(log.set_rate, rate=rate))
            self.at(last_s, partial(log.set_rate, rate=0.0))
        for group in self.cluster.groups:
            for reader in group.readers:
                starts_s = first_s + self.chance.random() * reader.interval_ms / 1_000
                self._plan_commits(group, reader, starts_s, last_s)
            if group.kind != "admin":
                self._plan(self.chance.randint(1, 5), partial(self._change, group), first_s, last_s - 60)
        self._plan_samples(first_s, last_s)
        self._plan(self.chance.randint(0, 2), self._ingest, first_s, last_s)
        self._plan(self.chance.randint(0, 3), self._move_coordinator, first_s, last_s)
        self._plan(self.chance.randint(0, 2), self._abort, first_s, last_s)
        self._plan(int(self.chance.random() < 0.3), self._change_topic, first_s, last_s)
        midnight_s = (first_s // 86_400 + 1) * 86_400
        if midnight_s < last_s:
            self._fill_midnight(midnight_s)
        if self.chance.random() < 0.3:
            from_ms = self.chance.uniform(first_s, last_s) * 1_000
            broker = self.chance.choice(self.cluster.brokers)
            broker.silences.append((from_ms, from_ms + self.chance.choice((3, 8, 15, 25)) * MINUTE_MS))

    def _fill_midnight(self, midnight_s: int) -> None:
        """Let coordinators move to broker 1 and to broker 0 around midnight, and groups change several times."""
        ahead, right = self.cluster.brokers[1], self.cluster.brokers[0]
        for partition in self.cluster.offsets:
            self._plan(1, partial(partition.move_to, broker=ahead), midnight_s - 90, midnight_s - 20)
            self._plan(1, partial(partition.move_to, broker=right), midnight_s - 20, midnight_s + 60)
        for group in self.cluster.groups:
            if group.kind != "admin":
                self._plan(4, partial(self._change, group), midnight_s - 60, midnight_s + 60)

    def _plan(self, count: int, action: Callable[[float], None], first_s: float, last_s: float) -> None:
        """Let an action happen `count` times at random times of a span."""
        for _ in range(count):
            self.at(self.chance.uniform(first_s, last_s), action)

    def _plan_commits(self, group: Group, reader: Reader, first_s: float, last_s: int) -> None:
        seconds = first_s
        stops_s = last_s if self.chance.random() > 0.15 else self.chance.uniform(first_s, last_s)
        while seconds < stops_s:
            self.at(seconds, partial(self._commit, group, reader))
            seconds += reader.interval_ms / 1_000 * self.chance.uniform(0.5, 1.5)

    def _plan_samples(self, first_s: int, last_s: int) -> None:
        interval = self.chance.choice((30, 60, 60, 300))
        pause_s = self.chance.uniform(first_s, last_s) if self.chance.random() < 0.2 else None
        for seconds in range(first_s + 5, last_s, interval):
            if pause_s is None or not pause_s <= seconds < pause_s + 900:
                ms = seconds * 1_000 + 500
                heapq.heappush(self.agenda, (ms, len(self.agenda) + int(1e10), self.cluster.sample))

    def _commit(self, group: Group, reader: Reader, ms: float) -> None:
        offset = choose_offset(self.chance, reader, ms)
        if group.kind != "admin" and not group.members:
            return
        if offset is not None:
            group.commit(ms, reader, offset)

    def _ingest(self, ms: float) -> None:
        if self.is_compacted:
            for partition in self.cluster.offsets:
                until = partition.next_offset - self.chance.randint(0, 20)
                partition.compact(ms, until=until, tombstone_age_ms=self.chance.choice((0, DAY_MS)))
        self.cluster.ingest(ms + 10)

    def _abort(self, _ms: float) -> None:
        self.chance.choice(self.cluster.offsets).abort(self.chance.randint(1, 5))

    def _move_coordinator(self, ms: float) -> None:
        partition = self.chance.choice(self.cluster.offsets)
        partition.move_to(ms, self.chance.choice(self.cluster.brokers))

    def _change_topic(self, ms: float) -> None:
        """Recreate a topic, which removes its commits, or truncate one of its partitions."""
        log = self.chance.choice(self.cluster.logs)
        if self.chance.random() < 0.4:
            log.truncate(ms, int(log.end_at(ms) * self.chance.uniform(0.5, 1)))
            return
        self.cluster.recreations.append((ms, log.topic))
        topic_id = f"{log.topic_id}+"
        for group in self.cluster.groups:
            for reader in group.readers:
                if reader.log.topic == log.topic and reader.committed is not None:
                    group.commit(ms, reader, None)
        for other in self.cluster.logs:
            if other.topic == log.topic:
                other.recreate(ms, topic_id)

    def _change(self, group: Group, ms: float) -> None:
        """Let a member join or leave, upgrade the group, or delete it where it has no members."""
        chance = self.chance
        if group.kind == "classic":
            self._change_classic(group, ms)
        elif not group.members and group.exists and chance.random() < 0.3:
            group.delete(ms)
        else:
            if group.members and chance.random() < 0.4:
                group.leave(ms, chance.choice(group.members))
            else:
                group.join(ms, group.new_member())
            self._plan_reaching(group, ms)

    def _plan_reaching(self, group: Group, ms: float) -> None:
        epoch = group.generation
        for name in list(group.members):
            if self.chance.random() < 0.9:
                seconds = ms / 1_000 + self.chance.choice((1, 2, 5, 30, 90))
                self.at(seconds, partial(group.reach, name=name, epoch=epoch))

    def _change_classic(self, group: Group, ms: float) -> None:
        chance = self.chance
        if any(first <= ms < last for first, last in group.joins):
            return
        if not group.members and group.exists and chance.random() < 0.3:
            group.delete(ms)
        elif group.members and chance.random() < 0.15:
            group.upgrade(ms)
            self._plan_reaching(group, ms)
        else:
            members = [*group.members]
            if members and chance.random() < 0.4:
                members.remove(chance.choice(members))
            else:
                members.append(group.new_member())
            lasts_s = chance.choice((1, 3, 20))
            group.joins.append((ms, ms + lasts_s * 1_000))
            self.at(ms / 1_000 + lasts_s, partial(self._end_join, group, ms, members))

    def _end_join(self, group: Group, asked_ms: float, members: list[str], ms: float) -> None:
        """End the rebalance of a classic group that began at `asked_ms`, unless the group was upgraded since."""
        if group.kind == "classic":
            group.write_generation(asked_ms, ms, members)


def simulate_cluster(seed: int) -> SimulatedCluster:
    """Return the cluster of a seed."""
    return Simulation(seed).cluster
