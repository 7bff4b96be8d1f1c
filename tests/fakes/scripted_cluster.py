"""Several scripted brokers that agree on groups, topics and offsets, and answer as Kafka 4 does.

cluster = ScriptedCluster(brokers=3, groups={"orders": Group(coordinator=2, commits={("payments", 0): 5})})
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self
from uuid import NAMESPACE_OID, UUID, uuid5

from kafka_groups.admin import GroupAdmin
from kafka_groups.protocol import Struct
from kafka_groups.settings import ConnectionSettings, Endpoint
from tests.fakes.scripted_broker import Reaction, ReceivedRequest, ScriptedBroker

_UNKNOWN_TOPIC = 3
_NOT_LEADER = 6
_NOT_COORDINATOR = 16
_INVALID_REQUEST = 42
_GROUP_NOT_FOUND = 69
_READ_COMMITTED = 1


@dataclass(frozen=True, kw_only=True)
class Commit:
    """A committed offset as the wire has it."""

    offset: int
    epoch: int = -1
    metadata: str | None = ""
    error: int = 0


@dataclass(kw_only=True)
class Group:
    """A group as its coordinator knows it. `error` is what OffsetFetch and both describes answer for it."""

    coordinator: int = 1
    type: str = "Classic"
    state: str = "Stable"
    protocol_type: str = "consumer"
    assignor: str = "range"
    commits: Mapping[tuple[str, int], int | Commit] = field(default_factory=dict)
    members: Sequence[Struct] = ()
    epoch: int = 4
    error: int = 0


class ScriptedCluster:
    """Brokers 1 to `brokers`; use it as a context manager, or close it.

    `topics` maps a topic to the leader of each of its partitions. `ends` and `starts` are log offsets,
    100 and 0 where they say nothing. `advertised` replaces the address that the cluster tells of a broker.
    What is put into `records` are the timestamps of a partition's records from its start on, which say where
    it ends; what is put into `stable` are last stable offsets, where they are not the ends.
    """

    def __init__(
        self,
        *,
        brokers: int = 3,
        groups: Mapping[str, Group] | None = None,
        topics: Mapping[str, Mapping[int, int]] | None = None,
        ends: Mapping[tuple[str, int], int] | None = None,
        starts: Mapping[tuple[str, int], int] | None = None,
        versions: Mapping[str, tuple[int, int]] | None = None,
        advertised: Mapping[int, Endpoint] | None = None,
    ) -> None:
        self.groups = dict(groups or {})
        self.topics = dict(topics or {})
        self.ends = dict(ends or {})
        self.starts = dict(starts or {})
        self.records: dict[tuple[str, int], Sequence[int]] = {}
        self.stable: dict[tuple[str, int], int] = {}
        self.brokers = {
            number: ScriptedBroker(self._answer, number=number, versions=versions) for number in range(1, brokers + 1)
        }
        self.addresses = {number: broker.endpoint for number, broker in self.brokers.items()} | dict(advertised or {})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop all brokers."""
        for broker in self.brokers.values():
            broker.close()

    def stop(self, number: int) -> None:
        """Let one broker's port refuse connections, though the others still name it."""
        self.brokers[number].close()

    def script(self, api: str, *reactions: Reaction, brokers: Iterable[int] | None = None) -> None:
        """How the next requests of an API are answered, at each broker or at some."""
        for number in brokers or self.brokers:
            self.brokers[number].script(api, *reactions)

    def settings(self, **values: Any) -> ConnectionSettings:
        """Connection settings with the first broker as bootstrap server."""
        return self.brokers[1].settings(**values)

    def admin(self, **values: Any) -> GroupAdmin:
        """A door to this cluster."""
        return GroupAdmin(self.settings(**values))

    def asked(self, api: str) -> list[ReceivedRequest]:
        """Every request of an API, in the order in which they came."""
        rows = (asked for broker in self.brokers.values() for asked in broker.received if asked.api == api)
        return sorted(rows, key=lambda asked: asked.at)

    def requests(self) -> Counter[str]:
        """How many requests of each API came, connection set-up left out."""
        return Counter(
            asked.api
            for broker in self.brokers.values()
            for asked in broker.received
            if asked.api != "ApiVersions" and not (asked.api == "Metadata" and asked.body["topics"] == [])
        )

    def _answer(self, asked: ReceivedRequest) -> Struct:
        answer: Struct = getattr(self, f"_answer_{asked.api}")(asked)
        return answer

    def _answer_Metadata(self, asked: ReceivedRequest) -> Struct:
        return {
            "brokers": [{"node_id": number, **_address(at)} for number, at in self.addresses.items()],
            "cluster_id": "scripted",
            "controller_id": 1,
            "topics": [self._topic(name) for name in self._named(asked.body["topics"])],
        }

    def _named(self, topics: Sequence[Struct] | None) -> list[str]:
        return [*self.topics] if topics is None else [topic["name"] for topic in topics]

    def _topic(self, name: str) -> Struct:
        leaders = self.topics.get(name)
        return {
            "error_code": 0 if leaders is not None else _UNKNOWN_TOPIC,
            "name": name,
            "topic_id": topic_id(name),
            "is_internal": name.startswith("__"),
            "partitions": [
                {"partition_index": partition, "leader_id": leader} for partition, leader in (leaders or {}).items()
            ],
        }

    def _answer_FindCoordinator(self, asked: ReceivedRequest) -> Struct:
        rows = [self._coordinator(group) for group in asked.body["coordinator_keys"] or [asked.body["key"]]]
        return {**rows[0], "coordinators": rows}

    def _coordinator(self, group: str) -> Struct:
        # Kafka hashes any id to a coordinator, that of an absent group too.
        number = self.groups.get(group, Group()).coordinator
        return {"key": group, "node_id": number, **_address(self.addresses[number])}

    def _answer_ListGroups(self, asked: ReceivedRequest) -> Struct:
        states = {state.lower() for state in asked.body["states_filter"]}
        types = {kind.lower() for kind in asked.body["types_filter"]}
        rows = [
            {
                "group_id": name,
                "protocol_type": group.protocol_type,
                "group_state": group.state,
                "group_type": group.type,
            }
            for name, group in self.groups.items()
            if group.coordinator == asked.broker
            and (not states or group.state.lower() in states)
            and (not types or group.type.lower() in types)
        ]
        return {"groups": rows}

    def _answer_OffsetFetch(self, asked: ReceivedRequest) -> Struct:
        wanted = asked.body["groups"] or [asked.body]
        rows = [self._offsets(asked.broker, group["group_id"], group["topics"]) for group in wanted]
        return {**rows[0], "groups": rows}

    def _offsets(self, broker: int, name: str, topics: Sequence[Struct] | None) -> Struct:
        group = self.groups.get(name, Group())
        error = _NOT_COORDINATOR if group.coordinator != broker else group.error
        if error:
            return {"group_id": name, "topics": [], "error_code": error}
        named = [(topic["name"], partition) for topic in topics or () for partition in topic["partition_indexes"]]
        rows: dict[str, list[Struct]] = {}
        for topic, partition in named if topics is not None else group.commits:
            commit = group.commits.get((topic, partition), -1)
            rows.setdefault(topic, []).append(_commit_row(partition, commit))
        return {"group_id": name, "topics": [{"name": topic, "partitions": rows[topic]} for topic in rows]}

    def _answer_ConsumerGroupDescribe(self, asked: ReceivedRequest) -> Struct:
        return {"groups": [self._consumer_group(asked.broker, name) for name in asked.body["group_ids"]]}

    def _consumer_group(self, broker: int, name: str) -> Struct:
        group = self.groups.get(name)
        fault = self._fault(group, broker, of_type="Consumer")
        row: Struct = {"group_id": name, "error_code": fault}
        if group is None or fault:
            told = f"Group {name} is not a consumer group." if group else f"Group {name} not found."
            return {**row, "error_message": told if fault == _GROUP_NOT_FOUND else None}
        epochs = {"group_epoch": group.epoch, "assignment_epoch": group.epoch}
        return {**row, **epochs, "group_state": group.state, "assignor_name": group.assignor, "members": group.members}

    def _answer_DescribeGroups(self, asked: ReceivedRequest) -> Struct:
        return {"groups": [self._classic_group(asked, name) for name in asked.body["groups"]]}

    def _classic_group(self, asked: ReceivedRequest, name: str) -> Struct:
        group = self.groups.get(name)
        fault = self._fault(group, asked.broker, of_type="Classic")
        if fault == _GROUP_NOT_FOUND and asked.version < 6:
            return {"group_id": name, "group_state": "Dead"}
        if group is None or fault:
            told = f"Group {name} is not a classic group." if group else f"Group {name} not found."
            return {
                "group_id": name,
                "error_code": fault,
                "error_message": told if fault == _GROUP_NOT_FOUND else None,
            }
        return {
            "group_id": name,
            "group_state": group.state,
            "protocol_type": group.protocol_type,
            "protocol_data": group.assignor,
            "members": group.members,
        }

    def _fault(self, group: Group | None, broker: int, *, of_type: str) -> int:
        if group is None:
            return _GROUP_NOT_FOUND
        if group.coordinator != broker:
            return _NOT_COORDINATOR
        return group.error if group.type == of_type else _GROUP_NOT_FOUND

    def _answer_ListOffsets(self, asked: ReceivedRequest) -> Struct:
        named = Counter(
            (topic["name"], row["partition_index"]) for topic in asked.body["topics"] for row in topic["partitions"]
        )
        return {
            "topics": [
                {
                    "name": topic["name"],
                    "partitions": [
                        self._log(asked, topic["name"], row, times=named[topic["name"], row["partition_index"]])
                        for row in topic["partitions"]
                    ],
                }
                for topic in asked.body["topics"]
            ]
        }

    def _log(self, asked: ReceivedRequest, topic: str, row: Struct, *, times: int) -> Struct:
        key = (topic, row["partition_index"])
        if times > 1:
            return {"partition_index": key[1], "error_code": _INVALID_REQUEST}
        if self.topics.get(topic, {}).get(key[1]) != asked.broker:
            return {"partition_index": key[1], "error_code": _NOT_LEADER}
        start = self.starts.get(key, 0)
        end = start + len(self.records[key]) if key in self.records else self.ends.get(key, 100)
        at = {-1: self.stable.get(key, end) if asked.body["isolation_level"] == _READ_COMMITTED else end, -2: start}
        if row["timestamp"] in at:
            return {"partition_index": key[1], "offset": at[row["timestamp"]]}
        return {"partition_index": key[1], **self._record(key, row["timestamp"])}

    def _record(self, key: tuple[str, int], at: int) -> Struct:
        for offset, time in enumerate(self.records.get(key, ()), self.starts.get(key, 0)):
            if time >= at:
                return {"offset": offset, "timestamp": time}
        return {"offset": -1}


def topic_id(name: str) -> UUID:
    """The id that a cluster gives to a topic of this name."""
    return uuid5(NAMESPACE_OID, name)


def _address(endpoint: Endpoint) -> Struct:
    return {"host": endpoint.host, "port": endpoint.port}


def _commit_row(partition: int, commit: int | Commit) -> Struct:
    told = commit if isinstance(commit, Commit) else Commit(offset=commit)
    return {
        "partition_index": partition,
        "committed_offset": told.offset,
        "committed_leader_epoch": told.epoch,
        "metadata": told.metadata,
        "error_code": told.error,
    }
