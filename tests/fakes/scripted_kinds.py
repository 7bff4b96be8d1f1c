"""The part of a scripted cluster that describes share and streams groups, and returns start offsets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from uuid import UUID

from kafka_groups.protocol import Struct
from tests.fakes.scripted_broker import ReceivedRequest

_UNKNOWN_TOPIC = 3
_NOT_COORDINATOR = 16
_UNSUPPORTED_VERSION = 35
_NON_EMPTY_GROUP = 68
_GROUP_NOT_FOUND = 69


class ScriptedKinds:
    """Responses of the APIs of share and streams groups, as Kafka 4.3 returns them.

    `switched_off` are the types of group that the cluster does not have enabled (share.version, streams.version).
    """

    groups: dict[str, Any]
    topics: dict[str, Mapping[int, int]]
    switched_off: ClassVar[frozenset[str]] = frozenset()

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

        name = request.body["group_id"]
        error = self._share_error(request, is_created=True)
        if error:
            return {"error_code": error}
        altered = self.groups.setdefault(
            name, Group(type="Share", state="Empty", protocol_type="share", coordinator=request.broker)
        )

        def alter(topic: str, row: Struct) -> Struct:
            exists = row["partition_index"] in self.topics.get(topic, {})
            if exists:
                altered.commits = {**altered.commits, (topic, row["partition_index"]): row["start_offset"]}
            return {"partition_index": row["partition_index"], "error_code": 0 if exists else _UNKNOWN_TOPIC}

        rows = [
            {
                "topic_name": topic["topic_name"],
                "partitions": [alter(topic["topic_name"], row) for row in topic["partitions"]],
            }
            for topic in request.body["topics"]
        ]
        return {"error_code": 0, "responses": [{**row, "topic_id": self.topic_id(row["topic_name"])} for row in rows]}

    def _respond_DeleteShareGroupOffsets(self, request: ReceivedRequest) -> Struct:
        error = self._share_error(request, is_created=False)
        if error:
            return {"error_code": error}
        group = self.groups[request.body["group_id"]]

        def delete(topic: str) -> int:
            kept = {key: start for key, start in group.commits.items() if key[0] != topic}
            code = 0 if len(kept) < len(group.commits) or topic in self.topics else _UNKNOWN_TOPIC
            group.commits = kept
            return code

        names = [topic["topic_name"] for topic in request.body["topics"]]
        rows = [{"topic_name": name, "topic_id": self.topic_id(name), "error_code": delete(name)} for name in names]
        return {"error_code": 0, "responses": rows}

    def _share_error(self, request: ReceivedRequest, *, is_created: bool) -> int:
        group = self.groups.get(request.body["group_id"])
        if "Share" in self.switched_off:
            return _UNSUPPORTED_VERSION
        if group is None:
            return 0 if is_created else _GROUP_NOT_FOUND
        if group.coordinator != request.broker:
            return _NOT_COORDINATOR
        if group.type != "Share":
            return _GROUP_NOT_FOUND
        return int(group.error or (_NON_EMPTY_GROUP if group.members else 0))


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
