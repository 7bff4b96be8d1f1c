"""A simulated cluster as the pipeline reads it: what its ingests and samples write, and what happened meanwhile."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from kafka_groups.pipeline.tables import OFFSETS_TOPIC
from tests.pipeline.oracle.simulated_groups import Group, Reader
from tests.pipeline.oracle.simulated_logs import (
    Broker,
    DataPartition,
    OffsetsPartition,
    Row,
    Segment,
    coordinator_partition,
    moment,
)

Facts = dict[str, list[Row]]


@dataclass
class SimulatedCluster:
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
        """Add a partition of a topic, to which `rate` records a second are written from time 0 on."""
        log = DataPartition(topic, number, self.brokers[broker], [Segment(0, 0, rate, f"{topic}-id-0")])
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
            for first_offset, last_offset in partition.gaps(records, first):
                self.facts["ingest_gaps"].append(
                    {
                        "cluster_id": "c",
                        "source_partition": partition.number,
                        "first_offset": first_offset,
                        "last_offset": last_offset,
                        "missing": last_offset - first_offset + 1,
                        "reason": "compacted",
                        "found_at": moment(ms),
                    }
                )

    def sample(self, ms: float) -> None:
        """Sample groups, commits 50 ms later, and log ends 100 ms later, of the brokers that can be reached."""
        self.samples_ms.append(ms + 100)
        shared: Row = {"cluster_id": "c", "origin": "sample", "is_tombstone": False}
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
        row: Row = {"group": group.name, "record_name": "Snapshot", "event_type": "state_seen", "group_type": kind}
        return row | {"state": state, "members": members, "epoch": group.generation if kind == "Consumer" else None}

    def _sampled_commit(self, group: Group, reader: Reader, ms: float) -> Row:
        return {
            "record_time": moment(ms),
            "commit_time": moment(ms),
            "group": group.name,
            "topic": reader.log.topic,
            "partition": reader.log.number,
            "committed_offset": reader.committed,
            "member_count": len(group.members),
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
        """Sample `__consumer_offsets`: the partitions of a silent broker have no log ends."""
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
