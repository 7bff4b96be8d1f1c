"""Several scripted brokers that share groups, topics and offsets, and respond as Kafka 4 does.

cluster = ScriptedCluster(brokers=3, groups={"orders": Group(coordinator=2, commits={("payments", 0): 5})})
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self
from uuid import NAMESPACE_OID, UUID, uuid5

from kafka_groups.admin import GroupAdmin
from kafka_groups.progress import Progress
from kafka_groups.protocol import Struct
from kafka_groups.settings import ConnectionSettings, Endpoint
from tests.fakes.reactions import Reaction, ReceivedRequest
from tests.fakes.scripted_broker import ScriptedBroker
from tests.fakes.scripted_changes import ScriptedChanges
from tests.fakes.scripted_kinds import ScriptedKinds
from tests.fakes.scripted_logs import ScriptedLogs
from tests.fakes.simulated_clock import SimulatedClock

_UNKNOWN_TOPIC = 3
_NOT_COORDINATOR = 16
_GROUP_NOT_FOUND = 69
_UNKNOWN_TOPIC_ID = 100


@dataclass(frozen=True)
class Commit:
    """A committed offset with the fields of an OffsetFetch response."""

    offset: int
    epoch: int = -1
    metadata: str | None = ""
    error: int = 0


@dataclass(kw_only=True)
class Group:
    """A group as its coordinator knows it. All APIs but ListGroups return `error` for it.

    `subscribed` are the topics whose commits cannot be deleted. The commits of a share group are its start offsets;
    `lags` are those that its coordinator computes. `topology` and `nodes` are those of a streams group.
    """

    coordinator: int = 1
    type: str = "Classic"
    state: str = "Stable"
    protocol_type: str = "consumer"
    assignor: str = "range"
    commits: Mapping[tuple[str, int], int | Commit] = field(default_factory=dict)
    members: Sequence[Struct] = ()
    subscribed: Collection[str] = ()
    epoch: int = 4
    error: int = 0
    lags: Mapping[tuple[str, int], int] = field(default_factory=dict)
    topology: Struct | None = None
    nodes: Struct | None = None


class ScriptedCluster(ScriptedChanges, ScriptedLogs, ScriptedKinds):
    """Brokers 1 to `brokers`; use it as a context manager, or close it.

    `topics` maps a topic to the leader of each of its partitions. `ends` and `starts` have log end and log start
    offsets, 100 and 0 by default. `advertised` replaces the address of a broker in Metadata responses.
    Tests may fill `records` with the timestamps of a partition's records, which also set its log end offset,
    `stable` with last stable offsets that differ from the log end offsets, and `producers` with those that wrote.
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
        self.cluster_id = "scripted"
        self.groups = dict(groups or {})
        self.topics = dict(topics or {})
        self.ends = dict(ends or {})
        self.starts = dict(starts or {})
        self.records: dict[tuple[str, int], Sequence[int]] = {}
        self.stable: dict[tuple[str, int], int] = {}
        self.producers: dict[tuple[str, int], Sequence[Struct]] = {}
        self.recreations: dict[str, int] = {}
        self.clock = SimulatedClock()
        self.brokers = {
            number: ScriptedBroker(self._respond, number=number, versions=versions, clock=self.clock)
            for number in range(1, brokers + 1)
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
        """Close one broker, which stays in the Metadata responses of the others."""
        self.brokers[number].close()

    def script(self, api: str, *reactions: Reaction, brokers: Iterable[int] | None = None) -> None:
        """Apply the reactions to the next requests of an API, at each broker or at `brokers`."""
        for number in brokers or self.brokers:
            self.brokers[number].script(api, *reactions)

    def settings(self, **values: Any) -> ConnectionSettings:
        """Return connection settings with the first broker as bootstrap server."""
        return self.brokers[1].settings(**values)

    def admin(self, *, progress: Progress | None = None, **values: Any) -> GroupAdmin:
        """Return a client of this cluster that waits with its clock."""
        return self.clock.client(self.settings(**values), progress=progress)

    def requests_of(self, api: str) -> list[ReceivedRequest]:
        """Return every request of an API that the brokers received, in order of time."""
        rows = (request for broker in self.brokers.values() for request in broker.received if request.api == api)
        return sorted(rows, key=lambda request: request.number)

    def requests(self) -> Counter[str]:
        """Return the number of requests of each API, connection set-up excluded."""
        return Counter(
            request.api
            for broker in self.brokers.values()
            for request in broker.received
            if request.api != "ApiVersions" and not (request.api == "Metadata" and request.body["topics"] == [])
        )

    def topic_id(self, name: str) -> UUID:
        """Return the id of a topic; `recreations` counts how often it was deleted and recreated."""
        return topic_id(f"{name}{'+' * self.recreations.get(name, 0)}")

    def _respond(self, request: ReceivedRequest) -> Struct:
        response: Struct = getattr(self, f"_respond_{request.api}")(request)
        return response

    def _respond_Metadata(self, request: ReceivedRequest) -> Struct:
        return {
            "brokers": [{"node_id": number, **_address(at)} for number, at in self.addresses.items()],
            "cluster_id": self.cluster_id,
            "controller_id": 1,
            "topics": [self._topic(name) for name in self.topics]
            if request.body["topics"] is None
            else [self._requested_topic(topic) for topic in request.body["topics"]],
        }

    def _requested_topic(self, topic: Struct) -> Struct:
        if topic["name"] is not None:
            return self._topic(topic["name"])
        names = {self.topic_id(name): name for name in self.topics}
        if topic["topic_id"] in names:
            return self._topic(names[topic["topic_id"]])
        return {"error_code": _UNKNOWN_TOPIC_ID, "name": None, "topic_id": topic["topic_id"], "partitions": []}

    def _topic(self, name: str) -> Struct:
        leaders = self.topics.get(name)
        return {
            "error_code": 0 if leaders is not None else _UNKNOWN_TOPIC,
            "name": name,
            "topic_id": self.topic_id(name),
            "is_internal": name.startswith("__"),
            "partitions": [
                {"partition_index": partition, "leader_id": leader} for partition, leader in (leaders or {}).items()
            ],
        }

    def _respond_FindCoordinator(self, request: ReceivedRequest) -> Struct:
        rows = [self._coordinator(group) for group in request.body["coordinator_keys"] or [request.body["key"]]]
        return {**rows[0], "coordinators": rows}

    def _coordinator(self, group: str) -> Struct:
        # Kafka hashes any id to a coordinator, that of an absent group too.
        number = self.groups.get(group, Group()).coordinator
        return {"key": group, "node_id": number, **_address(self.addresses[number])}

    def _respond_ListGroups(self, request: ReceivedRequest) -> Struct:
        states = {state.lower() for state in request.body["states_filter"]}
        types = {kind.lower() for kind in request.body["types_filter"]}
        rows = [
            {
                "group_id": name,
                "protocol_type": group.protocol_type,
                "group_state": group.state,
                "group_type": group.type,
            }
            for name, group in self.groups.items()
            if group.coordinator == request.broker
            and (not states or group.state.lower() in states)
            and (not types or group.type.lower() in types)
        ]
        return {"groups": rows}

    def _respond_OffsetFetch(self, request: ReceivedRequest) -> Struct:
        wanted = request.body["groups"] or [request.body]
        rows = [self._offsets(request.broker, group["group_id"], group["topics"]) for group in wanted]
        return {**rows[0], "groups": rows}

    def _offsets(self, broker: int, name: str, topics: Sequence[Struct] | None) -> Struct:
        group = self.groups.get(name, Group())
        error = _NOT_COORDINATOR if group.coordinator != broker else group.error
        if error:
            return {"group_id": name, "topics": [], "error_code": error}
        if group.type == "Share":
            # Kafka returns no commits of a share group, and no error either (tried on 4.3.1).
            group = Group()
        named = [(topic["name"], partition) for topic in topics or () for partition in topic["partition_indexes"]]
        rows: dict[str, list[Struct]] = {}
        for topic, partition in named if topics is not None else group.commits:
            commit = group.commits.get((topic, partition), -1)
            rows.setdefault(topic, []).append(_commit_row(partition, commit))
        return {"group_id": name, "topics": [{"name": topic, "partitions": rows[topic]} for topic in rows]}

    def _respond_ConsumerGroupDescribe(self, request: ReceivedRequest) -> Struct:
        return {"groups": [self._consumer_group(request.broker, name) for name in request.body["group_ids"]]}

    def _consumer_group(self, broker: int, name: str) -> Struct:
        group = self.groups.get(name)
        fault = self._fault(group, broker, of_type="Consumer")
        row: Struct = {"group_id": name, "error_code": fault}
        if group is None or fault:
            message = f"Group {name} is not a consumer group." if group else f"Group {name} not found."
            return {**row, "error_message": message if fault == _GROUP_NOT_FOUND else None}
        epochs = {"group_epoch": group.epoch, "assignment_epoch": group.epoch}
        return {**row, **epochs, "group_state": group.state, "assignor_name": group.assignor, "members": group.members}

    def _respond_DescribeGroups(self, request: ReceivedRequest) -> Struct:
        return {"groups": [self._classic_group(request, name) for name in request.body["groups"]]}

    def _classic_group(self, request: ReceivedRequest, name: str) -> Struct:
        group = self.groups.get(name)
        fault = self._fault(group, request.broker, of_type="Classic")
        if fault == _GROUP_NOT_FOUND and request.version < 6:
            return {"group_id": name, "group_state": "Dead"}
        if group is None or fault:
            message = f"Group {name} is not a classic group." if group else f"Group {name} not found."
            return {
                "group_id": name,
                "error_code": fault,
                "error_message": message if fault == _GROUP_NOT_FOUND else None,
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


def topic_id(name: str) -> UUID:
    """Return the id that a cluster assigns to a topic of this name."""
    return uuid5(NAMESPACE_OID, name)


def _address(endpoint: Endpoint) -> Struct:
    return {"host": endpoint.host, "port": endpoint.port}


def _commit_row(partition: int, commit: int | Commit) -> Struct:
    row = commit if isinstance(commit, Commit) else Commit(offset=commit)
    return {
        "partition_index": partition,
        "committed_offset": row.offset,
        "committed_leader_epoch": row.epoch,
        "metadata": row.metadata,
        "error_code": row.error,
    }
