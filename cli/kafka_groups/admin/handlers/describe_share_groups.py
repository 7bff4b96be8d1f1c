"""Describe share groups: ShareGroupDescribe (KIP-932). Their offsets are those of `list_share_group_offsets`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafka_groups.acl_operations import operations_of
from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.admin.handlers.features import SHARE_GROUPS_OFF
from kafka_groups.admin.handlers.group_batches import split_groups
from kafka_groups.admin.handlers.member_assignment import named_assignments
from kafka_groups.admin.lookup import add_group_error
from kafka_groups.errors import AdminError
from kafka_groups.kinds import SHARE, canonical_name
from kafka_groups.model import Failure, GroupDescription, Member
from kafka_groups.protocol import Struct
from kafka_groups.protocol.messages import SHARE_GROUP_DESCRIBE


class DescribeShareGroupsHandler:
    """Group ids to descriptions of share groups, without the coordinator, which the response lacks."""

    api = SHARE_GROUP_DESCRIBE
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
        for group in SHARE_GROUP_DESCRIBE.read_response(version, payload)["groups"]:
            if group["error_code"]:
                message = group["error_message"] or SHARE_GROUPS_OFF.get(group["error_code"])
                add_group_error(result, group["group_id"], group["error_code"], message)
            else:
                result.completed[group["group_id"]] = _description(group)
        return result

    def to_failure(self, key: str, error: AdminError, broker: int | None) -> Failure:
        """Return the failure of the group."""
        return Failure.of(error, group=key, broker=broker)


def _description(group: Struct) -> GroupDescription:
    return GroupDescription(
        group=group["group_id"],
        type=SHARE.group_type,
        state=canonical_name(group["group_state"]),
        protocol_type="share",
        coordinator=None,
        assignor=group["assignor_name"] or None,
        group_epoch=group["group_epoch"],
        target_assignment_epoch=group["assignment_epoch"],
        members=tuple(_member(member) for member in group["members"]),
        authorized_operations=operations_of(group["authorized_operations"]),
    )


def _member(member: Struct) -> Member:
    return Member(
        member_id=member["member_id"],
        group_instance_id=None,
        client_id=member["client_id"],
        host=member["client_host"],
        assignment=named_assignments(member["assignment"]["topic_partitions"]),
        epoch=member["member_epoch"],
        rack=member["rack_id"],
        subscription=tuple(sorted(member["subscribed_topic_names"])),
    )
