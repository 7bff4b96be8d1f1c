"""Describe consumer groups: DescribeGroups for classic groups, ConsumerGroupDescribe for KIP-848 groups.

Each handler is for one type of group; a group of another type fails there with GROUP_ID_NOT_FOUND. The kind of a
classic group decides whether it can be described.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.admin.handlers.member_assignment import decode_assignment
from kafka_groups.admin.lookup import add_group_error
from kafka_groups.errors import AdminError
from kafka_groups.kinds import CONSUMER, SIMPLE, Operation, canonical_name, find_kind
from kafka_groups.model import Assignment, Failure, GroupDescription, Member
from kafka_groups.protocol import Struct
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND, INCONSISTENT_GROUP_PROTOCOL, broker_error
from kafka_groups.protocol.messages import CONSUMER_GROUP_DESCRIBE, DESCRIBE_GROUPS

# The response for this many groups with some ten members each has a few megabytes.
MAX_GROUPS: Final = 2_000
# Bytes of a group id that fits into a message of a broker, which has 32,767 at most.
_LONGEST_ID: Final = 32_000
_CLASSIC: Final = SIMPLE.group_type
_UPGRADED: Final[Mapping[int, bool]] = {0: False, 1: True}


class DescribeClassicGroupsHandler:
    """Group ids to descriptions of classic groups, without the coordinator, which the response lacks."""

    api = DESCRIBE_GROUPS
    idempotent = True

    def build_requests(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        """Return as few bodies as the limit allows; every version of this API takes many groups."""
        return [(part, {"groups": list(part)}) for part in _split(keys)]

    def handle_response(self, keys: Sequence[str], version: int, payload: bytes) -> ApiResult[str, GroupDescription]:
        """Return each group's description. An absent group has the state Dead before version 6, error 69 since."""
        result: ApiResult[str, GroupDescription] = ApiResult()
        for group in DESCRIBE_GROUPS.read_response(version, payload)["groups"]:
            name = group["group_id"]
            code = group["error_code"]
            if code:
                add_group_error(result, name, code, group["error_message"])
            elif group["group_state"] == "Dead":
                result.failed[name] = broker_error(GROUP_ID_NOT_FOUND)
            elif not find_kind(_CLASSIC, group["protocol_type"]).supports(Operation.DESCRIBE):
                text = f"it is not a consumer group ({group['protocol_type']})"
                result.failed[name] = broker_error(INCONSISTENT_GROUP_PROTOCOL, text)
            else:
                result.completed[name] = _classic(group)
        return result

    def to_failure(self, key: str, error: AdminError, broker: int | None) -> Failure:
        """Return the failure of the group."""
        return Failure.of(error, group=key, broker=broker)


class DescribeConsumerGroupsHandler:
    """Group ids to descriptions of KIP-848 groups, without the coordinator, which the response lacks."""

    api = CONSUMER_GROUP_DESCRIBE
    idempotent = True

    def build_requests(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        """Return as few bodies as the limit allows."""
        return [(part, {"group_ids": list(part)}) for part in _split(keys)]

    def handle_response(self, keys: Sequence[str], version: int, payload: bytes) -> ApiResult[str, GroupDescription]:
        """Return each group's description; error 69 for a group that is absent or of another type."""
        result: ApiResult[str, GroupDescription] = ApiResult()
        for group in CONSUMER_GROUP_DESCRIBE.read_response(version, payload)["groups"]:
            if group["error_code"]:
                add_group_error(result, group["group_id"], group["error_code"], group["error_message"])
            else:
                result.completed[group["group_id"]] = _consumer(group)
        return result

    def to_failure(self, key: str, error: AdminError, broker: int | None) -> Failure:
        """Return the failure of the group."""
        return Failure.of(error, group=key, broker=broker)


def _classic(group: Struct) -> GroupDescription:
    return GroupDescription(
        group=group["group_id"],
        type=_CLASSIC,
        state=canonical_name(group["group_state"]),
        protocol_type=group["protocol_type"],
        coordinator=None,
        assignor=group["protocol_data"] or None,
        members=tuple(
            Member(
                member_id=member["member_id"],
                group_instance_id=member["group_instance_id"],
                client_id=member["client_id"],
                host=member["client_host"],
                assignment=_classic_assignment(member["member_assignment"]),
            )
            for member in group["members"]
        ),
    )


def _classic_assignment(packed: bytes) -> tuple[Assignment, ...] | None:
    topics = decode_assignment(packed)
    return None if topics is None else sort_assignments(topics)


def _consumer(group: Struct) -> GroupDescription:
    assignment_epoch = group["assignment_epoch"]
    return GroupDescription(
        group=group["group_id"],
        type=CONSUMER.group_type,
        state=canonical_name(group["group_state"]),
        protocol_type="consumer",
        coordinator=None,
        assignor=group["assignor_name"] or None,
        group_epoch=group["group_epoch"],
        target_assignment_epoch=assignment_epoch,
        members=tuple(
            Member(
                member_id=member["member_id"],
                group_instance_id=member["instance_id"],
                client_id=member["client_id"],
                host=member["client_host"],
                assignment=_assignments(member["assignment"]),
                epoch=member["member_epoch"],
                target_epoch=assignment_epoch,
                target_assignment=_assignments(member["target_assignment"]),
                upgraded=_UPGRADED.get(member["member_type"]),
            )
            for member in group["members"]
        ),
    )


def _assignments(assignment: Struct) -> tuple[Assignment, ...]:
    topics = assignment["topic_partitions"]
    named = sort_assignments((topic["topic_name"], topic["partitions"]) for topic in topics if topic["topic_name"])
    unnamed = (
        Assignment(topic="", topic_id=topic["topic_id"], partitions=tuple(sorted(topic["partitions"])))
        for topic in topics
        if not topic["topic_name"]
    )
    return (*named, *unnamed)


def sort_assignments(topics: Iterable[tuple[str, Iterable[int]]]) -> tuple[Assignment, ...]:
    """Return topics by name with their partitions, ascending. Each partition is there once."""
    partitions_of: dict[str, set[int]] = {}
    for topic, partitions in topics:
        partitions_of.setdefault(topic, set()).update(partitions)
    return tuple(
        Assignment(topic=topic, partitions=tuple(sorted(partitions)))
        for topic, partitions in sorted(partitions_of.items())
    )


def _split(keys: Sequence[str]) -> list[Sequence[str]]:
    # If a broker's message on a long id does not fit into the response, it fails all groups of the request.
    long = [key for key in keys if len(key.encode(errors="replace")) > _LONGEST_ID]
    others = [key for key in keys if key not in long] if long else keys
    return [others[at : at + MAX_GROUPS] for at in range(0, len(others), MAX_GROUPS)] + [[key] for key in long]
