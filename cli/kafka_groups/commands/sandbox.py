"""`kafka-groups sandbox`: a real Kafka to try things on, started and ended with one command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from kafka_groups import sandbox as room

_Command = Callable[..., None]


def _say(text: str) -> None:
    click.echo(text, err=True)


def _which(command: _Command) -> _Command:
    """Add the options that name a sandbox."""
    command = click.option(
        "--dir",
        "home",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Keep its files in DIR instead of the user's state directory.",
    )(command)
    return click.option(
        "--name",
        default=room.DEFAULT_NAME,
        show_default=True,
        help="Which sandbox; several can be up at the same time.",
    )(command)


def _wanted(command: _Command) -> _Command:
    """Add the options that say what to start; they arrive as the fields of `Wanted`."""
    for option in (
        click.option(
            "--heap",
            "heap_mb",
            type=int,
            default=room.DEFAULT_HEAP_MB,
            show_default=True,
            metavar="MB",
            help="The most memory that a broker's heap may take.",
        ),
        click.option(
            "--port",
            type=int,
            default=room.DEFAULT_PORT,
            show_default=True,
            help="The first broker's port on 127.0.0.1, the others follow; 0 takes free ones.",
        ),
        click.option(
            "--kafka-version",
            default=room.DEFAULT_VERSION,
            show_default=True,
            metavar="V",
            help="Which Kafka, from 2.4.0 on.",
        ),
        click.option("--brokers", type=int, default=1, show_default=True, help="How many brokers."),
    ):
        command = option(command)
    return _which(command)


@click.group()
def sandbox() -> None:
    """Run a real Kafka on this machine, without Docker."""


@sandbox.command()
@_wanted
@click.option("--no-seed", is_flag=True, help="Start it empty: no topics, groups and members.")
def up(*, no_seed: bool, **wanted: Any) -> None:
    """Start it (the first time downloads Kafka, about 45 MB) and write the profile of its name."""
    started = room.up(room.Wanted(seed=not no_seed, **wanted), tell=_say)
    click.echo(_as_text(started))


@sandbox.command()
@_which
def down(*, name: str, home: Path | None) -> None:
    """End it, delete its data and remove its profile."""
    was_there = room.down(name, home=home)
    _say(f"the sandbox '{name}' is {'down' if was_there else 'not up'}")


@sandbox.command()
@_which
@click.option(
    "--format",
    "output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How to show it.",
)
@click.pass_context
def status(context: click.Context, *, name: str, home: Path | None, output: str) -> None:
    """Show whether it is up; exit code 1 if it is not."""
    found = room.status(name, home=home)
    if output == "json":
        click.echo(json.dumps(_as_json(name, found), indent=2))
    elif found is not None:
        click.echo(_as_text(found))
    if found is None:
        which = room.which_sandbox(name, home=home)
        _say(f"the sandbox '{name}' is not up; start it with: kafka-groups sandbox up{which}")
    context.exit(0 if found is not None and found.is_up else 1)


@sandbox.command()
@_wanted
@click.option(
    "--pipeline-into",
    "into",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Show the pipeline instead: the history of the groups, with tables kept in DIR. It takes a minute.",
)
@click.pass_context
def demo(context: click.Context, /, *, into: Path | None, **wanted: Any) -> None:
    """Start it if it is not up, and show the first commands at work on it."""
    started = room.up(room.Wanted(**wanted), tell=_say)
    well = room.run_demo(started.bootstrap, show=click.echo, into=into)
    click.echo(room.next_steps(started.name, home=wanted["home"]))
    context.exit(0 if well else 1)


def _as_text(found: room.Sandbox) -> str:
    whole = "up" if found.is_up else "not whole: a process is gone, or it was never started to the end"
    facts = {
        "sandbox": f"{found.name} ({whole})",
        "kafka": found.kafka_version,
        "bootstrap": found.bootstrap,
        "directory": str(found.directory),
    }
    facts |= {part.role: f"pid {part.pid}" + ("" if part.running else " (gone)") for part in found.parts}
    return "\n".join(f"{name} {value}" for name, value in facts.items())


def _as_json(name: str, found: room.Sandbox | None) -> dict[str, object]:
    document: dict[str, object] = {"schema": "kafka-groups/sandbox-status/1", "name": name}
    if found is None:
        return document | {"up": False}
    return document | {
        "up": found.is_up,
        "kafka_version": found.kafka_version,
        "bootstrap_servers": found.bootstrap,
        "directory": str(found.directory),
        "seeded": found.seeded,
        "processes": [
            {"role": part.role, "pid": part.pid, "port": part.port, "running": part.running} for part in found.parts
        ],
    }
