"""Rows of evidence that several causes share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_groups.causes.evidence import PartitionPolls
from kafka_groups.causes.finding import Fact
from kafka_groups.causes.sentences import count, name_member, name_partition
from kafka_groups.causes.series import lag_of
from kafka_groups.model import Member, TopicPartition

_MAX_ROWS: Final = 5


def lag_facts(partitions: Mapping[TopicPartition, PartitionPolls]) -> tuple[Fact, ...]:
    """Return a row for each of the partitions with the most lag: its commit and its log end at the last poll."""
    largest = sorted(partitions, key=lambda key: (-lag_of(partitions[key]), key))[:_MAX_ROWS]
    return tuple(lag_fact(key, partitions[key]) for key in largest if partitions[key][-1].committed is not None)


def lag_fact(key: TopicPartition, polls: PartitionPolls) -> Fact:
    """Return the row of one partition, whose commit and log end are known at the last poll."""
    last = polls[-1]
    return Fact(
        f"{name_partition(key)}: committed {last.committed or 0:,}, log end {last.log_end or 0:,}, "
        f"{count(lag_of(polls), 'record')} unread.",
        at_ms=last.at_ms,
        topic=key.topic,
        partition=key.partition,
        offset=last.committed,
    )


def member_fact(member: Member, text: str, at_ms: int) -> Fact:
    """Return a row about a member: its client id and host, and a text that goes on from there."""
    return Fact(
        f"{name_member(member)} {text}",
        at_ms=at_ms,
        member_id=member.member_id,
        client_id=member.client_id,
        host=member.host,
        epoch=member.epoch,
    )
