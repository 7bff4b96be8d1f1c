"""Records other than commits, as the struct `event` of the columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from kafka_groups.pipeline.decode.event_types import event_type_of
from kafka_groups.pipeline.decode.keys import Key
from kafka_groups.pipeline.decode.texts import json_text, microseconds, topic_id_text
from kafka_groups.pipeline.decode.types import BY_ID
from kafka_groups.pipeline.decode.values.classic import read_assignment, read_subscription
from kafka_groups.protocol import Struct

# What consumers call themselves in a classic group; Connect says "connect", and its bytes have another layout.
_CONSUMER: Final = "consumer"

# MemberState of org.apache.kafka.coordinator.group.modern and .streams (4.4.0): not the same numbers.
_MEMBER_STATES: Final = MappingProxyType({0: "STABLE", 1: "UNREVOKED_PARTITIONS", 2: "UNRELEASED_PARTITIONS"})
_STREAMS_MEMBER_STATES: Final = MappingProxyType({1: "STABLE", 2: "UNREVOKED_TASKS", 3: "UNRELEASED_TASKS"})
_NEW_STATE: Final = "UNKNOWN"


def event_of(type_id: int, key: Key, value: Struct | None) -> dict[str, Any]:
    """Return the event of a record, from its key and its value (None for a tombstone)."""
    said = {} if value is None else dict(value)
    # A column of its own for one type of key would be empty everywhere else.
    if key.regular_expression is not None:
        said = {"regular_expression": key.regular_expression, **said}
    return {
        "type": BY_ID[type_id].name,
        "event_type": event_type_of(type_id, value),
        "member_id": key.member_id,
        "details": json_text(said) if said else None,
        **({} if value is None else _COLUMNS[type_id](value)),
    }


def _classic_group(value: Struct) -> dict[str, Any]:
    is_consumer = value["protocol_type"] == _CONSUMER
    members = [_classic_member(member, is_consumer=is_consumer) for member in value["members"]]
    return {
        "epoch": value["generation"],
        "protocol_type": value["protocol_type"],
        "protocol": value["protocol"],
        "leader": value["leader"],
        "state_time": microseconds(value["current_state_timestamp"]),
        "members": members,
    }


def _classic_member(member: Struct, *, is_consumer: bool) -> dict[str, Any]:
    subscription = read_subscription(member["subscription"]) if is_consumer else None
    assignment = read_assignment(member["assignment"]) if is_consumer else None
    return {
        "member_id": member["member_id"],
        "group_instance_id": member["group_instance_id"],
        "client_id": member["client_id"],
        "client_host": member["client_host"],
        # Brokers older than 0.10.1 had no such timeout (-1).
        "rebalance_timeout_ms": None if member["rebalance_timeout"] < 0 else member["rebalance_timeout"],
        "session_timeout_ms": member["session_timeout"],
        "topics": None if subscription is None else subscription["topics"],
        "assignment": None if assignment is None else assignment["assigned_partitions"],
    }


def _group_epoch(value: Struct) -> dict[str, Any]:
    return {"epoch": value["epoch"]}


def _subscribed_partitions(value: Struct) -> dict[str, Any]:
    return {"topics": [topic["topic_name"] for topic in value["topics"]]}


def _member(value: Struct) -> dict[str, Any]:
    return {
        "group_instance_id": value.get("instance_id"),
        "client_id": value["client_id"],
        "client_host": value["client_host"],
        "topics": value.get("subscribed_topic_names"),
    }


def _target_epoch(value: Struct) -> dict[str, Any]:
    # Brokers before 4.3 do not say when (0).
    return {"epoch": value["assignment_epoch"], "state_time": microseconds(value["assignment_timestamp"] or -1)}


def _target_assignment(value: Struct) -> dict[str, Any]:
    return {"assignment": _partitions(value["topic_partitions"])}


def _member_assignment(value: Struct) -> dict[str, Any]:
    pending = value.get("partitions_pending_revocation")
    return {
        "epoch": value["member_epoch"],
        "previous_epoch": value["previous_member_epoch"],
        "member_state": _MEMBER_STATES.get(_state(value), _NEW_STATE),
        "assignment": _partitions(value["assigned_partitions"]),
        "pending_revocation": None if pending is None else _partitions(pending),
    }


def _state(value: Struct) -> int:
    """Return the state of a member; in the early access of 3.7 what it had to give up, and then to get, showed it."""
    if "state" in value:
        return int(value["state"])
    return 1 if value["partitions_pending_revocation"] else 2 if value["partitions_pending_assignment"] else 0


def _share_partitions(value: Struct) -> dict[str, Any]:
    topics = [*value.get("initializing_topics", []), *value["initialized_topics"]]
    return {"topics": sorted({topic["topic_name"] for topic in topics})}


def _resolved_expression(value: Struct) -> dict[str, Any]:
    return {"topics": value["topics"], "state_time": microseconds(value["timestamp"])}


def _streams_assignment(value: Struct) -> dict[str, Any]:
    return {
        "epoch": value["member_epoch"],
        "previous_epoch": value["previous_member_epoch"],
        "member_state": _STREAMS_MEMBER_STATES.get(value["state"], _NEW_STATE),
    }


def _topology(value: Struct) -> dict[str, Any]:
    topics = {topic for subtopology in value["subtopologies"] for topic in subtopology["source_topics"]}
    return {"epoch": value["epoch"], "topics": sorted(topics)}


def _tasks(_value: Struct) -> dict[str, Any]:
    # Tasks are partitions of subtopologies, not of topics; details have them.
    return {}


def _partitions(topics: Iterable[Struct]) -> list[dict[str, Any]]:
    return [{"topic_id": topic_id_text(topic["topic_id"].bytes), "partitions": topic["partitions"]} for topic in topics]


_COLUMNS: Final[Mapping[int, Callable[[Struct], dict[str, Any]]]] = MappingProxyType(
    {
        2: _classic_group,
        3: _group_epoch,
        4: _subscribed_partitions,
        5: _member,
        6: _target_epoch,
        7: _target_assignment,
        8: _member_assignment,
        10: _member,
        11: _group_epoch,
        12: _target_epoch,
        13: _target_assignment,
        14: _member_assignment,
        15: _share_partitions,
        16: _resolved_expression,
        17: _group_epoch,
        19: _member,
        20: _target_epoch,
        21: _tasks,
        22: _streams_assignment,
        23: _topology,
    }
)
