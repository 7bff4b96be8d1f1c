"""A cause: what it needs to be tested, on which kinds of group, and its test."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import IntEnum, StrEnum
from typing import NamedTuple

from kafka_groups.causes.evidence import Evidence, Need
from kafka_groups.causes.finding import CauseKind, Finding
from kafka_groups.kinds import Kind


class Order(IntEnum):
    """When a cause is tested: exact tests come first, because what they explain needs no statistics."""

    GROUP = 1  # the whole group does not read, or cannot
    EXACT = 2  # a partition has an exact cause
    EXPLANATION = 3  # a lag that is no trouble
    PARTIAL = 4  # some partitions, members or hosts differ from the others
    WHOLE = 5  # all partitions are slow alike
    REMARK = 6  # what explains no lag


class Due(StrEnum):
    """What shows a cause: a few polls, or only a history of hours or days."""

    LIVE = "live"
    HISTORY = "history"


def has_commits(kind: Kind) -> bool:
    """Return whether groups of a kind have committed offsets."""
    return kind.has_commits


def has_offsets(kind: Kind) -> bool:
    """Return whether groups of a kind have offsets of any sort."""
    return kind.has_offsets


def has_coordinator(_kind: Kind) -> bool:
    """Return True: a group of any kind has a coordinator."""
    return True


def has_start_offsets(kind: Kind) -> bool:
    """Return whether groups of a kind have start offsets."""
    return kind.has_start_offsets


def has_tasks(kind: Kind) -> bool:
    """Return whether members of a kind run tasks of a streams topology."""
    return kind.has_tasks


def has_workers(kind: Kind) -> bool:
    """Return whether members of a kind are workers of Kafka Connect."""
    return kind.has_workers


class Cause(NamedTuple):
    """A cause. `name` is that of JSON documents and conditions, `title` a sentence about it, for lists of causes.

    `find` returns a finding for each place where the cause holds, the one with the most lag first. It judges
    `Evidence.open_partitions()`, and may compare them with all others. `place` orders the causes of one `order`.
    """

    name: str
    title: str
    kind: CauseKind
    order: Order
    needs: tuple[Need, ...]
    find: Callable[[Evidence], Iterable[Finding]]
    due: Due = Due.LIVE
    place: int = 0
    applies_to: Callable[[Kind], bool] = has_commits
