"""The JSON Schemas of the pipeline's documents. Later versions add keys, and remove none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafka_groups.pipeline.commands.documents import PIPELINE_ERROR_NAMES, schema_name
from kafka_groups.pipeline.report.json.schema import history_schema
from kafka_groups.rendering.schemas import (
    CLIENT_ERROR_NAMES,
    Schema,
    array_schema,
    boolean_schema,
    choice_schema,
    errors_schema,
    line_schema,
    name_schema,
    number_schema,
    object_schema,
    status_schema,
    text_schema,
    texts_schema,
    titled_schema,
    with_cluster,
)

STATUSES: Final = ("ok", "warning", "failed")


def pipeline_schemas() -> Mapping[str, Schema]:
    """Return the schemas by the name that `kafka-groups schema` takes."""
    keys_by_command = {
        "ingest": {
            "batches": _count_schema("How many batches were written."),
            "records": _count_schema("How many records of __consumer_offsets were read."),
        },
        "sample": {"samples": _count_schema("How many samples were taken.")},
        "backfill": {
            "partitions": _count_schema("How many partitions were looked up."),
            "times": _count_schema("At how many times in the past."),
        },
        "build": {
            "dates": _count_schema("How many dates were derived again."),
            "settings": _SETTINGS,
            "missing": texts_schema("What is unknown because data is missing, a sentence each."),
        },
        "export": {},
        "compact": {
            "dates": _count_schema("How many dates had files joined, in any table."),
            "files_before": _count_schema("How many files were joined."),
            "files_after": _count_schema("How many they became."),
            "removed_dates": _count_schema("How many dates were removed because of --retention, in any table."),
        },
    }
    schemas = {
        f"pipeline-{command}": _document_schema(
            command, {**_SUMMARY, **own_keys}, {"row": _NUMBER if command == "compact" else _WRITTEN}
        )
        for command, own_keys in keys_by_command.items()
    }
    schemas["pipeline-sample"] = _sample_schema(keys_by_command["sample"])
    return {
        **schemas,
        "pipeline-report": _report_schema(),
        "pipeline-tables": _document_schema("tables", _TABLES, {"row": _TABLE_ROW, "column_row": _COLUMN_ROW}),
        "pipeline-doctor": _document_schema(
            "doctor", {"checks": _list_schema("What was checked.", _CHECK)}, {"row": _CHECK}
        ),
    }


def _sample_schema(own_keys: Mapping[str, Schema]) -> Schema:
    """Return the schema of `sample`, whose tables name their cluster."""
    written = with_cluster(_WRITTEN)
    keys = {
        **_SUMMARY,
        "cluster_id": text_schema(
            "Kafka's id of the cluster; null with several profiles, and if it is not known.", nullable=True
        ),
        "tables": _list_schema("The tables that were written, of each cluster.", written),
        **own_keys,
    }
    return _document_schema("sample", keys, {"row": written})


def _count_schema(description: str) -> Schema:
    return number_schema(f"{description} Null if it is not known.")


def _list_schema(description: str, keys: Mapping[str, Schema]) -> Schema:
    return array_schema(description, object_schema(keys))


def _document_schema(command: str, keys: Mapping[str, Schema], rows: Mapping[str, Mapping[str, Schema]]) -> Schema:
    properties = {
        "schema": name_schema(schema_name(command)),
        "status": status_schema("everything failed."),
        **keys,
        "errors": _errors_schema("What failed, and why."),
    }
    line_schemas = {row_name: line_schema(columns) for row_name, columns in rows.items()}
    return titled_schema(f"kafka-groups pipeline {command} --format json", _body_schema(properties), line_schemas)


def _report_schema() -> Schema:
    """Return the schema of a history's document, which may have ended early; its groups are the lines of ndjson."""
    schema = history_schema()
    properties: dict[str, Schema] = {**schema["properties"], "errors": _errors_schema("The items that failed.")}
    group: Schema = properties["groups"]["items"]
    return {**schema, **_body_schema(properties), "$defs": {"row": line_schema(group["properties"])}}


def _body_schema(properties: Mapping[str, Schema]) -> Schema:
    """Return an object with these keys. If the command ended early, it may have only the errors."""
    body = object_schema(
        properties,
        **{
            "if": {"properties": {"status": {"enum": ["complete", "partial"]}}},
            "then": {"required": list(properties)},
        },
    )
    return {**body, "required": ["schema", "status", "errors"]}


def _errors_schema(description: str) -> Schema:
    """Return errors with the names that all commands use, and with the pipeline's names."""
    names = (*CLIENT_ERROR_NAMES, *PIPELINE_ERROR_NAMES)
    return errors_schema(description, names=names, no_code="where that is null")


_WRITTEN: Final[Mapping[str, Schema]] = {
    "table": text_schema("The table's name."),
    "rows": number_schema("How many rows were written to it.", nullable=False),
}
_NUMBER: Final[Mapping[str, Schema]] = {
    "what": text_schema("The number's name, as in the document."),
    "number": _count_schema("The number."),
}
_SUMMARY: Final[Mapping[str, Schema]] = {
    "cluster_id": text_schema("Kafka's id of the cluster; null for commands that connect to none.", nullable=True),
    "tables": _list_schema("The tables that were written.", _WRITTEN),
    "seconds": number_schema("How long it took.", nullable=False, kind="number"),
}
_SETTINGS: Final[Schema] = {
    "description": "The settings of verdicts, as the options give them.",
    **object_schema(
        {
            "allowed_lag": number_schema("A lag that is still OK.", nullable=False),
            "stop_after_ms": number_schema("Time until a group that waits is STOP, in ms.", nullable=False),
        },
        additionalProperties=False,
    ),
}
_COLUMN: Final[Mapping[str, Schema]] = {
    "name": text_schema("The column's name."),
    "type": text_schema("Its type, as Spark writes it."),
    "about": text_schema("Its meaning."),
}
_SIZE: Final[Mapping[str, Schema]] = {
    "rows": _count_schema("How many rows it has; null without --data-dir."),
    "files": _count_schema("How many files; null without --data-dir."),
    "bytes": _count_schema("How many bytes; null without --data-dir."),
    "first_date": text_schema("Its first date, UTC; null if it has no rows.", nullable=True),
    "last_date": text_schema("Its last date, UTC; null if it has no rows.", nullable=True),
}
_TABLES: Final[Mapping[str, Schema]] = {
    "schema_version": number_schema("The version of the tables' columns.", nullable=False, minimum=1),
    "tables": _list_schema(
        "Every table.",
        {
            "table": text_schema("The table's name."),
            "about": text_schema("What a row is."),
            "derived": boolean_schema("Whether build derives it from the others."),
            "identity": texts_schema("The columns that identify a row."),
            "time_column": text_schema("The time whose date partitions it."),
            "columns": _list_schema("Its columns, in order.", _COLUMN),
            **_SIZE,
        },
    ),
}
_TABLE_ROW: Final[Mapping[str, Schema]] = {"table": text_schema("The table's name."), **_SIZE}
_COLUMN_ROW: Final[Mapping[str, Schema]] = {"table": text_schema("The table's name."), **_COLUMN}
_CHECK: Final[Mapping[str, Schema]] = {
    "check": text_schema("What was checked."),
    "status": choice_schema("The result: ok, warning (it works, with a limitation), failed.", STATUSES),
    "detail": text_schema("What was found, and what to do next."),
}
