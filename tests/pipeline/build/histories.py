"""Seeded random histories: what ingest, sample and backfill could have read of a cluster over some days.

Facts lie in stretches of half an hour, some of them across midnight. A seed decides what happens in them: commits,
samples of one or two samplers, removals, rewinds, recreated and truncated topics, a backfill, records read twice.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from kafka_groups.pipeline.tables import OFFSETS_TOPIC

Row = dict[str, Any]
Facts = dict[str, list[Row]]
FIRST: Final = datetime(2026, 11, 18, tzinfo=UTC)
_STRETCH_S: Final = 2_400
_LARGEST: Final = 2**63 - 1


@dataclass
class _Log:
    """A partition of a topic: how many records a second are written, and what was."""

    topic: str
    partition: int
    rate: float
    end: float = 0.0
    start: int = 0
    topic_id: str | None = None
    at_s: float = 0.0
    written: list[tuple[float, int]] = field(default_factory=list)

    def move_to(self, seconds: float) -> int:
        self.end += max(0.0, seconds - self.at_s) * self.rate
        self.at_s = max(self.at_s, seconds)
        self.written.append((seconds, int(self.end)))
        return int(self.end)


@dataclass
class _Reader:
    """A group on a partition: how fast it reads, and what it committed last."""

    group: str
    log: _Log
    interval_s: float
    share: float
    is_recorded: bool
    offset: int | None = None
    is_away: bool = False


class History:
    """The facts of one cluster, named after the seed."""

    def __init__(self, seed: int, *, days: int = 3, has_absurd_commits: bool = False) -> None:
        self._has_absurd_commits = has_absurd_commits
        self._random = random.Random(seed)
        # A generator of its own, so that the rest of a history is the same with and without members.
        self._random_members = random.Random(seed)
        self._cluster = f"seed-{seed:04}"
        self._next_source = 0
        self.facts: Facts = {"offset_commits": [], "partition_offsets": [], "group_events": []}
        self._is_sampled = self._random.random() < 0.9
        self._is_recorded = self._random.random() < 0.8
        self._logs = [
            _Log(f"topic-{number}", partition, self._random.choice((0.0, 0.2, 3.0, 40.0)), topic_id=f"id-{number}-0")
            for number in range(self._random.randint(1, 2))
            for partition in range(self._random.randint(1, 3))
        ]
        self._readers = [self._reader(number) for number in range(self._random.randint(1, 5))]
        for first_s in self._stretches(days):
            self._stretch(first_s)
        if self._random.random() < 0.3:
            self._backfill()
        self._read_again()

    def _reader(self, number: int) -> _Reader:
        chance = self._random
        group = f"group-{chance.randint(0, 2)}" if number else "group-0"
        interval_s = chance.choice((0.4, 5.0, 37.0, 300.0))
        return _Reader(
            group, chance.choice(self._logs), interval_s, chance.choice((1.0, 1.0, 0.9, 0.0)), self._is_recorded
        )

    def _stretches(self, days: int) -> list[float]:
        chance = self._random
        found = [chance.uniform(6, 20) * 3_600]
        found += [day * 86_400 - chance.uniform(300, 1_800) for day in range(1, days) if chance.random() < 0.8]
        found += [day * 86_400 + chance.uniform(3, 12) * 3_600 for day in range(1, days) if chance.random() < 0.5]
        return sorted(found)

    def _stretch(self, first_s: float) -> None:
        chance = self._random
        last_s = first_s + chance.uniform(0.3, 1.0) * _STRETCH_S
        moments: list[tuple[float, int, Any]] = []
        for reader in self._readers:
            seconds, limit = first_s + chance.random() * reader.interval_s, 0
            while seconds < last_s and limit < 80:
                moments.append((round(seconds, 3), 0, reader))
                seconds += reader.interval_s * chance.uniform(0.5, 1.5)
                limit += 1
        if self._is_sampled:
            for offset_s in (0.0, *((chance.uniform(0, 20),) if chance.random() < 0.2 else ())):
                interval_s = chance.choice((15, 60, 60, 300))
                seconds = first_s + offset_s
                while seconds < last_s:
                    moments.append((round(seconds, 3), 1, None))
                    seconds += interval_s
        for seconds, kind, reader in sorted(moments, key=lambda moment: moment[:2]):
            if kind:
                self._sample(seconds)
            else:
                self._commit(reader, seconds)

    def _commit(self, reader: _Reader, seconds: float) -> None:
        chance = self._random.random()
        end = reader.log.move_to(seconds)
        if chance < 0.004:
            self._happen_to(reader.log)
        offset = self._next_offset(reader, end, chance)
        if offset is None and reader.offset is None:
            return
        reader.offset = offset
        reader.is_away = offset is None and not reader.is_recorded
        if reader.is_recorded:
            self._next_source += self._random.randint(1, 3)
            self.facts["offset_commits"].append(
                self._row(seconds, "topic", reader, offset)
                | {"source_offset": self._next_source, "source_partition": 0}
            )

    def _next_offset(self, reader: _Reader, end: int, chance: float) -> int | None:
        if chance > 0.99:
            return None
        if chance > 0.985:
            return max(0, int(end * self._random.random()))
        if chance > 0.983:
            absurd = self._random.choice((0, _LARGEST))
            return absurd if self._has_absurd_commits else end
        if reader.share == 0.0:
            return reader.offset if reader.offset is not None else end // 2
        behind = int((end - (reader.offset or 0)) * (1 - reader.share))
        return max(0, end - max(0, behind) - self._random.choice((0, 0, 1, 3)))

    def _happen_to(self, log: _Log) -> None:
        same = [each for each in self._logs if each.topic == log.topic]
        if self._random.random() < 0.5:  # the topic is recreated
            for each in same:
                each.end, each.start = 0.0, 0
                each.topic_id = f"{each.topic_id}+"
        else:
            log.end, log.start = log.end * self._random.random(), 0

    def _row(self, seconds: float, origin: str, reader: _Reader, offset: int | None) -> Row:
        at = FIRST + timedelta(seconds=seconds)
        return {
            "cluster_id": self._cluster,
            "origin": origin,
            "source_partition": None,
            "source_offset": None,
            "record_time": at,
            "commit_time": at,
            "group": reader.group,
            "topic": reader.log.topic,
            "partition": reader.log.partition,
            "committed_offset": offset,
            "is_tombstone": offset is None,
        }

    def _sample(self, seconds: float) -> None:
        chance = self._random
        asked_s = seconds + chance.uniform(0.0, 0.2)
        for reader in {(each.group, id(each.log)): each for each in self._readers}.values():
            offsets = [each.offset for each in self._readers if each.group == reader.group and each.log is reader.log]
            if offsets[-1] is not None and chance.random() > 0.02:
                row = self._row(round(asked_s, 3), "sample", reader, offsets[-1])
                member_count = self._random_members.choice((None, 0, 2, 2, 2))
                self.facts["offset_commits"].append(row | {"member_count": member_count})
        self._list_groups(round(asked_s, 3))
        at = FIRST + timedelta(seconds=round(asked_s + 0.3, 3))
        for log in self._logs:
            end = log.move_to(seconds + 0.3) + chance.choice((0, 0, 0, -1))
            if chance.random() < 0.02 and log.rate:
                log.start = max(log.start, int(log.end * chance.random()))
            is_known = chance.random() > 0.02
            self.facts["partition_offsets"].append(
                {
                    "cluster_id": self._cluster,
                    "origin": "sample",
                    "topic": log.topic,
                    "partition": log.partition,
                    "topic_id": log.topic_id,
                    "observed_at": at,
                    "log_start_offset": log.start if is_known else None,
                    "log_end_offset": max(end, log.start) if is_known else None,
                    "last_stable_offset": max(end, log.start) if is_known and chance.random() < 0.5 else None,
                    "lookup_offset": None,
                    "lookup_timestamp": None,
                }
            )
        self._sample_coordinator(at)

    def _sample_coordinator(self, at: datetime) -> None:
        row: Row = {"cluster_id": self._cluster, "origin": "sample", "topic": OFFSETS_TOPIC, "partition": 0}
        end = None if self._random.random() < 0.05 else self._next_source
        row |= {"observed_at": at, "log_start_offset": 0, "log_end_offset": end, "last_stable_offset": None}
        self.facts["partition_offsets"].append(
            row | {"topic_id": None, "lookup_offset": None, "lookup_timestamp": None}
        )

    def _list_groups(self, seconds: float) -> None:
        for group in sorted({each.group for each in self._readers}):
            if self._random.random() < 0.03 or all(
                each.offset is None for each in self._readers if each.group == group
            ):
                continue
            at = FIRST + timedelta(seconds=seconds)
            row: Row = {"cluster_id": self._cluster, "origin": "sample", "group": group, "record_time": at}
            row |= {"record_name": "Snapshot", "event_type": "state_seen", "is_tombstone": False}
            members = [{"member_id": "m-1"}] if self._random.random() < 0.5 else None
            state = "Stable" if members else self._random.choice(("Empty", "Stable"))
            self.facts["group_events"].append(row | {"state": state, "members": members, "group_type": "Classic"})

    def _backfill(self) -> None:
        for log in self._logs:
            known = sorted(set(log.written))
            for seconds, end in known[:: max(1, len(known) // 30)]:
                at = FIRST + timedelta(seconds=seconds // 60 * 60)
                later = FIRST + timedelta(seconds=round(seconds + self._random.random(), 3))
                has_point = self._random.random() < 0.7
                self.facts["partition_offsets"].append(
                    {
                        "cluster_id": self._cluster,
                        "origin": "backfill",
                        "topic": log.topic,
                        "partition": log.partition,
                        "topic_id": log.topic_id,
                        "observed_at": at,
                        "log_start_offset": None,
                        "log_end_offset": end,
                        "last_stable_offset": None,
                        "lookup_offset": end if has_point else None,
                        "lookup_timestamp": later if has_point else None,
                    }
                )

    def _read_again(self) -> None:
        rows = [row for row in self.facts["offset_commits"] if row["origin"] == "topic"]
        self.facts["offset_commits"] += self._random.sample(rows, len(rows) // 10)


def histories(first: int, count: int, *, days: int = 3) -> Iterator[History]:
    """Yield this number of histories, by seed."""
    for seed in range(first, first + count):
        yield History(seed, days=days)


def joined(found: Iterator[History]) -> Facts:
    """Return the facts of all histories together."""
    facts: Facts = {"offset_commits": [], "partition_offsets": [], "group_events": []}
    for history in found:
        for name, rows in history.facts.items():
            facts[name] += rows
    return facts
