"""How the partitions beside one that stands still move."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from math import inf
from typing import Final, NamedTuple

from kafka_groups.causes.evidence import Evidence
from kafka_groups.causes.pace import keeps_up, waits
from kafka_groups.causes.series import moves
from kafka_groups.model import TopicPartition

_FAR: Final = 3


class OtherPartitions(NamedTuple):
    """The most moves of one of them, and the wait in ms above which a partition beside them is far slower."""

    moves: int
    far_ms: float


def judge_others(evidence: Evidence, keys: AbstractSet[TopicPartition]) -> OtherPartitions:
    """Return how the other partitions of a member move. Beside a far longer wait than theirs, a minute is not needed.

    That holds if all that moved did so at nearly each poll: a member that reads its partitions in turn lets each wait.
    """
    known = [polls for key in keys if moves(polls := evidence.partitions.get(key, ()))]
    is_often = all(len(moves(polls)) >= len(polls) - 2 for polls in known)
    longest_ms = max((max(waits(polls), default=0) for polls in known), default=0)
    return OtherPartitions(most_moves(evidence, keys), _FAR * longest_ms if is_often else inf)


def most_moves(evidence: Evidence, keys: AbstractSet[TopicPartition]) -> int:
    """Return the most moves of one of these; 0 if one that moves is behind, as its member may read them in turn."""
    moving = {key: polls for key in keys if moves(polls := evidence.partitions.get(key, ()))}
    if not all(keeps_up(polls, evidence.log_times.get(key, ())) for key, polls in moving.items()):
        return 0
    return max((len(moves(polls)) for polls in moving.values()), default=0)
