"""The JSON documents: keys that are only ever added, missing values as null (contract: JSON)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

from kafka_groups.lag import in_order_of_work
from kafka_groups.model import Assignment, Failure, GroupDescription, GroupListing, Member, OffsetRow
from kafka_groups.rendering.rows import CommitRow

Document = dict[str, Any]

# The group stands once, above its rows.
_OFFSET_KEYS: Final = OffsetRow._fields[1:]
_COMMIT_KEYS: Final = CommitRow._fields[1:]


def listing_document(listing: GroupListing) -> Document:
    """A group of `list`."""
    return {
        "group": listing.group,
        "type": listing.type,
        "state": listing.state,
        "protocol_type": listing.protocol_type,
    }


def description_document(description: GroupDescription, rows: Iterable[OffsetRow]) -> Document:
    """A group of `describe`: the same keys in every view."""
    broker = description.coordinator
    return {
        "group": description.group,
        "type": description.type,
        "state": description.state,
        "protocol_type": description.protocol_type,
        "coordinator": {"id": broker.id, "host": broker.host, "port": broker.port} if broker else None,
        "assignor": description.assignor,
        "group_epoch": description.group_epoch,
        "target_assignment_epoch": description.target_assignment_epoch,
        "offsets": [dict(zip(_OFFSET_KEYS, row[1:], strict=True)) for row in rows],
        "members": [member_document(member) for member in in_order_of_work(description.members)],
    }


def member_document(member: Member) -> Document:
    """A member of a group."""
    return {
        "member_id": member.member_id,
        "group_instance_id": member.group_instance_id,
        "host": member.host,
        "client_id": member.client_id,
        "epoch": member.epoch,
        "assignment": _assignment(member.assignment),
        "target_epoch": member.target_epoch,
        "target_assignment": None if member.target_assignment is None else _assignment(member.target_assignment),
        "upgraded": member.upgraded,
    }


def commits_document(group: str, rows: Iterable[CommitRow]) -> Document:
    """A group of `offsets`."""
    return {"group": group, "offsets": [dict(zip(_COMMIT_KEYS, row[1:], strict=True)) for row in rows]}


def failure_document(failure: Failure) -> Document:
    """An entry of `errors`."""
    return {
        "group": failure.group,
        "topic": failure.topic,
        "partition": failure.partition,
        "broker": failure.broker,
        "code": failure.code,
        "name": failure.name,
        "message": failure.message,
    }


def _assignment(topics: Sequence[Assignment]) -> list[Document]:
    return [{"topic": topic.topic, "partitions": list(topic.partitions)} for topic in topics]
