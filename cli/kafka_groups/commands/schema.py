"""`kafka-groups schema`: the JSON Schemas of documents, for people and for validators."""

from __future__ import annotations

import json

import click

from kafka_groups.options.suggestions import Choice
from kafka_groups.pipeline.commands.schemas import pipeline_schemas
from kafka_groups.rendering.views import view_schemas

_SCHEMAS = {**view_schemas(), **pipeline_schemas()}


@click.command()
@click.argument("command", metavar="COMMAND", type=Choice(tuple(_SCHEMAS)))
def schema(*, command: str) -> None:
    """Print the JSON Schema of a command's documents.

    The documents are those of --format json; the schema follows draft 2020-12. COMMAND is list, describe, offsets,
    lag, why, check, wait, orphans, reset, delete, delete-offsets, remove-members, undo, undo-list (of undo --list),
    plan (of --export FILE.json), or pipeline- and one of ingest, sample, backfill, build, report, tables, compact,
    doctor. The rows of --format ndjson are under "$defs". Keys are only ever added.

    Needs no cluster.

    \b
    Examples:
      kafka-groups schema describe
      kafka-groups schema pipeline-report | jq '.properties | keys'
    """
    click.echo(json.dumps(_SCHEMAS[command], indent=2))
