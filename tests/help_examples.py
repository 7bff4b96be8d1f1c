"""The commands of the command line, and the examples in their help, as a reader types them into a shell."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import click

from kafka_groups.cli import cli
from tests.fakes.command_line import run

ADDRESS: Final = "localhost:9092"
_TIMEOUT_S: Final = 180


class ShellOutcome(NamedTuple):
    """The exit code and the output of a line that a shell ran."""

    exit_code: int
    stdout: str
    stderr: str


def commands_in(group: click.Group, *path: str) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield every command of a group and of its groups, with the words of its command line."""
    context = click.Context(group)
    found = [((*path, name), group.get_command(context, name)) for name in group.list_commands(context)]
    yield from ((words, command) for words, command in found if command is not None)
    for words, inner in [(words, command) for words, command in found if isinstance(command, click.Group)]:
        yield from commands_in(inner, *words)


COMMANDS: Final[Mapping[tuple[str, ...], click.Command]] = dict([((), cli), *commands_in(cli)])


def paragraphs_of(*words: str) -> list[str]:
    """Return the paragraphs that the help of a command prints between its usage and its options."""
    _, _, text = run(*words, "--help", bootstrap=None, COLUMNS="100").stdout.partition("\n\n")
    return [textwrap.dedent(paragraph) for paragraph in text.partition("\n\nOptions:\n")[0].split("\n\n")]


def examples_of(*words: str) -> list[str]:
    """Return the lines of the last paragraph of a command's help, if that paragraph has the examples."""
    title, *lines = paragraphs_of(*words)[-1].splitlines()
    return [line.strip() for line in lines] if title == "Examples:" else []


def examples_in(group: str) -> list[str]:
    """Return the examples of a group of commands and of all its commands, each once, in the order of the help."""
    return list(dict.fromkeys(line for words in COMMANDS if words[:1] == (group,) for line in examples_of(*words)))


def run_in_shell(line: str, directory: Path, **environment: str) -> ShellOutcome:
    """Run a line in bash, in a directory; `kafka-groups` is the program under test.

    A pipe fails if one of its programs does. Without these variables no cluster is named.
    """
    program = directory / ".bin" / "kafka-groups"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m kafka_groups "$@"\n')
    program.chmod(0o755)
    variables = {name: value for name, value in os.environ.items() if not name.startswith("KAFKA_GROUPS_")}
    variables |= {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", **environment}
    completed = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {line}"],
        capture_output=True,
        check=False,
        cwd=directory,
        env=variables,
        stdin=subprocess.DEVNULL,
        text=True,
        timeout=_TIMEOUT_S,
    )
    return ShellOutcome(completed.returncode, completed.stdout, completed.stderr)
