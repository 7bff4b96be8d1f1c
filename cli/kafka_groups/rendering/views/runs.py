"""The view of `undo --list`: a row is a recorded run of a command that changed groups."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

from kafka_groups.changes.change import Status
from kafka_groups.changes.run_status import RunStatus
from kafka_groups.changes.runs import ListedRun
from kafka_groups.rendering.columns import Column, View, text_column
from kafka_groups.rendering.schemas import (
    Schema,
    array_schema,
    choice_schema,
    line_schema,
    notes_schema,
    number_schema,
    object_schema,
    text_schema,
    titled_schema,
)
from kafka_groups.rendering.times import format_time

SCHEMA: Final = "kafka-groups/undo-list/1"
_MAX_GROUPS: Final = 3
# How a row without an outcome is called in a run that is over.
_NAMES: Final = {Status.PLANNED: "without outcome"}


class RunRow(NamedTuple):
    """A recorded run as a row; `rows` are the numbers of its rows by status."""

    id: str
    created_at: datetime
    command: str
    cluster_id: str
    bootstrap_servers: tuple[str, ...]
    user: str | None
    host: str | None
    groups: tuple[str, ...]
    changes: int
    undoes: str | None
    rows: Mapping[str, int]
    status: str


def run_row(listed: ListedRun) -> RunRow:
    """Return the row of a run."""
    run = listed.run
    return RunRow(
        id=run.id,
        created_at=run.created_at,
        command=run.command,
        cluster_id=run.plan.cluster_id,
        bootstrap_servers=run.bootstrap_servers,
        user=run.user,
        host=run.host,
        groups=listed.groups,
        changes=len(run.plan.changes),
        undoes=run.undoes,
        rows={status.value: listed.rows[status] for status in Status},
        status=listed.status.value,
    )


def _format_groups(groups: Any) -> str:
    shown = ",".join(groups[:_MAX_GROUPS])
    return f"{shown},… ({len(groups)})" if len(groups) > _MAX_GROUPS else shown


def _format_rows(rows: Mapping[str, int]) -> str:
    shown = [f"{count:,} {_NAMES.get(Status(status), status)}" for status, count in rows.items() if count]
    return ", ".join(shown)


RUNS: Final = View(
    (
        text_column("ID", "id", schema=text_schema("The ID of the run, for undo.")),
        text_column(
            "TIME",
            "created_at",
            show=format_time,
            encode=format_time,
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
        Column(
            "",
            "bootstrap_servers",
            encode=list,
            schema=array_schema("The bootstrap servers of the run.", text_schema("A server, as host:port.")),
        ),
        text_column(
            "USER", "user", option="--journal", schema=text_schema("Who made the changes, or null.", nullable=True)
        ),
        text_column(
            "HOST",
            "host",
            option="--journal",
            schema=text_schema("The machine of the command, or null.", nullable=True),
        ),
        Column("", "undoes", schema=text_schema("The run that this one takes back, or null.", nullable=True)),
        text_column(
            "ROWS",
            "rows",
            when_narrow="cut",
            show=_format_rows,
            encode=dict,
            schema=object_schema(
                {
                    status.value: number_schema(f"The number of rows with this status: {status}.", nullable=False)
                    for status in Status
                },
                description="The numbers of rows by status; planned are those without an outcome.",
            ),
        ),
        text_column(
            "STATUS",
            "status",
            schema=choice_schema(
                "done: all was changed. partly done: some rows were refused, failed or are unknown. "
                "unchanged: nothing had to be changed, or all was refused. failed: certainly nothing was changed. "
                "unfinished: it was interrupted; undo finds out what it changed. undone, partly undone: a later undo "
                "took it back, or a part of it.",
                [status.value for status in RunStatus],
            ),
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
            "notes": notes_schema(),
        }
    )
    return titled_schema("kafka-groups undo --list --format json", document, {"row": line_schema(RUNS.properties())})
