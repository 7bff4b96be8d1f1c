"""Rows of the views whose rows are not answers themselves, made from the answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kafka_groups.lag import in_order_of_work
from kafka_groups.model import Assignment, Broker, CommittedOffset, GroupDescription, TopicPartition


class CommitRow(NamedTuple):
    """One partition of one group in the view of `offsets`."""

    group: str
    topic: str
    partition: int
    committed_offset: int | None
    leader_epoch: int | None
    metadata: str | None


class MemberRow(NamedTuple):
    """One member of one group; assignments and `upgraded` as the text that Kafka's tool prints."""

    group: str
    member_id: str
    group_instance_id: str | None
    host: str
    client_id: str
    partitions: int
    epoch: int | None
    assignment: str | None
    target_epoch: int | None
    target_assignment: str | None
    upgraded: str | None


class StateRow(NamedTuple):
    """One group in the state view; the coordinator as the text that Kafka's tool prints."""

    group: str
    coordinator: str | None
    assignor: str | None
    state: str | None
    group_epoch: int | None
    target_assignment_epoch: int | None
    members: int


def commit_rows(group: str, offsets: Iterable[tuple[TopicPartition, CommittedOffset | None]]) -> list[CommitRow]:
    """A row for each partition, by topic and partition."""
    return [
        CommitRow(group, topic, partition, *(commit or (None, None, None)))
        for (topic, partition), commit in sorted(offsets)
    ]


def member_rows(description: GroupDescription) -> Iterator[MemberRow]:
    """A row for each member, those with the most partitions first."""
    for member in in_order_of_work(description.members):
        yield MemberRow(
            description.group,
            member.member_id,
            member.group_instance_id,
            member.host,
            member.client_id,
            member.partitions(),
            member.epoch,
            _show_assignment(member.assignment),
            member.target_epoch,
            _show_assignment(member.target_assignment),
            None if member.upgraded is None else str(member.upgraded).lower(),
        )


def state_row(description: GroupDescription) -> StateRow:
    """The group's row in the state view."""
    return StateRow(
        description.group,
        _show_coordinator(description.coordinator),
        description.assignor,
        description.state,
        description.group_epoch,
        description.target_assignment_epoch,
        len(description.members),
    )


def _show_assignment(assignment: Iterable[Assignment] | None) -> str | None:
    topics = [f"{topic.topic}:{','.join(map(str, topic.partitions))}" for topic in assignment or ()]
    return ";".join(topics) or None


def _show_coordinator(broker: Broker | None) -> str | None:
    # Two blanks, as Kafka's tool has it.
    return f"{broker.host}:{broker.port}  ({broker.id})" if broker else None
