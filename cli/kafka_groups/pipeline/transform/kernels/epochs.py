"""The epochs of KIP-848 groups: who joined and left with each, and who reached it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from kafka_groups.pipeline.transform.kernels.group_events import CLASSIC, CONSUMER, Record
from kafka_groups.pipeline.transform.kernels.memberships import Change, LifeDay

_OURS: Final = "ConsumerGroup"
# Marks divide a group's log into spans: what happened since the mark before belongs to the epoch that ends the span.
_EPOCH: Final = "epoch"
UPGRADE: Final = "upgrade"
_REMOVAL: Final = "removal"


class Span(NamedTuple):
    """What happened to members since the last epoch or removal, without those whom an online upgrade kept."""

    mark: str | None = None  # the last mark, which may be an upgrade
    kept: tuple[str, ...] | None = None  # after an upgrade: members of the classic group; None if they are not known
    epoch: int | None = None  # the last one of this life
    change: int = 0
    joined: tuple[str, ...] = ()
    left: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Epoch:
    """The first record of an epoch, and what followed until the next epoch or the end of the date."""

    life: LifeDay
    at: int  # its place among the records of the life on this date
    record: Record
    span: Span  # what happened before it
    change: int  # of the number of members, on this date and in this life
    joined_at: int | None  # the first join, as far as that
    arrivals: dict[str, int] = field(default_factory=dict)  # when members that were there before it reached it
    newcomers: set[str] = field(default_factory=set)  # members that joined after it


@dataclass(frozen=True, slots=True)
class EpochDay:
    """The epochs of a group on one date."""

    lives: Sequence[LifeDay]
    epochs: Sequence[Epoch]
    before_first: Sequence[Record]  # members that became STABLE before the date's first epoch, and joined earlier
    downgrades: dict[int, tuple[str, ...]]  # by place among the records of the date: members that left just before
    span: Span  # since the last epoch or removal of the date


def follow_epochs(lives: Sequence[LifeDay], span: Span, classic_members: tuple[str, ...] | None) -> EpochDay:
    """Return the epochs of a date; `classic_members` are those of the last record of the classic group, if any."""
    walk = _Walk(span, classic_members)
    for life in lives:
        walk.follow(life)
    return EpochDay(lives, walk.epochs, walk.before_first, walk.downgrades, walk.span())


class _Walk:
    def __init__(self, span: Span, classic_members: tuple[str, ...] | None) -> None:
        self.epochs: list[Epoch] = []
        self.before_first: list[Record] = []
        self.downgrades: dict[int, tuple[str, ...]] = {}
        self._mark, self._kept, self._epoch, self._change = span[:4]
        self._joined, self._left = set(span.joined), set(span.left)
        self._classic_members = classic_members
        self._newcomers: set[str] = set()

    def span(self) -> Span:
        joined, left = (tuple(sorted(names)) for names in (self._joined, self._left))
        return Span(self._mark, self._kept, self._epoch, self._change, joined, left)

    def follow(self, life: LifeDay) -> None:
        changes = {change.at: change for change in life.changes}
        total, joined_at = 0, None
        for at, record in enumerate(life.records):
            if (change := changes.get(at)) is not None:
                total += change.number
                if change.number > 0:
                    joined_at = record.time if joined_at is None else min(joined_at, record.time)
                self._count(change)
            if at in life.arrivals:
                self._arrive(life, record)
            elif record.type == CLASSIC:
                self._follow_classic(record)
            elif record.type == CONSUMER and record.event_type == "group_epoch" and record.epoch != self._epoch:
                self._newcomers = set()
                self.epochs.append(
                    Epoch(life, at, record, self.span(), total, joined_at, newcomers=self._newcomers),
                )
                self._begin(_EPOCH, record.epoch)
            elif record.type == CONSUMER and record.event_type == "group_removed":
                self.downgrades[life.start + at] = tuple(sorted(self._left))
                self._begin(_REMOVAL, None)
        if life.is_removed:
            # The next life may be a group of another kind.
            self._begin(self._mark, None, self._kept)

    def _begin(self, mark: str | None, epoch: int | None, kept: tuple[str, ...] | None = None) -> None:
        self._mark, self._kept, self._epoch, self._change = mark, kept, epoch, 0
        self._joined, self._left = set(), set()

    def _count(self, change: Change) -> None:
        name = change.record.member_id or ""
        if change.number > 0:
            self._newcomers.add(name)
        if not change.record.type.startswith(_OURS):
            return
        if change.number < 0:
            self._left.add(name)
        elif self._mark == UPGRADE and name in (self._kept or ()):
            return
        else:
            self._joined.add(name)
        self._change += change.number

    def _arrive(self, life: LifeDay, record: Record) -> None:
        name = record.member_id or ""
        # A member that joins with the next epoch is first STABLE, with no partitions, at the epoch before.
        if name in self._newcomers:
            return
        if not self.epochs:
            if not life.start:
                self.before_first.append(record)
        elif self.epochs[-1].life is life and self.epochs[-1].record.epoch == record.epoch:
            self.epochs[-1].arrivals.setdefault(name, record.time)

    def _follow_classic(self, record: Record) -> None:
        if record.event_type == "group_removed":
            self._mark, self._kept = UPGRADE, self._classic_members
        self._classic_members = record.ids if record.event_type == "generation" else ()
