"""JSON Schemas (draft 2020-12): the pieces that documents share. Keys are only ever added."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

Schema = dict[str, Any]

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
# The name of the failure in the document of a run that a signal ended.
INTERRUPTED: Final = "INTERRUPTED"
# errors[].name of failures on the client's side, which have no code of Kafka's.
CLIENT_ERROR_NAMES: Final = (
    "TIMEOUT",
    "NAME_NOT_RESOLVED",
    "CONNECTION_FAILED",
    "TLS_FAILED",
    "AUTHENTICATION_FAILED",
    "CONFIG_PROVIDER_FAILED",
    "UNSUPPORTED_VERSION",
    "MISSING_FROM_RESPONSE",
    "MALFORMED_RESPONSE",
    "OUTCOME_UNKNOWN",
    "REFUSED",
    "TOPIC_RECREATED",
    INTERRUPTED,
)


def text_schema(description: str, *, nullable: bool = False, **more: Any) -> Schema:
    """Return the schema of a text."""
    return {"description": description, "type": ["string", "null"] if nullable else "string", **more}


def number_schema(description: str, *, nullable: bool = True, minimum: int | None = 0) -> Schema:
    """Return the schema of an integer."""
    limit = {} if minimum is None else {"minimum": minimum}
    return {"description": description, "type": ["integer", "null"] if nullable else "integer", **limit}


def array_schema(description: str, items: Schema, *, nullable: bool = False) -> Schema:
    """Return the schema of an array."""
    return {"description": description, "type": ["array", "null"] if nullable else "array", "items": items}


def object_schema(properties: Mapping[str, Schema], **more: Any) -> Schema:
    """Return the schema of an object that has all of these keys, and maybe others."""
    return {
        "type": "object",
        "required": list(properties),
        "properties": dict(properties),
        "additionalProperties": True,
        **more,
    }


_ERROR: Final = object_schema(
    {
        "group": text_schema("The group that failed; null if none did.", nullable=True),
        "topic": text_schema("The topic that failed; null if none did.", nullable=True),
        "partition": number_schema("The partition that failed; null if none did."),
        "broker": number_schema("The broker that failed; null if none did."),
        "code": number_schema("Kafka's error code; null for a failure on the client's side.", minimum=None),
        "name": text_schema(f"Kafka's name of the code; without a code one of {', '.join(CLIENT_ERROR_NAMES)}."),
        "message": text_schema("A sentence for people."),
    },
    **{
        "if": {"properties": {"code": {"type": "null"}}},
        "then": {"properties": {"name": {"enum": list(CLIENT_ERROR_NAMES)}}},
    },
)


def document_schema(command: str, group: Mapping[str, Schema], rows: Mapping[str, Mapping[str, Schema]]) -> Schema:
    """Return the schema of a command's document; `rows` are those of --format ndjson, which stand under `$defs`."""
    document = object_schema(
        {
            "schema": {
                "description": "The schema of the document. Its number grows if a key is removed.",
                "const": f"kafka-groups/{command}/1",
            },
            "status": {
                "description": "complete: nothing failed. partial: see errors. failed: everything failed, or a "
                "condition was not checked, because no group matches.",
                "enum": ["complete", "partial", "failed"],
            },
            "groups": array_schema("The groups that succeeded.", object_schema(group)),
            "errors": {"description": "The items that failed.", "type": "array", "items": _ERROR},
        }
    )
    lines = {row: object_schema(keys, description="A line of --format ndjson.") for row, keys in rows.items()}
    return {"$schema": DRAFT, "title": f"kafka-groups {command} --format json", **document, "$defs": lines}
