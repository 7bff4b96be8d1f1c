"""The part of a scripted cluster that describes share and streams groups, and returns start offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from kafka_groups.protocol import Struct
from tests.fakes.reactions import ReceivedRequest

_UNKNOWN_TOPIC = 3
_NOT_COORDINATOR = 16
_UNSUPPORTED_VERSION = 35
_NON_EMPTY_GROUP = 68
_GROUP_NOT_FOUND = 69
_NO_ID = UUID(int=0)


class ScriptedKinds:
    """Responses of the APIs of share and streams groups, as Kafka 4.3 returns them.

    `switched_off` are the types of group that the cluster does not have enabled (share.version, streams.version).
    """

    groups: dict[str, Any]
    topics: dict[str, Mapping[int, int]]
    switched_off: frozenset[str] = frozenset()

    def topic_id(self, name: str) -> UUID:
        """Return the id of a topic."""
        raise NotImplementedError

    def _respond_ShareGroupDescribe(self, request: ReceivedRequest) -> Struct:
        rows = [self._group_of_type("Share", "share", request.broker, name) for name in request.body["group_ids"]]
        return {"groups": [row | _state(group) if group else row for row, group in rows]}

    def _respond_StreamsGroupDescribe(self, request: ReceivedRequest) -> Struct:
        rows = [self._group_of_type("Streams", "streams", request.broker, name) for name in request.body["group_ids"]]
        has_nodes = request.body["include_topology_description"]
        return {"groups": [row | _streams_state(group, has_nodes=has_nodes) if group else row for row, group in rows]}

    def _group_of_type(self, group_type: str, noun: str, broker: int, name: str) -> tuple[Struct, Any]:
        """Return the beginning of the row of a group, and the group unless the row has an error."""
        group = self.groups.get(name)
        row: Struct = {"group_id": name, "error_code": 0, "group_state": "", "members": []}
        if group_type in self.switched_off:
            return row | {"error_code": _UNSUPPORTED_VERSION}, None
        if group is None:
            return row | {"error_code": _GROUP_NOT_FOUND, "error_message": f"Group {name} not found."}, None
        if group.coordinator != broker:
            return row | {"error_code": _NOT_COORDINATOR}, None
        if group.type != group_type:
            message = f"Group {name} is not a {noun} group."
            return row | {"error_code": _GROUP_NOT_FOUND, "error_message": message}, None
        return row | {"error_code": group.error}, None if group.error else group

    def _respond_DescribeShareGroupOffsets(self, request: ReceivedRequest) -> Struct:
        return {"groups": [self._start_offsets(request.broker, row) for row in request.body["groups"]]}

    def _start_offsets(self, broker: int, requested: Mapping[str, Any]) -> Struct:
        name = requested["group_id"]
        group = self.groups.get(name)
        code = _UNSUPPORTED_VERSION if "Share" in self.switched_off else 0
        if group is not None and not code:
            code = _NOT_COORDINATOR if group.coordinator != broker else group.error
        if code:
            return {"group_id": name, "topics": [], "error_code": code}
        # Brokers return no error for an absent group, nor for one of another type: it has no start offset.
        starts = group.commits if group is not None and group.type == "Share" else {}
        lags = group.lags if group is not None else {}
        wanted: Sequence[tuple[str, int]] = [*starts]
        if requested["topics"] is not None:
            wanted = [(topic["topic_name"], number) for topic in requested["topics"] for number in topic["partitions"]]
        topics: dict[str, list[Struct]] = {}
        for topic, partition in wanted:
            start = starts.get((topic, partition), -1)
            row = {"partition_index": partition, "start_offset": start, "leader_epoch": 0, "error_code": 0}
            topics.setdefault(topic, []).append(row | {"lag": lags.get((topic, partition), -1)})
        rows = [{"topic_name": each, "topic_id": self.topic_id(each), "partitions": topics[each]} for each in topics]
        return {"group_id": name, "topics": rows, "error_code": 0}

    def _respond_AlterShareGroupOffsets(self, request: ReceivedRequest) -> Struct:
        from tests.fakes.scripted_cluster import Group

        body = request.body
        if body["group_id"] not in self.groups and body["topics"] and "Share" not in self.switched_off:
            new = Group(type="Share", state="Empty", protocol_type="share", coordinator=request.broker)
            self.groups[body["group_id"]] = new
        group, error = self._changed_group(body["group_id"], request.broker)
        if error:
            return error
        rows: list[Struct] = []
        for topic in body["topics"]:
            partitions = [
                {"partition_index": row["partition_index"], "error_code": self._alter(group, topic["topic_name"], row)}
                for row in topic["partitions"]
            ]
            rows.append({"topic_name": topic["topic_name"], "topic_id": _NO_ID, "partitions": partitions})
        return {"error_code": 0, "responses": rows}

    def _alter(self, group: Any, topic: str, row: Struct) -> int:
        if row["partition_index"] not in self.topics.get(topic, {}):
            return _UNKNOWN_TOPIC
        group.commits = {**group.commits, (topic, row["partition_index"]): row["start_offset"]}
        return 0

    def _respond_DeleteShareGroupOffsets(self, request: ReceivedRequest) -> Struct:
        group, error = self._changed_group(request.body["group_id"], request.broker)
        if error:
            return error
        names = [topic["topic_name"] for topic in request.body["topics"]]
        known = {topic for topic, _ in group.commits}
        group.commits = {key: start for key, start in group.commits.items() if key[0] not in names}
        return {
            "error_code": 0,
            "responses": [
                {"topic_name": name, "topic_id": _NO_ID, "error_code": 0 if name in known else _UNKNOWN_TOPIC}
                for name in names
            ],
        }

    def _changed_group(self, name: str, broker: int) -> tuple[Any, Struct | None]:
        """Return a share group to change, or the response that refuses the change."""
        group = self.groups.get(name)
        if "Share" in self.switched_off:
            message = "The version of API is not supported."
            return None, {"error_code": _UNSUPPORTED_VERSION, "error_message": message, "responses": []}
        code = 0 if group else _GROUP_NOT_FOUND
        if group:
            code = _NOT_COORDINATOR if group.coordinator != broker else group.error
            code = code or (0 if group.type == "Share" else _GROUP_NOT_FOUND)
            code = code or (_NON_EMPTY_GROUP if group.members else 0)
        return group, {"error_code": code, "responses": []} if code else None


def _state(group: Any) -> Struct:
    return {
        "group_state": group.state,
        "group_epoch": group.epoch,
        "assignment_epoch": group.epoch,
        "assignor_name": group.assignor,
        "members": group.members,
    }


def _streams_state(group: Any, *, has_nodes: bool) -> Struct:
    nodes = group.nodes if has_nodes else None
    status = 0 if not has_nodes else 1 if nodes is None else 3
    described = {"topology_description": nodes, "topology_description_status": status}
    return {**_state(group), "topology": group.topology, **described}
