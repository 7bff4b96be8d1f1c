"""Seeded simulations of a small cluster over two to four days: the facts that the pipeline reads of it, and the truth.

Things happen in stretches of some 40 minutes, some of them across midnight; in between nothing is produced. Events lie
in the first 300 ms of a second and samples in its second half, so that nothing happens during a sample.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final

from kafka_groups.pipeline.tables import OFFSETS_TOPIC
from tests.pipeline.oracle.world_groups import Group, Reader, choose_offset
from tests.pipeline.oracle.world_logs import (
    DAY_MS,
    Broker,
    DataPartition,
    OffsetsPartition,
    Row,
    Segment,
    coordinator_partition,
    moment,
)

Facts = dict[str, list[Row]]
MINUTE_MS: Final = 60_000
_KINDS: Final = ("classic", "consumer", "consumer", "admin")


@dataclass
class World:
    """A cluster, what was read of it in `facts` (rows by table), and what happened in its logs and groups.

    `is_lossy`: an ingest found records compacted. `is_fully_read`: ingests read every record that was written.
    `samples_ms` are the times of log end offsets, `recreations` those of topics with their names.
    """

    seed: int
    brokers: list[Broker]
    offsets: list[OffsetsPartition]
    logs: list[DataPartition] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    facts: Facts = field(default_factory=lambda: defaultdict(list))
    samples_ms: list[float] = field(default_factory=list)
    ingests_ms: list[float] = field(default_factory=list)
    is_lossy: bool = False
    is_fully_read: bool = False
    recreations: list[tuple[float, str]] = field(default_factory=list)

    @property
    def has_skew(self) -> bool:
        """Return whether the clocks of brokers differ."""
        return any(broker.clock_ahead_ms for broker in self.brokers)

    @property
    def skew_ms(self) -> int:
        """Return how far the fastest clock is ahead of the sampler's."""
        return max(broker.clock_ahead_ms for broker in self.brokers)

    def new_group(self, name: str, kind: str) -> Group:
        """Add a group, whose coordinator follows from its name."""
        place = coordinator_partition(name, len(self.offsets))
        group = Group(name, kind, self.offsets[place], [])
        self.groups.append(group)
        return group

    def new_log(self, topic: str, number: int, rate: float, broker: int = 0) -> DataPartition:
        """Add a partition of a topic, which begins with 100 records at time 0."""
        segment = Segment(0, 0, 0.0, f"{topic}-id-0")
        log = DataPartition(topic, number, self.brokers[broker], [segment])
        log.segments[-1] = Segment(0, 0, rate, f"{topic}-id-0")
        self.logs.append(log)
        return log

    def ingest(self, ms: float) -> None:
        """Read the records of all partitions of `__consumer_offsets` that were not read yet."""
        self.ingests_ms.append(ms)
        for partition in self.offsets:
            first = partition.read_until
            records = partition.read()
            for record in records:
                self.facts[record.table].append(record.row)
            kept = {record.offset for record in records}
            lost = [record for record in partition.written if record.offset >= first and record.offset not in kept]
            self.is_lossy = self.is_lossy or bool(lost)
            for from_offset, until_offset in partition.gaps(records, first):
                self.facts["ingest_gaps"].append(
                    {
                        "cluster_id": "c",
                        "source_partition": partition.number,
                        "from_offset": from_offset,
                        "until_offset": until_offset,
                        "missing": until_offset - from_offset + 1,
                        "reason": "compacted",
                        "found_at": moment(ms),
                    }
                )

    def sample(self, ms: float) -> None:
        """Sample groups, commits 50 ms later, and log ends 100 ms later, of the brokers that can be reached."""
        self.samples_ms.append(ms + 100)
        shared: Row = {"cluster_id": "c", "origin": "sample", "tombstone": False}
        failures = 0
        sizes = {name: len(self.facts[name]) for name in ("group_events", "offset_commits", "partition_offsets")}
        for group in self.groups:
            if group.coordinator.leader.is_silent(ms):
                failures += 1
            elif group.exists:
                self.facts["group_events"].append(shared | {"record_time": moment(ms)} | self._describe(group, ms))
                for reader in group.readers:
                    if reader.committed is not None:
                        self.facts["offset_commits"].append(shared | self._sampled_commit(group, reader, ms + 50))
        for log in self.logs:
            failures += log.leader.is_silent(ms)
            self.facts["partition_offsets"].append(self._sampled_end(log, ms + 100))
        self._sample_coordinators(ms)
        written = {name: len(self.facts[name]) - size for name, size in sizes.items()}
        self.facts["sample_runs"].append(
            {
                "cluster_id": "c",
                "sample": f"sample-{len(self.samples_ms)}",
                "groups_at": moment(ms),
                "commits_at": moment(ms + 50),
                "sampled_at": moment(ms + 100),
                "groups": written["group_events"],
                "commits": written["offset_commits"],
                "partitions": written["partition_offsets"],
                "failures": failures,
            }
        )

    def _describe(self, group: Group, ms: float) -> Row:
        is_joining = any(first <= ms < last for first, last in group.joins)
        state = "PreparingRebalance" if is_joining else "Stable" if group.members else "Empty"
        members = [{"member_id": name} for name in group.members]
        kind = "Consumer" if group.kind == "consumer" else "Classic"
        row: Row = {"group": group.name, "type": "Snapshot", "event_type": "state_seen", "group_type": kind}
        return row | {"state": state, "members": members, "epoch": group.generation if kind == "Consumer" else None}

    def _sampled_commit(self, group: Group, reader: Reader, ms: float) -> Row:
        return {
            "record_time": moment(ms),
            "commit_time": moment(ms),
            "group": group.name,
            "topic": reader.log.topic,
            "partition": reader.log.number,
            "committed_offset": reader.committed,
        }

    def _sampled_end(self, log: DataPartition, ms: float) -> Row:
        is_known = not log.leader.is_silent(ms)
        end = log.end_at(ms) if is_known else None
        return {
            "cluster_id": "c",
            "origin": "sample",
            "topic": log.topic,
            "partition": log.number,
            "topic_id": log.topic_id,
            "observed_at": moment(ms),
            "log_start_offset": log.log_start if is_known else None,
            "log_end_offset": end,
            "last_stable_offset": end,
        }

    def _sample_coordinators(self, ms: float) -> None:
        """A silent broker leaves the partitions of `__consumer_offsets` that it leads without log ends."""
        for partition in self.offsets:
            end = None if partition.leader.is_silent(ms) else partition.next_offset
            self.facts["partition_offsets"].append(
                {
                    "cluster_id": "c",
                    "origin": "sample",
                    "topic": OFFSETS_TOPIC,
                    "partition": partition.number,
                    "topic_id": "offsets-id",
                    "observed_at": moment(ms + 100),
                    "log_start_offset": None if end is None else 0,
                    "log_end_offset": end,
                    "last_stable_offset": end,
                }
            )


