"""The decoder of events: records other than commits, as the struct `event` of DecodedRecords."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final
from uuid import UUID

from kafka_groups.kinds import SIMPLE, find_kind
from kafka_groups.members import SubtopologyTasks, TaskAssignment
from kafka_groups.pipeline.facts.decode.conversions import microseconds, topic_id_text
from kafka_groups.pipeline.facts.decode.record_schemas import (
    CONSUMER_PROTOCOL_ASSIGNMENT,
    CONSUMER_PROTOCOL_SUBSCRIPTION,
)
from kafka_groups.pipeline.facts.decode.record_types import PREFIX_BYTES, RecordType, read_prefix
from kafka_groups.pipeline.facts.decode.task_elements import task_row, worker_row
from kafka_groups.protocol import Cursor, Read, SchemaError, Struct, compile_reader
from kafka_groups.protocol.connect_protocol import decode_worker

# All versions of the consumer protocol begin with the fields of version 0.
_READ_SUBSCRIPTION: Final = compile_reader(CONSUMER_PROTOCOL_SUBSCRIPTION, version=0, flexible=False)
_READ_ASSIGNMENT: Final = compile_reader(CONSUMER_PROTOCOL_ASSIGNMENT, version=0, flexible=False)
# MemberState of org.apache.kafka.coordinator.group.modern and of …group.streams (4.4.0), which have other numbers.
_MEMBER_STATES: Final = {0: "STABLE", 1: "UNREVOKED_PARTITIONS", 2: "UNRELEASED_PARTITIONS"}
_STREAMS_MEMBER_STATES: Final = {1: "STABLE", 2: "UNREVOKED_TASKS", 3: "UNRELEASED_TASKS"}
# The keys are names of record types. Other types have no state of a member.
_STATES_BY_TYPE: Final = {
    "ConsumerGroupCurrentMemberAssignment": _MEMBER_STATES,
    "ShareGroupCurrentMemberAssignment": _MEMBER_STATES,
    "StreamsGroupCurrentMemberAssignment": _STREAMS_MEMBER_STATES,
}
# LEAVE_GROUP_STATIC_MEMBER_EPOCH of ConsumerGroupHeartbeatRequest and of StreamsGroupHeartbeatRequest.
_STATIC_MEMBER_AWAY: Final = -2


def _to_json_text(id_or_bytes: bytes | UUID) -> str:
    """Return an id or bytes as text, because JSON has neither: an id as Kafka prints it, bytes in base64."""
    if isinstance(id_or_bytes, UUID):
        # JSON has the zero id, too, which `topic_id_text` returns as None.
        return topic_id_text(id_or_bytes.bytes) or "A" * 22
    return b64encode(id_or_bytes).decode()


_JSON: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=_to_json_text)


def event_columns(record_type: RecordType, key: Struct, value: Struct | None) -> dict[str, Any]:
    """Return the fields of the struct `event` of a record, by name.

    `key` and `value` are the fields that `record_types` has read; the value of a tombstone is None.
    """
    fields = value or {}
    return {
        "record_name": record_type.name,
        "event_type": _find_event_type(record_type, value),
        "epoch": _get_first(fields, "epoch", "assignment_epoch", "member_epoch", "generation"),
        "previous_epoch": fields.get("previous_member_epoch"),
        "member_id": key.get("member_id"),
        "member_state": _find_member_state(record_type, fields),
        "group_instance_id": fields.get("instance_id"),
        "client_id": fields.get("client_id"),
        "client_host": fields.get("client_host"),
        "protocol_type": fields.get("protocol_type"),
        "protocol": fields.get("protocol"),
        "leader": fields.get("leader"),
        "state_time": _find_state_time(fields),
        "topics": _read_topics(fields),
        "members": _read_classic_members(fields) if "members" in fields else None,
        "assignment": _read_assignment(_get_first(fields, "topic_partitions", "assigned_partitions")),
        "pending_revocation": _read_assignment(fields.get("partitions_pending_revocation")),
        "workers": _read_workers(fields) if "members" in fields else None,
        "tasks": _read_tasks(key, fields, suffix="_tasks"),
        "tasks_pending_revocation": _read_tasks(key, fields, suffix="_tasks_pending_revocation"),
        "details": _encode_details(key, fields),
    }


def _find_event_type(record_type: RecordType, value: Struct | None) -> str:
    if value is None:
        return record_type.removed
    if value.get("members") == []:
        return "group_emptied"
    if value.get("member_epoch") == _STATIC_MEMBER_AWAY:
        return "static_member_away"
    return record_type.written


def _get_first(fields: Struct, *names: str) -> Any:
    """Return the value of the first of these fields that the struct has; None if it has none of them."""
    return next((fields[name] for name in names if name in fields), None)


def _find_member_state(record_type: RecordType, fields: Struct) -> str | None:
    """Return the name of a member's state, "UNKNOWN" for an unknown number; None for records without a state."""
    if "state" not in fields:
        return None
    states = _STATES_BY_TYPE.get(record_type.name, {})
    return states.get(fields["state"], "UNKNOWN")


