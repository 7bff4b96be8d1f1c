"""Records other than commits, as the struct `event` of the columns."""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final
from uuid import UUID

from kafka_groups.kinds import SIMPLE, find_kind
from kafka_groups.pipeline.facts.decode.columns import microseconds, topic_id_text
from kafka_groups.pipeline.facts.decode.record_types import PREFIX_BYTES, SCHEMAS, RecordType, read_prefix
from kafka_groups.protocol import Cursor, SchemaError, Struct, compile_reader

_CONSUMER_PROTOCOL: Final = {
    "topics": compile_reader(SCHEMAS["ConsumerProtocolSubscription"], version=0, flexible=False),
    "assigned_partitions": compile_reader(SCHEMAS["ConsumerProtocolAssignment"], version=0, flexible=False),
}
# MemberState of org.apache.kafka.coordinator.group.modern and .streams (4.4.0): not the same numbers.
_MEMBER_STATES: Final = {0: "STABLE", 1: "UNREVOKED_PARTITIONS", 2: "UNRELEASED_PARTITIONS"}
_STREAMS_MEMBER_STATES: Final = {1: "STABLE", 2: "UNREVOKED_TASKS", 3: "UNRELEASED_TASKS"}
# The states by the type of the record that has one.
_STATES_OF: Final = {
    "ConsumerGroupCurrentMemberAssignment": _MEMBER_STATES,
    "ShareGroupCurrentMemberAssignment": _MEMBER_STATES,
    "StreamsGroupCurrentMemberAssignment": _STREAMS_MEMBER_STATES,
}
# LEAVE_GROUP_STATIC_MEMBER_EPOCH of ConsumerGroupHeartbeatRequest, and of its sister for streams groups.
_STATIC_MEMBER_AWAY: Final = -2


def _plain(value: bytes | UUID) -> str:
    """Return what JSON does not have as text: bytes in base64, ids as Kafka prints them."""
    return urlsafe_b64encode(value.bytes)[:-2].decode() if isinstance(value, UUID) else b64encode(value).decode()


_JSON: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_plain)


def event_of(record_type: RecordType, names: Struct, value: Struct | None) -> dict[str, Any]:
    """Return the event of a record, from the names in its key and its value (None for a tombstone)."""
    # A column of its own for one type of key would be empty everywhere else.
    regex = {name: text for name, text in names.items() if name == "regular_expression"}
    said = value or {}
    states = _STATES_OF.get(record_type.name, {})
    return {
        "type": record_type.name,
        "event_type": _event_type(record_type, value),
        "epoch": _first(said, "epoch", "assignment_epoch", "member_epoch", "generation"),
        "previous_epoch": said.get("previous_member_epoch"),
        "member_id": names.get("member_id"),
        "member_state": states.get(said["state"], "UNKNOWN") if "state" in said else None,
        "group_instance_id": said.get("instance_id"),
        **{name: said.get(name) for name in ("client_id", "client_host", "protocol_type", "protocol", "leader")},
        "state_time": _state_time(said),
        "topics": _topics(said),
        "members": _classic_members(said) if "members" in said else None,
        "assignment": _assignment(_first(said, "topic_partitions", "assigned_partitions")),
        "pending_revocation": _assignment(said.get("partitions_pending_revocation")),
        "details": _JSON.encode(regex | said) if regex or said else None,
    }


def _event_type(record_type: RecordType, value: Struct | None) -> str:
    if value is None:
        return record_type.removed
    if value.get("members") == []:
        return "group_emptied"
    return "static_member_away" if value.get("member_epoch") == _STATIC_MEMBER_AWAY else record_type.written


def _first(value: Struct, *names: str) -> Any:
    return next((value[name] for name in names if name in value), None)


def _state_time(value: Struct) -> int | None:
    # Brokers before 4.3 do not say when they computed a target assignment (0).
    known = value.get("assignment_timestamp") or _first(value, "current_state_timestamp", "timestamp")
    return None if known is None else microseconds(known)


def _topics(value: Struct) -> list[str] | None:
    """Return the topics that are in a value: in structs, by name, or as a member's subscription."""
    if "subtopologies" in value:
        return sorted({topic for part in value["subtopologies"] for topic in part["source_topics"]})
    if "initialized_topics" in value:
        topics = [*value.get("initializing_topics", ()), *value["initialized_topics"]]
        return sorted({topic["topic_name"] for topic in topics})
    topics = _first(value, "topics", "subscribed_topic_names")
    return topics and [topic["topic_name"] if isinstance(topic, dict) else topic for topic in topics]


def _assignment(topics: Iterable[Struct] | None) -> list[dict[str, Any]] | None:
    if topics is None:
        return None
    return [{"topic_id": topic_id_text(topic["topic_id"].bytes), "partitions": topic["partitions"]} for topic in topics]


def _classic_members(value: Struct) -> list[dict[str, Any]]:
    # The bytes of Connect's workers, for one, have another layout.
    is_consumer = find_kind(SIMPLE.group_type, value["protocol_type"]).has_consumer_members
    return [
        {
            **{name: member[name] for name in ("member_id", "group_instance_id", "client_id", "client_host")},
            # Brokers older than 0.10.1 had no such timeout (-1).
            "rebalance_timeout_ms": None if member["rebalance_timeout"] < 0 else member["rebalance_timeout"],
            "session_timeout_ms": member["session_timeout"],
            "topics": _of_consumer(member["subscription"], "topics") if is_consumer else None,
            "assignment": _of_consumer(member["assignment"], "assigned_partitions") if is_consumer else None,
        }
        for member in value["members"]
    ]


def _of_consumer(data: bytes, field: str) -> Any:
    """Return a field of what a consumer wrote about its membership; None if these bytes are something else."""
    version = read_prefix(data)
    with suppress(SchemaError):
        if version is not None and version >= 0:
            return _CONSUMER_PROTOCOL[field](Cursor(data, PREFIX_BYTES))[field]
    return None
