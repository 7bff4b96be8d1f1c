"""The JSON Schemas of the documents that commands print. Keys are only ever added: readers skip what they do not know.

A row of `--format ndjson` stands under `$defs` of the document whose command prints it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from kafka_groups.model import GROUP_STATES, GROUP_TYPES

Schema = dict[str, Any]

# For what happened on our side (contract: JSON).
OWN_ERROR_NAMES: Final = (
    "TIMEOUT",
    "NAME_NOT_RESOLVED",
    "CONNECTION_FAILED",
    "TLS_FAILED",
    "AUTHENTICATION_FAILED",
    "UNSUPPORTED_VERSION",
    "MISSING_FROM_RESPONSE",
    "MALFORMED_RESPONSE",
)
_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


def _text(told: str, *, nullable: bool = False, **more: Any) -> Schema:
    return {"description": told, "type": ["string", "null"] if nullable else "string", **more}


def _number(told: str, *, nullable: bool = True, minimum: int | None = 0) -> Schema:
    bound = {} if minimum is None else {"minimum": minimum}
    return {"description": told, "type": ["integer", "null"] if nullable else "integer", **bound}


def _objects(told: str, keys: Mapping[str, Schema], *, nullable: bool = False) -> Schema:
    return {"description": told, "type": ["array", "null"] if nullable else "array", "items": _object(keys)}


def _object(keys: Mapping[str, Schema], **more: Any) -> Schema:
    return {"type": "object", "required": list(keys), "properties": dict(keys), "additionalProperties": True, **more}


_GROUP: Final = _text("The group's id.")
_TOPIC: Final = _text("The topic's name.")
_PARTITION: Final = _number("The partition's number.", nullable=False)
_COMMITTED: Final = _number("The committed offset; null if nothing is committed.")
_LEADER_EPOCH: Final = _number("The leader epoch of the commit; null if the commit has none.")
_METADATA: Final = _text("The metadata of the commit, often empty; null if nothing is committed.", nullable=True)
_HOST: Final = _text("The member's host, as the broker saw it.")
_CLIENT_ID: Final = _text("The member's client id.")

_LISTING: Final = {
    "group": _GROUP,
    "type": _text(
        f"{', '.join(GROUP_TYPES)} as Kafka's tools print them; null if the broker does not tell.", nullable=True
    ),
    "state": _text(f"{', '.join(GROUP_STATES)} as Kafka's tools print them; null if it is not known.", nullable=True),
    "protocol_type": _text(
        "consumer, connect, share, streams or another; empty for a group that only has commits.", nullable=True
    ),
}
_COMMIT: Final = {
    "topic": _TOPIC,
    "partition": _PARTITION,
    "committed_offset": _COMMITTED,
    "leader_epoch": _LEADER_EPOCH,
    "metadata": _METADATA,
}
_OFFSET: Final = {
    **_COMMIT,
    "log_end_offset": _number("The offset after the partition's last record; null if it could not be told."),
    "lag": _number("log_end_offset - committed_offset, may be negative; null if either is.", minimum=None),
    "log_start_offset": _number("The partition's first offset; null without --verbose."),
    "member_id": _text("The member that owns the partition; null if none does.", nullable=True),
    "host": {**_HOST, "type": ["string", "null"]},
    "client_id": {**_CLIENT_ID, "type": ["string", "null"]},
}
_PARTITIONS: Final = {
    "topic": _TOPIC,
    "partitions": {"description": "Numbers, ascending.", "type": "array", "items": {"type": "integer", "minimum": 0}},
}
_MEMBER: Final = {
    "member_id": _text("The member's id."),
    "group_instance_id": _text("The id of a static member; null for a dynamic one.", nullable=True),
    "host": _HOST,
    "client_id": _CLIENT_ID,
    "epoch": _number("The member's epoch; null in a classic group.", minimum=None),
    "assignment": _objects("What the member owns, by topic.", _PARTITIONS),
    "target_epoch": _number("The epoch of the target assignment; null in a classic group."),
    "target_assignment": _objects("What the member is to own; null in a classic group.", _PARTITIONS, nullable=True),
    "upgraded": {
        "description": "Whether a member of a KIP-848 group speaks KIP-848; null if the broker does not tell.",
        "type": ["boolean", "null"],
    },
}
_COORDINATOR: Final = {
    "description": "The broker that coordinates the group; null if it is not known.",
    **_object(
        {
            "id": _number("The broker's id.", nullable=False),
            "host": _text("The host that it advertises."),
            "port": _number("The port that it advertises.", nullable=False),
        }
    ),
    "type": ["object", "null"],
}
_STATE: Final = {
    **_LISTING,
    "coordinator": _COORDINATOR,
    "assignor": _text("The assignment strategy; null if the group has none.", nullable=True),
    "group_epoch": _number("The group's epoch; null for a classic group."),
    "target_assignment_epoch": _number("The epoch of the target assignment; null for a classic group."),
}
_DESCRIPTION: Final = {
    **_STATE,
    "offsets": _objects("A partition that a member owns or that has a commit.", _OFFSET),
    "members": _objects("A member; those with the most partitions first.", _MEMBER),
}
_ERROR: Final = _object(
    {
        "group": _text("The group that failed; null if it was none.", nullable=True),
        "topic": _text("The topic that failed; null if it was none.", nullable=True),
        "partition": _number("The partition that failed; null if it was none."),
        "broker": _number("The broker that failed; null if it was none."),
        "code": _number("Kafka's error code; null for what happened on our side.", minimum=None),
        "name": _text(f"Kafka's name of the code; where that is null one of {', '.join(OWN_ERROR_NAMES)}."),
        "message": _text("A sentence for people."),
    },
    **{
        "if": {"properties": {"code": {"type": "null"}}},
        "then": {"properties": {"name": {"enum": list(OWN_ERROR_NAMES)}}},
    },
)


def _document(command: str, keys: Mapping[str, Schema], rows: Mapping[str, Mapping[str, Schema]]) -> Schema:
    name = f"kafka-groups/{command}/1"
    told = _object(
        {
            "schema": {"description": "Which document this is. The number grows if a key goes.", "const": name},
            "status": {
                "description": "complete: all was answered. partial: see errors. failed: nothing was answered.",
                "enum": ["complete", "partial", "failed"],
            },
            "groups": _objects("The groups that were answered.", keys),
            "errors": {"description": "What was not answered, and why.", "type": "array", "items": _ERROR},
        }
    )
    records = {row: _object(properties, description="A line of --format ndjson.") for row, properties in rows.items()}
    return {"$schema": _DRAFT, "title": f"kafka-groups {command} --format json", **told, "$defs": records}


SCHEMAS: Final[Mapping[str, Schema]] = {
    "list": _document("list", _LISTING, {"row": _LISTING}),
    "describe": _document(
        "describe",
        _DESCRIPTION,
        {
            "offsets_row": {"group": _GROUP, **_OFFSET},
            "members_row": {"group": _GROUP, **_MEMBER},
            "state_row": {**_STATE, "members": _number("How many members the group has.", nullable=False)},
        },
    ),
    "offsets": _document(
        "offsets",
        {"group": _GROUP, "offsets": _objects("A partition with a commit, or one that --topic names.", _COMMIT)},
        {"row": {"group": _GROUP, **_COMMIT}},
    ),
}
