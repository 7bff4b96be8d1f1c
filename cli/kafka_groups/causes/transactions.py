"""Partitions of a group that an open transaction holds: their commits stand at the last stable offset."""

from __future__ import annotations

from typing import Final

from kafka_groups.causes.evidence import Evidence, OpenTransaction, PartitionPolls
from kafka_groups.causes.finding import Since
from kafka_groups.causes.series import is_still, unread_since, with_commits
from kafka_groups.model import TopicPartition

# Clients that do not count markers of transactions commit a few offsets below the last stable offset.
_MOST_MARKERS: Final = 5


def held_partitions(evidence: Evidence) -> dict[TopicPartition, PartitionPolls]:
    """Return the partitions without a cause whose last stable offset stands still, with the commit at it."""
    return {key: polls for key, polls in evidence.open_partitions().items() if _is_held(polls)}


def open_transaction(evidence: Evidence, key: TopicPartition) -> OpenTransaction | None:
    """Return the open transaction that holds a partition; None if it is unknown."""
    stable_end = evidence.partitions[key][-1].stable_end
    found = evidence.transactions.get(key, ())
    return next((transaction for transaction in found if transaction.start_offset == stable_end), None)


def still_writes(evidence: Evidence, transaction: OpenTransaction) -> bool:
    """Return whether the producer wrote while polls watched: then it will probably end the transaction itself."""
    return transaction.updated_ms >= evidence.polls[0].at_ms


def begun(evidence: Evidence, key: TopicPartition) -> Since | None:
    """Return when the first record of the transaction was written, by earlier log ends."""
    polls = evidence.partitions[key]
    at_stable_end = tuple(poll._replace(committed=poll.stable_end) for poll in polls)
    return unread_since(at_stable_end, evidence.log_times.get(key, ()))


def stops_at(polls: PartitionPolls, stable_end: int) -> bool:
    """Return whether the commit of a group stands still at an offset, or as many below as there may be markers."""
    committed = polls[-1].committed
    return committed is not None and is_still(polls) and 0 <= stable_end - committed <= _MOST_MARKERS


def _is_held(polls: PartitionPolls) -> bool:
    stable_end = polls[-1].stable_end
    if stable_end is None or not stops_at(polls, stable_end):
        return False
    known = [poll for poll in with_commits(polls) if poll.stable_end is not None]
    return len(known) > 1 and all(poll.stable_end == stable_end < (poll.log_end or 0) for poll in known)
