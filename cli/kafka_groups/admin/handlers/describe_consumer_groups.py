"""Describe consumer groups: DescribeGroups for classic groups, ConsumerGroupDescribe for KIP-848 groups.

Each handler is for one type of group; a group of another type fails there with GROUP_ID_NOT_FOUND. The kind of a
classic group decides whether it can be described. The members of a Connect group are its workers.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final

from kafka_groups.acl_operations import operations_of
from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.admin.handlers.group_batches import split_groups
from kafka_groups.admin.handlers.member_assignment import decode_assignment, named_assignments, sort_assignments
from kafka_groups.admin.lookup import add_group_error
from kafka_groups.errors import AdminError
from kafka_groups.kinds import CLASSIC_CONSUMER, CONNECT, CONSUMER, SIMPLE, Kind, canonical_name, find_kind
from kafka_groups.model import Failure, GroupDescription, Member
from kafka_groups.protocol import Struct
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND, INCONSISTENT_GROUP_PROTOCOL, broker_error
from kafka_groups.protocol.messages import CONSUMER_GROUP_DESCRIBE, DESCRIBE_GROUPS

_CLASSIC: Final = SIMPLE.group_type
_UPGRADED: Final[Mapping[int, bool]] = {0: False, 1: True}


class DescribeClassicGroupsHandler:
    """Group ids to descriptions of classic groups, without the coordinator, which the response lacks.

    `kinds` are those that are described; a group of another kind fails with INCONSISTENT_GROUP_PROTOCOL.
    """

    api = DESCRIBE_GROUPS
    idempotent = True

    def __init__(
        self, kinds: Collection[Kind] = (CLASSIC_CONSUMER, SIMPLE, CONNECT), *, authorized_operations: bool = False
    ) -> None:
        self._kinds = kinds
        self._authorized_operations = authorized_operations

    def build_requests(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        """Return as few bodies as the limit allows; every version of this API takes many groups."""
        options = {"include_authorized_operations": self._authorized_operations}
        return [(part, {"groups": list(part), **options}) for part in split_groups(keys)]

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
            elif find_kind(_CLASSIC, group["protocol_type"]) not in self._kinds:
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

    def __init__(self, *, authorized_operations: bool = False) -> None:
        self._authorized_operations = authorized_operations

    def build_requests(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        """Return as few bodies as the limit allows."""
        options = {"include_authorized_operations": self._authorized_operations}
        return [(part, {"group_ids": list(part), **options}) for part in split_groups(keys)]

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
    read_member = _connect_worker if group["protocol_type"] in (CONNECT.protocol_types or ()) else _classic_consumer
    return GroupDescription(
        group=group["group_id"],
        type=_CLASSIC,
        state=canonical_name(group["group_state"]),
        protocol_type=group["protocol_type"],
        coordinator=None,
        assignor=group["protocol_data"] or None,
        members=tuple(read_member(member) for member in group["members"]),
        authorized_operations=operations_of(group["authorized_operations"]),
    )


def _classic_consumer(member: Struct) -> Member:
    topics = decode_assignment(member["member_assignment"])
    return Member(
        member_id=member["member_id"],
        group_instance_id=member["group_instance_id"],
        client_id=member["client_id"],
        host=member["client_host"],
        assignment=None if topics is None else sort_assignments(topics),
    )


def _connect_worker(member: Struct) -> Member:
    # Imported here, as most commands describe no Connect group.
    from kafka_groups.protocol.connect_protocol import decode_worker

    return Member(
        member_id=member["member_id"],
        group_instance_id=member["group_instance_id"],
        client_id=member["client_id"],
        host=member["client_host"],
        assignment=(),
        worker=decode_worker(member["member_metadata"], member["member_assignment"]),
    )


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
                assignment=named_assignments(member["assignment"]["topic_partitions"]),
                epoch=member["member_epoch"],
                target_epoch=assignment_epoch,
                target_assignment=named_assignments(member["target_assignment"]["topic_partitions"]),
                upgraded=_UPGRADED.get(member["member_type"]),
            )
            for member in group["members"]
        ),
        authorized_operations=operations_of(group["authorized_operations"]),
    )
