"""The two describes: DescribeGroups for classic groups, ConsumerGroupDescribe for KIP-848 groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kafka_groups.admin.driver import ApiResult
from kafka_groups.admin.handlers.group_errors import add_group_error
from kafka_groups.errors import AdminError
from kafka_groups.model import Assignment, Failure, GroupDescription, Member, spell
from kafka_groups.protocol import INT16, Cursor, SchemaError, Struct, compile_reader
from kafka_groups.protocol.errors import GROUP_ID_NOT_FOUND, INCONSISTENT_GROUP_PROTOCOL, broker_error
from kafka_groups.protocol.messages import CONSUMER_GROUP_DESCRIBE, DESCRIBE_GROUPS
from kafka_groups.protocol.messages.describe_groups import ASSIGNMENT

# A describe of this many groups with some ten members each is an answer of a few megabytes.
MOST_GROUPS: Final = 2_000
_CONSUMER_PROTOCOLS: Final = frozenset({"consumer", ""})
_UPGRADED: Final[Mapping[int, bool]] = {0: False, 1: True}
_read_version = INT16.read(False, False)
_read_assignment = compile_reader(ASSIGNMENT, version=0, flexible=False)


class DescribeClassicGroupsHandler:
    """Keys are group ids; answers lack the coordinator, which who asked knows."""

    api = DESCRIBE_GROUPS

    def build_requests(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        """As few bodies as the bound allows; this API takes many groups in every version."""
        return [(part, {"groups": list(part)}) for part in _parts(keys)]

    def handle_response(self, keys: Sequence[str], version: int, payload: bytes) -> ApiResult[str, GroupDescription]:
        """Each group's description. A group that is not there has state Dead below version 6, error 69 from it on."""
        result: ApiResult[str, GroupDescription] = ApiResult()
        for group in DESCRIBE_GROUPS.read_response(version, payload)["groups"]:
            name, code = group["group_id"], group["error_code"]
            if code:
                add_group_error(result, name, code, group["error_message"])
            elif group["group_state"] == "Dead":
                result.failed[name] = broker_error(GROUP_ID_NOT_FOUND)
            elif group["protocol_type"] not in _CONSUMER_PROTOCOLS:
                told = f"it is not a consumer group ({group['protocol_type']})"
                result.failed[name] = broker_error(INCONSISTENT_GROUP_PROTOCOL, told)
            else:
                result.completed[name] = _classic(group)
        return result

    def to_failure(self, key: str, error: AdminError, broker: int | None) -> Failure:
        """The group's failure."""
        return Failure.of(error, group=key, broker=broker)


class DescribeConsumerGroupsHandler:
    """Keys are group ids; answers lack the coordinator, which who asked knows."""

    api = CONSUMER_GROUP_DESCRIBE

    def build_requests(self, keys: Sequence[str], version: int) -> list[tuple[Sequence[str], Mapping[str, Any]]]:
        """As few bodies as the bound allows."""
        return [(part, {"group_ids": list(part)}) for part in _parts(keys)]

    def handle_response(self, keys: Sequence[str], version: int, payload: bytes) -> ApiResult[str, GroupDescription]:
        """Each group's description; error 69 for a group that is not there or is of another kind."""
        result: ApiResult[str, GroupDescription] = ApiResult()
        for group in CONSUMER_GROUP_DESCRIBE.read_response(version, payload)["groups"]:
            if group["error_code"]:
                add_group_error(result, group["group_id"], group["error_code"], group["error_message"])
            else:
                result.completed[group["group_id"]] = _consumer(group)
        return result

    def to_failure(self, key: str, error: AdminError, broker: int | None) -> Failure:
        """The group's failure."""
        return Failure.of(error, group=key, broker=broker)


def _classic(group: Struct) -> GroupDescription:
    return GroupDescription(
        group=group["group_id"],
        type="Classic",
        state=spell(group["group_state"]),
        protocol_type=group["protocol_type"],
        coordinator=None,
        assignor=group["protocol_data"] or None,
        members=tuple(
            Member(
                member_id=member["member_id"],
                group_instance_id=member["group_instance_id"],
                client_id=member["client_id"],
                host=member["client_host"],
                assignment=_read_assigned(member["member_assignment"]),
            )
            for member in group["members"]
        ),
    )


def _read_assigned(packed: bytes) -> tuple[Assignment, ...]:
    """The partitions in a member's ConsumerProtocolAssignment; none if the client wrote something else."""
    if not packed:
        return ()
    cursor = Cursor(packed)
    try:
        _read_version(cursor)
        topics = _read_assignment(cursor)["assigned_partitions"]
    except SchemaError:
        # The bytes are the client's own; a client that writes others must not hide its group.
        return ()
    return _in_order((topic["topic"], topic["partitions"]) for topic in topics)


def _consumer(group: Struct) -> GroupDescription:
    assignment_epoch = group["assignment_epoch"]
    return GroupDescription(
        group=group["group_id"],
        type="Consumer",
        state=spell(group["group_state"]),
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
                assignment=_assigned(member["assignment"]),
                epoch=member["member_epoch"],
                target_epoch=assignment_epoch,
                target_assignment=_assigned(member["target_assignment"]),
                upgraded=_UPGRADED.get(member["member_type"]),
            )
            for member in group["members"]
        ),
    )


def _assigned(assignment: Struct) -> tuple[Assignment, ...]:
    return _in_order((topic["topic_name"], topic["partitions"]) for topic in assignment["topic_partitions"])


def _in_order(topics: Iterable[tuple[str, Iterable[int]]]) -> tuple[Assignment, ...]:
    ordered = sorted((topic, tuple(sorted(partitions))) for topic, partitions in topics)
    return tuple(Assignment(topic=topic, partitions=partitions) for topic, partitions in ordered)


def _parts(keys: Sequence[str]) -> list[Sequence[str]]:
    return [keys[at : at + MOST_GROUPS] for at in range(0, len(keys), MOST_GROUPS)]
