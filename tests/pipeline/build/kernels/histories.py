"""Seeded random histories of one group, as brokers write them: what a group does, and what is lost of its records."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from tests.pipeline.build.kernels.event_rows import Row, at, record, sample

DAYS = 4
DAY = 86_400
CONSUMER = "ConsumerGroup"


def history(seed: int) -> list[Row]:
    """Return the retained records of a group, and its samples."""
    rng = Random(seed)
    records = _Group(rng).run()
    if rng.random() < 0.5:
        records = compacted(rng, records, rng.randrange(len(records)))
    if rng.random() < 0.2:
        gap = rng.randrange(len(records))
        del records[gap : gap + rng.randrange(1, 12)]
    samples = _samples(rng) if rng.random() < 0.5 else []
    return [*records, *samples]


def compacted(rng: Random, records: Sequence[Row], until: int) -> list[Row]:
    """Return the newest record of each key before `until`, with some or none of the tombstones."""
    newest = {_key(row): index for index, row in enumerate(records[:until])}
    kept = [row for index, row in enumerate(records[:until]) if newest[_key(row)] == index]
    if rng.random() < 0.7:
        kept = [row for row in kept if not row["is_tombstone"]]
    return [*kept, *records[until:]]


def _key(row: Row) -> tuple[Any, ...]:
    return row["record_name"], row["member_id"], row["expression"]


def _samples(rng: Random) -> list[Row]:
    states = ("Stable", "Empty", "PreparingRebalance", "Reconciling", "Dead", None)
    found, seconds = [], rng.uniform(-DAY / 2, DAY)
    while seconds < DAYS * DAY:
        names = [f"s{n}" for n in range(rng.randrange(4))]
        found.append(sample(seconds, rng.choice(states), *(names if rng.random() < 0.7 else ())))
        seconds += rng.choice((60, 600, 20_000))
    return found


class _Group:
    """A group that lives through some of its kinds."""

    def __init__(self, rng: Random) -> None:
        self.rng, self.records = rng, list[Row]()
        self.seconds, self.offset, self.made = rng.uniform(-DAY / 2, DAY / 2), rng.randrange(1_000), 0
        self.members: dict[str, int] = {}
        self.epoch = 0

    def run(self) -> list[Row]:
        rng = self.rng
        kind = rng.choice((self.classic, self.consumer, self.consumer, self.modern))
        while self.seconds < DAYS * DAY:
            kind = kind() or rng.choice((self.classic, self.consumer, self.modern))
        return self.records

    def write(self, kind: str, event_type: str, /, **others: Any) -> None:
        self.offset += self.rng.choice((1, 1, 1, 7))
        self.records.append(record(self.seconds, event_type, kind, self.offset, **others))

    def wait(self, *seconds: float) -> None:
        self.seconds += self.rng.choice(seconds or (0.4, 3, 20, 70, 900, 9_000, 40_000, 100_000))

    def name(self) -> str:
        self.made += 1
        return f"m{self.made}"

    def classic(self) -> Any:
        rng, number = self.rng, max(self.epoch, 0)
        self.members = dict.fromkeys(self.members, 0)
        if rng.random() < 0.5 and not self.members:
            self.write("GroupMetadata", "group_emptied", epoch=0, members=[])
        for _ in range(rng.randrange(1, 9)):
            self.wait()
            number += rng.choice((1, 1, 1, 2))
            self.change_members()
            self.generation(number)
            if rng.random() < 0.2:
                self.wait(1, 50)
                self.generation(number)
        self.wait()
        if rng.random() < 0.2:
            return None
        moves = rng.random() < 0.5
        self.write("GroupMetadata", "group_removed", is_tombstone=True)
        self.epoch = 0
        if not moves:
            self.members = {}
            self.wait()
            return None
        self.wait(0, 0, 0, 30, 59.9, 61)
        for name in self.members:
            self.metadata(name)
        if self.members:
            self.bump()
        return self.consumer

    def generation(self, number: int) -> None:
        rng = self.rng
        timeout = rng.choice((60_000, 300_000, None))
        listed = [
            {
                "member_id": name,
                "rebalance_timeout_ms": timeout,
                "group_instance_id": rng.choice((None, None, None, None, "i")),
                "topics": ["t", name],
                "assignment": [{"topic": rng.choice(("t", "u", None)), "partitions": [0]}],
            }
            for name in self.members
        ]
        rng.shuffle(listed)
        event_type = "generation" if listed else "group_emptied"
        state_time = at(self.seconds - rng.choice((0.5, 0.001, 20, -1)))
        self.write("GroupMetadata", event_type, epoch=number, members=listed, state_time=state_time)
        self.epoch = number

    def change_members(self) -> None:
        if self.members and self.rng.random() < 0.5:
            self.members.pop(self.rng.choice(list(self.members)))
        if self.rng.random() < 0.7:
            self.members[self.name()] = 0

    def metadata(self, name: str, kind: str = CONSUMER) -> None:
        topics = self.rng.choice((["t"], ["t", "u"], []))
        self.write(f"{kind}MemberMetadata", "member_metadata", member_id=name, topics=topics)
        self.members.setdefault(name, 0)

    def leave(self, name: str, kind: str = CONSUMER) -> None:
        self.write(f"{kind}CurrentMemberAssignment", "member_assignment_removed", member_id=name, is_tombstone=True)
        self.write(f"{kind}MemberMetadata", "member_left", member_id=name, is_tombstone=True)
        self.members.pop(name)

    def bump(self, kind: str = CONSUMER) -> None:
        self.epoch += 1
        self.write(f"{kind}Metadata", "group_epoch", epoch=self.epoch)

    def reach(self, name: str, epoch: int, kind: str = CONSUMER, event_type: str = "member_assignment") -> None:
        fields = {"epoch": epoch, "previous_epoch": self.members[name], "member_id": name, "member_state": "STABLE"}
        self.write(f"{kind}CurrentMemberAssignment", event_type, **fields)
        self.members[name] = epoch

    def settle(self) -> None:
        """Record that some members reach the epoch, after a while."""
        for name in list(self.members):
            if self.rng.random() < 0.3:
                self.wait(0, 1, 5, 30)
                self.write(
                    "ConsumerGroupCurrentMemberAssignment",
                    "member_assignment",
                    epoch=self.epoch,
                    previous_epoch=self.members[name],
                    member_id=name,
                    member_state="UNREVOKED_PARTITIONS",
                )
            if self.rng.random() < 0.85:
                self.wait(0, 1, 5, 30, 30, 50_000 if self.rng.random() < 0.1 else 2)
                self.reach(name, self.epoch)

    def consumer(self) -> Any:
        rng = self.rng
        for _ in range(rng.randrange(1, 12)):
            rng.choice((self.join, self.join, self.part, self.retell, self.repeat, self.away, self.replace))()
            if rng.random() < 0.9:
                self.settle()
            self.wait()
        stay = rng.random() < 0.4
        for name in list(self.members):
            self.leave(name)
        kept = [f"m{n}" for n in range(max(1, self.made - 1), self.made + 1)]
        if not stay:
            self.bump()
            self.wait()
        self.write("ConsumerGroupMetadata", "group_removed", is_tombstone=True)
        if not stay:
            self.wait()
            self.epoch = 0
            return None
        self.wait(0, 0, 30, 61)
        self.members = dict.fromkeys(kept, 0)
        self.generation(self.epoch + 1)
        return self.classic

    def join(self) -> None:
        name = self.name()
        self.metadata(name)
        self.bump()
        if self.rng.random() < 0.8:
            self.reach(name, self.epoch if self.rng.random() < 0.7 else self.epoch - 1)

    def part(self) -> None:
        if self.members:
            self.leave(self.rng.choice(list(self.members)))
            self.bump()

    def retell(self) -> None:
        if self.members:
            self.metadata(self.rng.choice(list(self.members)))
            self.bump()
        expression = self.rng.choice(("a.*", "b.*"))
        removed = self.rng.random() < 0.4
        self.write(
            "ConsumerGroupRegularExpression",
            "regex_removed" if removed else "regex_resolved",
            expression=expression,
            topics=None if removed else [expression[0]],
            is_tombstone=removed,
        )

    def repeat(self) -> None:
        if self.epoch:
            self.write("ConsumerGroupMetadata", "group_epoch", epoch=self.epoch)
            for name in list(self.members)[:2]:
                self.reach(name, self.epoch)

    def away(self) -> None:
        if self.members:
            name = self.rng.choice(list(self.members))
            self.reach(name, -2, event_type="static_member_away")
            self.members[name] = self.epoch

    def replace(self) -> None:
        """Record that a static member starts again with another id; no epoch begins."""
        if self.members:
            self.leave(self.rng.choice(list(self.members)))
            name = self.name()
            self.metadata(name)
            self.reach(name, self.epoch)

    def modern(self) -> Any:
        kind = self.rng.choice(("ShareGroup", "StreamsGroup"))
        self.members, self.epoch = {}, 0
        for _ in range(self.rng.randrange(1, 6)):
            if self.members and self.rng.random() < 0.4:
                self.leave(self.rng.choice(list(self.members)), kind)
            else:
                self.metadata(self.name(), kind)
            self.bump(kind)
            if kind == "ShareGroup":
                self.write(f"{kind}StatePartitionMetadata", "share_partitions", topics=["shared"])
            for name in self.members:
                self.wait(0, 1)
                self.reach(name, self.epoch, kind)
            self.wait()
        for name in list(self.members):
            self.leave(name, kind)
        self.write(f"{kind}Metadata", "group_removed", is_tombstone=True)
        self.epoch = 0
        self.wait()
