"""JSON Schemas (draft 2020-12): the pieces that documents share. Keys are only ever added."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from kafka_groups.groups.notes import NoteKind

Schema = dict[str, Any]
# A JSON object.
Document = dict[str, Any]

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"
_FAILED: Final = "everything failed, or a condition was not checked, because no group matches."
# The name of the failure in the document of a run that a signal ended.
INTERRUPTED: Final = "INTERRUPTED"
# errors[].name of failures on the client's side, which have no code of Kafka's.
CLIENT_ERROR_NAMES: Final = (
    "TIMEOUT",
    "NAME_NOT_RESOLVED",
    "CONNECTION_FAILED",
    "TLS_FAILED",
    "AUTHENTICATION_FAILED",
    "TOKEN_FAILED",
    "CONFIG_PROVIDER_FAILED",
    "UNSUPPORTED_VERSION",
    "MISSING_FROM_RESPONSE",
    "MALFORMED_RESPONSE",
    "OUTCOME_UNKNOWN",
    "REFUSED",
    "TOPIC_RECREATED",
    INTERRUPTED,
)


# What a cluster is called in results.
_NAME_OF_CLUSTER: Final = "its profile, else its cluster.name, else its id"


def text_schema(description: str, *, nullable: bool = False, **more: Any) -> Schema:
    """Return the schema of a text."""
    return {"description": description, "type": ["string", "null"] if nullable else "string", **more}


def time_schema(description: str, *, nullable: bool = False) -> Schema:
    """Return the schema of a time in UTC with milliseconds."""
    pattern = r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"
    return text_schema(f"{description} ISO-8601, UTC.", nullable=nullable, format="date-time", pattern=pattern)


def choice_schema(description: str, choices: Iterable[str], *, nullable: bool = False) -> Schema:
    """Return the schema of one of these texts."""
    return {"description": description, "enum": [*choices, None] if nullable else [*choices]}


def boolean_schema(description: str, *, nullable: bool = False) -> Schema:
    """Return the schema of a boolean."""
    return {"description": description, "type": ["boolean", "null"] if nullable else "boolean"}


def number_schema(
    description: str, *, nullable: bool = True, minimum: int | None = 0, kind: str = "integer", **more: Any
) -> Schema:
    """Return the schema of an integer, or of another kind of number."""
    limit = {} if minimum is None else {"minimum": minimum}
    return {"description": description, "type": [kind, "null"] if nullable else kind, **limit, **more}


def array_schema(description: str, items: Schema, *, nullable: bool = False) -> Schema:
    """Return the schema of an array."""
    return {"description": description, "type": ["array", "null"] if nullable else "array", "items": items}


def texts_schema(description: str) -> Schema:
    """Return the schema of an array of texts."""
    return array_schema(description, {"type": "string"})


def object_schema(properties: Mapping[str, Schema], **more: Any) -> Schema:
    """Return the schema of an object that has all of these keys, and maybe others."""
    return {
        "type": "object",
        "required": list(properties),
        "properties": dict(properties),
        "additionalProperties": True,
        **more,
    }


def name_schema(name: str) -> Schema:
    """Return the schema of `schema`, the first key of a document."""
    return {"description": "The schema of the document. Its number grows if a key is removed.", "const": name}


def status_schema(failed: str = _FAILED) -> Schema:
    """Return the schema of `status`; `failed` says when a document has failed."""
    description = f"complete: nothing failed. partial: see errors. failed: {failed}"
    return choice_schema(description, ("complete", "partial", "failed"))


def notes_schema() -> Schema:
    """Return the schema of `notes`."""
    note = object_schema(
        {
            "kind": text_schema(f"What the note is about: {', '.join(NoteKind)}. Later versions may have more."),
            "cluster": text_schema(
                f"The name of the cluster: {_NAME_OF_CLUSTER}; null if the note is about none or several.",
                nullable=True,
            ),
            "group": text_schema("The group that it is about; null if it is about none or several.", nullable=True),
            "text": text_schema("A sentence for people."),
        }
    )
    return array_schema("What is no failure. It is on stderr, too.", note)


def errors_schema(
    description: str = "The items that failed.",
    *,
    names: Sequence[str] = CLIENT_ERROR_NAMES,
    no_code: str = "without a code",
) -> Schema:
    """Return the schema of `errors`. An error has one of these `names` if it has no code."""
    error = object_schema(
        {
            "cluster": text_schema(
                f"The name of the cluster: {_NAME_OF_CLUSTER}; null if it is unknown.", nullable=True
            ),
            "group": text_schema("The group that failed; null if none did.", nullable=True),
            "topic": text_schema("The topic that failed; null if none did.", nullable=True),
            "partition": number_schema("The partition that failed; null if none did."),
            "broker": number_schema("The broker that failed; null if none did."),
            "code": number_schema("Kafka's error code; null for a failure on the client's side.", minimum=None),
            "name": text_schema(f"Kafka's name of the code; {no_code} one of {', '.join(names)}."),
            "message": text_schema("A sentence for people."),
        },
        **{
            "if": {"properties": {"code": {"type": "null"}}},
            "then": {"properties": {"name": {"enum": [*names]}}},
        },
    )
    return array_schema(description, error)


def with_cluster(properties: Mapping[str, Schema]) -> dict[str, Schema]:
    """Return the schemas of a group's values, or of a line's, with those of its cluster before them."""
    return {
        "cluster": text_schema(
            f"The name of the cluster: {_NAME_OF_CLUSTER}; null if it is unknown, as in a check of a cluster that no "
            "request has reached.",
            nullable=True,
        ),
        "cluster_id": text_schema("The id of the cluster; null if it is unknown.", nullable=True),
        **properties,
    }


def line_schema(keys: Mapping[str, Schema]) -> Schema:
    """Return the schema of a line of --format ndjson."""
    return object_schema(keys, description="A line of --format ndjson.")


def titled_schema(title: str, document: Schema, rows: Mapping[str, Schema] | None = None) -> Schema:
    """Return the schema of a document under its title; `rows` are those of --format ndjson, under `$defs`."""
    return {"$schema": _DRAFT, "title": title, **document, **({"$defs": dict(rows)} if rows else {})}


def document_schema(command: str, group: Mapping[str, Schema], rows: Mapping[str, Mapping[str, Schema]]) -> Schema:
    """Return the schema of the document of a command on groups; `rows` are those of --format ndjson."""
    document = object_schema(
        {
            "schema": name_schema(f"kafka-groups/{command}/1"),
            "status": status_schema(),
            "groups": array_schema("The groups that succeeded.", object_schema(with_cluster(group))),
            "notes": notes_schema(),
            "errors": errors_schema(),
        }
    )
    lines = {row: line_schema(with_cluster(keys)) for row, keys in rows.items()}
    return titled_schema(f"kafka-groups {command} --format json", document, lines)
