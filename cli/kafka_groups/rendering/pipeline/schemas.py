"""The JSON Schemas of the pipeline's documents. Keys are only ever added."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

from kafka_groups.rendering.history.schema import history_schema
from kafka_groups.rendering.pipeline.documents import PIPELINE_ERROR_NAMES, schema_name
from kafka_groups.rendering.schemas import CLIENT_ERROR_NAMES
from kafka_groups.rendering.views.list_groups import list_schema

Schema = dict[str, Any]

STATUSES: Final = ("ok", "warning", "failed")


def pipeline_schemas() -> Mapping[str, Schema]:
    """Return the schemas by the name that `kafka-groups schema` takes."""
    summaries = {
        "ingest": {
            "batches": _count("How many batches were written."),
            "records": _count("How many records of __consumer_offsets were read."),
        },
        "sample": {"samples": _count("How many samples were taken.")},
        "backfill": {
            "partitions": _count("How many partitions were looked up."),
            "times": _count("At how many times in the past."),
        },
        "build": {
            "dates": _count("How many dates were derived again."),
            "settings": _SETTINGS,
            "missing": _texts("What is unknown because data is missing, a sentence each."),
        },
        "export": {},
        "compact": {
            "dates": _count("How many dates had files joined, in any table."),
            "files_before": _count("How many files were joined."),
            "files_after": _count("How many they became."),
            "removed_dates": _count("How many dates were removed because of --retention, in any table."),
        },
    }
    made = {
        f"pipeline-{command}": _document(
            command, {**_SUMMARY, **own}, {"row": _NUMBER if command == "compact" else _WRITTEN}
        )
        for command, own in summaries.items()
    }
    return {
        **made,
        "pipeline-report": _report(),
        "pipeline-tables": _document("tables", _TABLES, {"row": _TABLE_ROW, "column_row": _COLUMN_ROW}),
        "pipeline-doctor": _document("doctor", {"checks": _many("What was checked.", _CHECK)}, {"row": _CHECK}),
    }


def _text(description: str, *, nullable: bool = False, **more: Any) -> Schema:
    return {"description": description, "type": ["string", "null"] if nullable else "string", **more}


def _count(description: str) -> Schema:
    return {"description": f"{description} Null if it is not known.", "type": ["integer", "null"], "minimum": 0}


def _many(description: str, keys: Mapping[str, Schema]) -> Schema:
    return {"description": description, "type": "array", "items": _object(keys)}


def _texts(description: str) -> Schema:
    return {"description": description, "type": "array", "items": {"type": "string"}}


def _object(keys: Mapping[str, Schema], **more: Any) -> Schema:
    return {"type": "object", "required": list(keys), "properties": dict(keys), "additionalProperties": True, **more}


def _document(
    command: str, keys: Mapping[str, Schema], rows: Mapping[str, Mapping[str, Schema]] | None = None
) -> Schema:
    shared = list_schema()
    common: dict[str, Schema] = {
        "schema": {
            "description": "The schema of the document. Its number grows if a key is removed.",
            "const": schema_name(command),
        },
        "status": {
            "description": "complete: nothing failed. partial: see errors. failed: everything failed.",
            "enum": ["complete", "partial", "failed"],
        },
        **keys,
        "errors": {"description": "What failed, and why.", "type": "array", "items": _error(shared)},
    }
    body = _body(common)
    records = {
        row: _object(properties, description="A line of --format ndjson.") for row, properties in (rows or {}).items()
    }
    title = f"kafka-groups pipeline {command} --format json"
    return {"$schema": shared["$schema"], "title": title, **body, **({"$defs": records} if records else {})}


def _report() -> Schema:
    """Return the schema of a history's document, which may end early, too; its groups are the lines of ndjson."""
    schema = history_schema()
    group = {**schema["properties"]["groups"]["items"], "description": "A line of --format ndjson."}
    properties: dict[str, Schema] = {
        **schema["properties"],
        "errors": {**schema["properties"]["errors"], "items": _error(list_schema())},
    }
    return {**schema, **_body(properties), "$defs": {"row": group}}