def _find_state_time(fields: Struct) -> int | None:
    """Return the time of the group's state, of a target assignment or of a resolved expression, in µs since 1970."""
    # Brokers before 4.3 write 0 as the time of a target assignment.
    time_ms = fields.get("assignment_timestamp") or _get_first(fields, "current_state_timestamp", "timestamp")
    return None if time_ms is None else microseconds(time_ms)


def _read_topics(fields: Struct) -> list[str] | None:
    """Return the names of the topics that a group or a member reads; None for records without topics."""
    if "subtopologies" in fields:
        return sorted({topic for subtopology in fields["subtopologies"] for topic in subtopology["source_topics"]})
    if "initialized_topics" in fields:
        topic_structs = [*fields.get("initializing_topics", ()), *fields["initialized_topics"]]
        return sorted({topic["topic_name"] for topic in topic_structs})
    topics = _get_first(fields, "topics", "subscribed_topic_names")
    if topics is None:
        return None
    return [topic["topic_name"] if isinstance(topic, dict) else topic for topic in topics]


def _encode_details(key: Struct, fields: Struct) -> str | None:
    """Return the fields of the value as JSON, after a regular expression in the key; None if there are neither."""
    details = dict(fields)
    # Only one type of record has an expression in its key, so it has no column of its own.
    if "regular_expression" in key:
        details = {"regular_expression": key["regular_expression"], **fields}
    return _JSON.encode(details) if details else None


def _read_assignment(assigned_topics: Iterable[Struct] | None) -> list[dict[str, Any]] | None:
    """Return an assignment with topic ids as texts; None for records without an assignment."""
    if assigned_topics is None:
        return None
    return [
        {"topic_id": topic_id_text(topic["topic_id"].bytes), "partitions": topic["partitions"]}
        for topic in assigned_topics
    ]


def _read_workers(fields: Struct) -> list[dict[str, Any]] | None:
    """Return the workers of a Connect group with what they run; None for other groups."""
    if not find_kind(SIMPLE.group_type, fields["protocol_type"]).has_workers:
        return None
    return [
        worker_row(member["member_id"], decode_worker(member["subscription"], member["assignment"]))
        for member in fields["members"]
    ]


def _read_tasks(key: Struct, fields: Struct, *, suffix: str) -> list[dict[str, Any]] | None:
    """Return the tasks of the record's member, from the fields with this suffix; None for records without tasks."""
    if f"active{suffix}" not in fields:
        return None
    tasks_of_roles = [
        tuple(
            SubtopologyTasks(tasks["subtopology_id"], tuple(tasks["partitions"])) for tasks in fields[f"{role}{suffix}"]
        )
        for role in TaskAssignment._fields
    ]
    return [task_row(key["member_id"], TaskAssignment(*tasks_of_roles))]


def _read_classic_members(fields: Struct) -> list[dict[str, Any]]:
    """Return the members of a classic group. Their topics and partitions are None if they are not consumers."""
    # The bytes of Kafka Connect's workers, for example, have another layout.
    has_consumers = find_kind(SIMPLE.group_type, fields["protocol_type"]).has_consumer_members
    return [_read_classic_member(member, is_consumer=has_consumers) for member in fields["members"]]


def _read_classic_member(member: Struct, *, is_consumer: bool) -> dict[str, Any]:
    subscription: Struct = {}
    assignment: Struct = {}
    if is_consumer:
        subscription = _read_consumer_bytes(member["subscription"], _READ_SUBSCRIPTION)
        assignment = _read_consumer_bytes(member["assignment"], _READ_ASSIGNMENT)
    return {
        "member_id": member["member_id"],
        "group_instance_id": member["group_instance_id"],
        "client_id": member["client_id"],
        "client_host": member["client_host"],
        # Brokers older than 0.10.1 had no such timeout (-1).
        "rebalance_timeout_ms": None if member["rebalance_timeout"] < 0 else member["rebalance_timeout"],
        "session_timeout_ms": member["session_timeout"],
        "topics": subscription.get("topics"),
        "assignment": assignment.get("assigned_partitions"),
    }


def _read_consumer_bytes(data: bytes, read: Read) -> Struct:
    """Return the fields of a subscription or an assignment that a consumer wrote; no fields for other bytes."""
    version = read_prefix(data)
    if version is None or version < 0:
        return {}
    with suppress(SchemaError):
        fields: Struct = read(Cursor(data, PREFIX_BYTES))
        return fields
    return {}
