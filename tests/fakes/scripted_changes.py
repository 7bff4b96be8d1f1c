"""The responses of a scripted cluster to requests that change its groups, with the errors that brokers return."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kafka_groups.protocol import Struct
from tests.fakes.reactions import ReceivedRequest

if TYPE_CHECKING:
    from tests.fakes.scripted_cluster import Group

_UNKNOWN_TOPIC = 3
_NOT_COORDINATOR = 16
_UNKNOWN_MEMBER = 25
_NON_EMPTY_GROUP = 68
_GROUP_NOT_FOUND = 69
_FENCED_INSTANCE_ID = 82
_SUBSCRIBED = 86
_UNKNOWN_TOPIC_ID = 100


class ScriptedChanges:
    """The part of ScriptedCluster that changes `groups`."""

    groups: dict[str, Group]
    topics: dict[str, Mapping[int, int]]

    def topic_id(self, name: str) -> UUID:
        """Return the id of a topic."""
        raise NotImplementedError

    def _respond_OffsetCommit(self, request: ReceivedRequest) -> Struct:
        from tests.fakes.scripted_cluster import Commit, Group

        name = request.body["group_id"]
        group = self.groups.get(name)
        error = self._error(group or Group(), request.broker)
        if group is not None and group.members:
            error = error or _UNKNOWN_MEMBER

        def commit(topic: str, row: Struct) -> int:
            key = (topic, row["partition_index"])
            if key[1] not in self.topics.get(topic, {}):
                return _UNKNOWN_TOPIC if topic else _UNKNOWN_TOPIC_ID
            if not error:
                altered = self.groups.setdefault(name, Group(state="Empty", protocol_type=""))
                epoch, metadata = row["committed_leader_epoch"], row["committed_metadata"]
                altered.commits = {**altered.commits, key: Commit(row["committed_offset"], epoch, metadata)}
            return error

        names = {self.topic_id(name): name for name in self.topics}
        topics = [
            {**topic, "name": topic["name"] or names.get(topic["topic_id"], "")} for topic in request.body["topics"]
        ]
        ids = [topic.get("topic_id") for topic in request.body["topics"]]
        rows = _each_partition(topics, commit)
        return {"topics": [{**row, "topic_id": each} for row, each in zip(rows, ids, strict=True)]}

    def _respond_OffsetDelete(self, request: ReceivedRequest) -> Struct:
        group = self.groups.get(request.body["group_id"])
        if group is None:
            return {"error_code": _GROUP_NOT_FOUND}
        error = self._error(group, request.broker)
        if group.members and group.protocol_type != "consumer":
            error = error or _NON_EMPTY_GROUP
        if error:
            return {"error_code": error}

        def delete(topic: str, row: Struct) -> int:
            key = (topic, row["partition_index"])
            if key[1] not in self.topics.get(topic, {}):
                return _UNKNOWN_TOPIC
            if topic in group.subscribed:
                return _SUBSCRIBED
            group.commits = {other: commit for other, commit in group.commits.items() if other != key}
            return 0

        return {"topics": _each_partition(request.body["topics"], delete)}

    def _respond_DeleteGroups(self, request: ReceivedRequest) -> Struct:
        names = dict.fromkeys(request.body["groups_names"])
        return {"results": [{"group_id": name, "error_code": self._delete(name, request.broker)} for name in names]}

    def _delete(self, name: str, broker: int) -> int:
        group = self.groups.get(name)
        if group is None:
            return _GROUP_NOT_FOUND
        error = self._error(group, broker) or (_NON_EMPTY_GROUP if group.members else 0)
        if not error:
            del self.groups[name]
        return error

    def _respond_LeaveGroup(self, request: ReceivedRequest) -> Struct:
        group = self.groups.get(request.body["group_id"])
        error = 0 if group is None else self._error(group, request.broker)
        if error:
            return {"error_code": error}
        if request.version < 3:
            return {"error_code": _leave(group, request.body["member_id"], None)}
        return {
            "members": [
                {
                    "member_id": member["member_id"],
                    "group_instance_id": member["group_instance_id"],
                    "error_code": _leave(group, member["member_id"], member["group_instance_id"]),
                }
                for member in request.body["members"]
            ]
        }

    def _error(self, group: Group, broker: int) -> int:
        return _NOT_COORDINATOR if group.coordinator != broker else group.error


def _each_partition(topics: list[Struct], change: Callable[[str, Struct], int]) -> list[dict[str, Any]]:
    return [
        {
            "name": topic["name"],
            "partitions": [
                {"partition_index": row["partition_index"], "error_code": change(topic["name"], row)}
                for row in topic["partitions"]
            ],
        }
        for topic in topics
    ]


def _leave(group: Group | None, member_id: str, instance_id: str | None) -> int:
    members = list(group.members) if group is not None else []

    def instance_of(member: Struct) -> str | None:
        # DescribeGroups and ConsumerGroupDescribe have different names for it.
        return member.get("group_instance_id") or member.get("instance_id")

    if instance_id is not None:
        found = [member for member in members if instance_of(member) == instance_id]
        if found and member_id not in ("", found[0]["member_id"]):
            return _FENCED_INSTANCE_ID
    else:
        found = [member for member in members if member["member_id"] == member_id]
    if group is None or not found:
        return _UNKNOWN_MEMBER
    group.members = [member for member in members if member is not found[0]]
    if not group.members:
        group.state = "Empty"
    return 0