class Simulation:
    """A seeded run of events in the order of true time, which fills `world`."""

    def __init__(self, seed: int) -> None:
        """Draw a cluster and let it live."""
        self.chance = Random(seed)
        self.agenda: list[tuple[float, int, Callable[[float], None]]] = []
        chance = self.chance
        brokers = [Broker(number) for number in range(3)]
        if seed % 2:
            brokers[1].clock_ahead_ms = chance.choice((10_000, 25_000, 60_000))
            brokers[2].clock_ahead_ms = chance.choice((0, 0, 400, 5_000))
        offsets = [OffsetsPartition(number, brokers[number % 3]) for number in range(4)]
        self.world = World(seed, brokers, offsets)
        self.is_compacted = seed % 3 == 1
        self.days = chance.randint(2, 4)
        self._add_topics()
        self._add_groups()
        self.stretches = self._stretches()
        for first_s, last_s in self.stretches:
            self._fill(first_s, last_s)
        self._run()
        end_ms = self.stretches[-1][1] * 1_000 + 700
        if chance.random() < 0.8:
            self.world.ingest(end_ms)
            self.world.is_fully_read = not self.world.is_lossy

    def at(self, seconds: float, action: Callable[[float], None]) -> None:
        """Let something happen in that second."""
        ms = int(seconds) * 1_000 + self.chance.randint(0, 290)
        heapq.heappush(self.agenda, (ms, len(self.agenda) + int(self.chance.random() * 1e9), action))

    def _run(self) -> None:
        while self.agenda:
            ms, _, action = heapq.heappop(self.agenda)
            action(ms)

    def _add_topics(self) -> None:
        for topic in range(self.chance.randint(1, 3)):
            for number in range(self.chance.randint(1, 3)):
                self.world.new_log(f"topic-{topic}", number, 0.0, self.chance.randrange(3))

    def _add_groups(self) -> None:
        chance, world = self.chance, self.world
        for number in range(chance.randint(2, 5)):
            group = world.new_group(f"group-{number}", chance.choice(_KINDS))
            for log in chance.sample(world.logs, chance.randint(1, min(3, len(world.logs)))):
                share = chance.choice((1.0, 1.0, 0.9, 0.0))
                group.readers.append(Reader(log, chance.choice((20_000, 40_000, 150_000)), share))

    def _stretches(self) -> list[tuple[int, int]]:
        chance = self.chance
        starts = [int(chance.uniform(6, 20) * 3_600)]
        starts += [day * 86_400 - chance.randint(300, 1_800) for day in range(1, self.days) if chance.random() < 0.8]
        starts += [
            day * 86_400 + int(chance.uniform(3, 12) * 3_600) for day in range(1, self.days) if chance.random() < 0.5
        ]
        return [(start, start + chance.randint(1_200, 2_400)) for start in sorted(starts)]

    def _fill(self, first_s: int, last_s: int) -> None:
        """Plan what happens in a stretch; actions plan the next ones of their kind themselves."""
        chance, world = self.chance, self.world
        for log in world.logs:
            rate = chance.choice((0.0, 0.2, 3.0, 40.0))
            self.at(first_s, lambda ms, log=log, rate=rate: log.set_rate(ms, rate))
            self.at(last_s, lambda ms, log=log: log.set_rate(ms, 0.0))
        for group in world.groups:
            for reader in group.readers:
                self._plan_commits(group, reader, first_s + chance.random() * reader.interval_ms / 1_000, last_s)
            if group.kind != "admin":
                for _ in range(chance.randint(1, 5)):
                    self.at(chance.uniform(first_s, last_s - 60), lambda ms, group=group: self._change(group, ms))
        self._plan_samples(first_s, last_s)
        for _ in range(chance.randint(0, 2)):
            self.at(chance.uniform(first_s, last_s), self._ingest)
        for _ in range(chance.randint(0, 3)):
            self.at(chance.uniform(first_s, last_s), self._move_coordinator)
        for _ in range(chance.randint(0, 2)):
            self.at(chance.uniform(first_s, last_s), lambda ms: chance.choice(world.offsets).abort(chance.randint(1, 5)))
        if chance.random() < 0.3:
            self.at(chance.uniform(first_s, last_s), self._change_topic)
        if chance.random() < 0.3:
            from_ms = chance.uniform(first_s, last_s) * 1_000
            broker = chance.choice(world.brokers)
            broker.silences.append((from_ms, from_ms + chance.choice((3, 8, 15, 25)) * MINUTE_MS))

    def _plan_commits(self, group: Group, reader: Reader, first_s: float, last_s: int) -> None:
        seconds = first_s
        stops_s = last_s if self.chance.random() > 0.15 else self.chance.uniform(first_s, last_s)
        while seconds < stops_s:
            self.at(seconds, lambda ms: self._commit(group, reader, ms))
            seconds += reader.interval_ms / 1_000 * self.chance.uniform(0.5, 1.5)

    def _plan_samples(self, first_s: int, last_s: int) -> None:
        interval = self.chance.choice((30, 60, 60, 300))
        pause_s = self.chance.uniform(first_s, last_s) if self.chance.random() < 0.2 else None
        for seconds in range(first_s + 5, last_s, interval):
            if pause_s is None or not pause_s <= seconds < pause_s + 900:
                ms = seconds * 1_000 + 500
                heapq.heappush(self.agenda, (ms, len(self.agenda) + int(1e10), self.world.sample))

    def _commit(self, group: Group, reader: Reader, ms: float) -> None:
        offset = choose_offset(self.chance, reader, ms)
        if group.kind != "admin" and not group.members:
            return
        if offset is not None:
            group.commit(ms, reader, offset)

    def _ingest(self, ms: float) -> None:
        if self.is_compacted:
            for partition in self.world.offsets:
                until = partition.next_offset - self.chance.randint(0, 20)
                partition.compact(ms, until=until, tombstone_age_ms=self.chance.choice((0, DAY_MS)))
        self.world.ingest(ms + 10)

    def _move_coordinator(self, ms: float) -> None:
        partition = self.chance.choice(self.world.offsets)
        partition.move_to(ms, self.chance.choice(self.world.brokers))

    def _change_topic(self, ms: float) -> None:
        """Recreate a topic, which removes its commits, or truncate one of its partitions."""
        log = self.chance.choice(self.world.logs)
        if self.chance.random() < 0.4:
            log.truncate(ms, int(log.end_at(ms) * self.chance.uniform(0.5, 1)))
            return
        self.world.recreations.append((ms, log.topic))
        topic_id = f"{log.topic_id}+"
        for group in self.world.groups:
            for reader in group.readers:
                if reader.log.topic == log.topic and reader.committed is not None:
                    group.commit(ms, reader, None)
        for other in self.world.logs:
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
                self.at(seconds, lambda at_ms, name=name: group.reach(at_ms, name, epoch))

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
            # The span is in the past when the generation is written: nothing else changes the group until then.
            self.at(
                ms / 1_000 + lasts_s,
                lambda at_ms: group.kind == "classic" and group.write_generation(ms, at_ms, members),
            )


def make_world(seed: int) -> World:
    """Return the world of a seed."""
    return Simulation(seed).world
