"""Remove members from groups: LeaveGroup, one request for each group since Kafka 2.4 (KIP-345)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from kafka_groups.admin.api import MemberIdentity
from kafka_groups.admin.api_handler import ApiResult
from kafka_groups.admin.handlers.group_change import GroupChangeHandler, rights
from kafka_groups.errors import AdminError, UnsupportedVersionError
from kafka_groups.model import Failure
from kafka_groups.protocol import Struct
from kafka_groups.protocol.errors import UNKNOWN_MEMBER_ID, broker_error
from kafka_groups.protocol.messages import LEAVE_GROUP
from kafka_groups.protocol.messages.leave_group import BATCHED_SINCE

# Brokers log the reason (KIP-800).
REASON: Final = "removed by an administrator with kafka-groups"


class RemoveMembersFromConsumerGroupHandler(GroupChangeHandler[MemberIdentity]):
    """Group ids to what became of each member."""

    api = LEAVE_GROUP
    sentences: ClassVar[Mapping[int, str]] = rights("READ")

    def build_requests(
        self, keys: Sequence[str], version: int
    ) -> list[tuple[Sequence[str], Mapping[str, Any] | AdminError]]:
        """Return one body for each group, on old brokers with the next one of its members."""
        if version < BATCHED_SINCE:
            return [((group,), self._single(group, version)) for group in keys]
        return [((group,), {"group_id": group, "members": self._members(group)}) for group in keys]

    def handle_response(
        self, keys: Sequence[str], version: int, payload: bytes
    ) -> ApiResult[str, Mapping[MemberIdentity, Failure | None]]:
        """Return the outcome of each member, or the error of the group."""
        group = keys[0]
        result: ApiResult[str, Mapping[MemberIdentity, Failure | None]] = ApiResult()
        response = LEAVE_GROUP.read_response(version, payload)
        code = response["error_code"]
        # Before version 3 an unknown member is the error of the response.
        is_single = version < BATCHED_SINCE
        if code and not (is_single and code == UNKNOWN_MEMBER_ID):
            self._add_group_error(result, group, code)
            return result
        if is_single:
            self._record_next(group, code)
        else:
            self._record_codes(group, self._codes(group, response["members"]))
        self._add_outcome(result, group)
        return result

    def _item_failure(self, failure: Failure, item: MemberIdentity) -> Failure:
        name = f"member {item.member_id}" if item.member_id else f"group.instance.id {item.group_instance_id}"
        return failure._replace(message=f"{name}: {failure.message}")

    def _members(self, group: str) -> list[Struct]:
        return [{**member._asdict(), "reason": REASON} for member in self._next_items(group)]

    def _codes(self, group: str, rows: Sequence[Struct]) -> dict[MemberIdentity, int]:
        """Return the error codes by the identities of the request; a broker may add the id of a static member."""
        exact = {MemberIdentity(row["member_id"], row["group_instance_id"]): row["error_code"] for row in rows}
        by_instance = {row["group_instance_id"]: row["error_code"] for row in rows if row["group_instance_id"]}
        codes = {member: exact.get(member, by_instance.get(member.group_instance_id)) for member in self._items[group]}
        return {member: code for member, code in codes.items() if code is not None}

    def _single(self, group: str, version: int) -> Mapping[str, Any] | AdminError:
        """Return the body for the next member with an id. Members without one fail; the error if no other is left."""
        needed = f"LeaveGroup version {BATCHED_SINCE} (Kafka 2.4)"
        unsupported = UnsupportedVersionError(
            f"to remove a member by its group.instance.id alone needs {needed}; the broker supports up to {version}"
        )
        members = self._open_items(group)
        named = [member for member in members if member.member_id]
        if not named:
            return unsupported
        self._record(group, {member: unsupported for member in members if not member.member_id})
        self._requested[group] = named[:1]
        return {"group_id": group, "member_id": named[0].member_id}

    def _record_next(self, group: str, code: int) -> None:
        self._record(group, {member: broker_error(code) if code else None for member in self._requested[group]})
