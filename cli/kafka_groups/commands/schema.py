"""`kafka-groups schema`: what a command's JSON means, for people and for validators."""

from __future__ import annotations

import json

import click

from kafka_groups.rendering.schemas import SCHEMAS


@click.command()
@click.argument("command", type=click.Choice(tuple(SCHEMAS)))
def schema(*, command: str) -> None:
    """Print the JSON Schema (draft 2020-12) of what COMMAND prints with --format json.

    The rows of --format ndjson are under "$defs". Keys are only ever added.

    \b
    kafka-groups schema describe
    """
    click.echo(json.dumps(SCHEMAS[command], indent=2))
