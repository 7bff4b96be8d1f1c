"""Transactions that are open where consumers of committed records do not get on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Final, NamedTuple

from kafka_groups.admin.api import Admin, Deadline
from kafka_groups.causes.evidence import OpenTransaction
from kafka_groups.errors import AdminError, AuthenticationFailedError
from kafka_groups.groups.observation.logs import MOST_LOOKUPS, reason_of
from kafka_groups.groups.observation.poll import Poll
from kafka_groups.model import TopicPartition

_FEWEST_POLLS: Final = 2
_NO_TIME: Final = "the leader does not know when the producer wrote last"


class Transactions(NamedTuple):
    """The transactions that are open on partitions, and why those of other partitions are unknown."""

    open: Mapping[TopicPartition, tuple[OpenTransaction, ...]] = MappingProxyType({})
    failed: Mapping[TopicPartition, str] = MappingProxyType({})


def read_transactions(admin: Admin, polls: Sequence[Poll], deadline: Deadline) -> Transactions:
    """Read the transactions that are open where the last stable offset stands still below the log end.

    It costs one DescribeProducers per leader, and nothing if there is no such partition. A failure is a reason.
    """
    keys = [*islice(_standing_still(polls), MOST_LOOKUPS)]
    if not keys:
        return Transactions()
    try:
        described = admin.describe_producers(keys, timeout=deadline)
    except AuthenticationFailedError:
        raise
    except AdminError as error:
        return Transactions(failed=dict.fromkeys(keys, str(error)))
    failed = {key: reason_of(failure) for key, failure in described.failed.items()}
    found: dict[TopicPartition, tuple[OpenTransaction, ...]] = {}
    for key, producers in described.succeeded.items():
        known: list[OpenTransaction] = []
        for producer in producers:
            start = producer.current_transaction_start_offset
            if start is None:
                continue
            if producer.last_timestamp_ms is None:
                failed[key] = _NO_TIME
                continue
            known.append(
                OpenTransaction(producer.producer_id, producer.producer_epoch, start, producer.last_timestamp_ms)
            )
        found[key] = tuple(known)
    return Transactions(found, failed)


def _standing_still(polls: Sequence[Poll]) -> Iterable[TopicPartition]:
    """Return the partitions of selected groups whose last stable offset was the same at all polls, below the log end.

    One poll shows no standstill.
    """
    still: dict[TopicPartition, None] = {}
    if len(polls) < _FEWEST_POLLS:
        return still
    for group in polls[-1].groups:
        for key, now in polls[-1].partitions.get(group, {}).items():
            if now.stable_end is None or now.log_end is None or now.stable_end >= now.log_end:
                continue
            before = (poll.partitions.get(group, {}).get(key) for poll in polls)
            known = {poll.stable_end for poll in before if poll is not None and poll.stable_end is not None}
            if known == {now.stable_end}:
                still[key] = None
    return still