def _body(properties: Mapping[str, Schema]) -> Schema:
    """Return an object with these keys; what ended early has only the reason."""
    return {
        "type": "object",
        "required": ["schema", "status", "errors"],
        "properties": dict(properties),
        "additionalProperties": True,
        "if": {"properties": {"status": {"enum": ["complete", "partial"]}}},
        "then": {"required": list(properties)},
    }


def _error(shared: Schema) -> Schema:
    """Return an error as every command reports it, and the pipeline's own names besides."""
    error = deepcopy(shared["properties"]["errors"]["items"])
    names = [*CLIENT_ERROR_NAMES, *PIPELINE_ERROR_NAMES]
    error["then"]["properties"]["name"]["enum"] = names
    description = f"Kafka's name of the code; where that is null one of {', '.join(names)}."
    error["properties"]["name"]["description"] = description
    return dict(error)


_WRITTEN: Final[Mapping[str, Schema]] = {
    "table": _text("The table's name."),
    "rows": {"description": "How many rows were written to it.", "type": "integer", "minimum": 0},
}
_NUMBER: Final[Mapping[str, Schema]] = {
    "what": _text("The number's name, as in the document."),
    "number": _count("The number."),
}
_SUMMARY: Final[Mapping[str, Schema]] = {
    "cluster_id": _text("Kafka's id of the cluster; null for commands that connect to none.", nullable=True),
    "tables": _many("The tables that were written.", _WRITTEN),
    "seconds": {"description": "How long it took.", "type": "number", "minimum": 0},
}
_SETTINGS: Final[Schema] = {
    "description": "The settings of verdicts, as the options give them.",
    "type": "object",
    "required": ["window_commits", "allowed_lag", "minimum_complete"],
    "properties": {
        "window_commits": {"description": "Commits of a window.", "type": "integer", "minimum": 1},
        "allowed_lag": {"description": "A lag that is still OK.", "type": "integer", "minimum": 0},
        "minimum_complete": {"description": "Filled share of a window.", "type": "number", "minimum": 0, "maximum": 1},
    },
    "additionalProperties": False,
}
_COLUMN: Final[Mapping[str, Schema]] = {
    "name": _text("The column's name."),
    "type": _text("Its type, as Spark writes it."),
    "about": _text("What it promises."),
}
_SIZE: Final[Mapping[str, Schema]] = {
    "rows": _count("How many rows it has; null without --data-dir."),
    "files": _count("How many files; null without --data-dir."),
    "bytes": _count("How many bytes; null without --data-dir."),
    "first_date": _text("Its first date, UTC; null if it has no rows.", nullable=True),
    "last_date": _text("Its last date, UTC; null if it has no rows.", nullable=True),
}
_TABLES: Final[Mapping[str, Schema]] = {
    "schema_version": {"description": "The version of the tables' columns.", "type": "integer", "minimum": 1},
    "tables": _many(
        "Every table.",
        {
            "table": _text("The table's name."),
            "about": _text("What a row is."),
            "derived": {"description": "Whether build derives it from the others.", "type": "boolean"},
            "identity": _texts("The columns that identify a row."),
            "dated_by": _text("The time whose date partitions it."),
            "columns": _many("Its columns, in order.", _COLUMN),
            **_SIZE,
        },
    ),
}
_TABLE_ROW: Final[Mapping[str, Schema]] = {"table": _text("The table's name."), **_SIZE}
_COLUMN_ROW: Final[Mapping[str, Schema]] = {"table": _text("The table's name."), **_COLUMN}
_CHECK: Final[Mapping[str, Schema]] = {
    "check": _text("What was checked."),
    "status": {"description": "The result: ok, warning (it works, with a limitation), failed.", "enum": list(STATUSES)},
    "detail": _text("What was found, and what to do next."),
}
