"""The view of `undo --list`: a row is a recorded run of a command that changed groups."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Final

from kafka_groups.rendering.columns import Column, View, text_column
from kafka_groups.rendering.schemas import DRAFT, Schema, array_schema, number_schema, object_schema, text_schema

SCHEMA: Final = "kafka-groups/undo-list/1"
_MAX_GROUPS: Final = 3


def _format_time(value: datetime) -> str:
    return value.isoformat(timespec="seconds").replace("+00:00", "Z")


def _format_groups(groups: Any) -> str:
    shown = ",".join(groups[:_MAX_GROUPS])
    return f"{shown},… ({len(groups)})" if len(groups) > _MAX_GROUPS else shown


RUNS: Final = View(
    (
        text_column("ID", "id", schema=text_schema("The ID of the run, for undo.")),
        text_column(
            "TIME",
            "created_at",
            show=_format_time,
            encode=_format_time,
            schema=text_schema("When the run began, in UTC.", format="date-time"),
        ),
        text_column("COMMAND", "command", schema=text_schema("The command that made the changes.")),
        text_column("CLUSTER", "cluster_id", schema=text_schema("The id of the cluster.")),
        text_column(
            "GROUPS",
            "groups",
            when_narrow="cut",
            show=_format_groups,
            encode=list,
            schema=array_schema("The groups that the run was for.", text_schema("The group's id.")),
        ),
        Column("", "changes", schema=number_schema("The number of changes.", nullable=False)),
        Column("", "undoes", schema=text_schema("The run that this one takes back, or null.", nullable=True)),
        text_column(
            "STATUS",
            "status",
            schema={
                "description": "done: it ended. undone: a later undo took it back. unfinished: it was interrupted; "
                "undo finds out what it changed.",
                "enum": ["done", "undone", "unfinished"],
            },
        ),
    )
)
encode_run: Final = RUNS.encoder()


def runs_schema() -> Schema:
    """Return the JSON Schema of `undo --list`."""
    document = object_schema(
        {
            "schema": {"description": "The schema of the document.", "const": SCHEMA},
            "runs": array_schema("The recorded runs, newest first.", RUNS.schema()),
        }
    )
    rows = {"row": object_schema(RUNS.properties(), description="A line of --format ndjson.")}
    return {"$schema": DRAFT, "title": "kafka-groups undo --list --format json", **document, "$defs": rows}
