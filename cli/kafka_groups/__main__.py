"""The root command, and the one place where errors become exit codes."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Final

import click

from kafka_groups import __version__
from kafka_groups.commands.options import DEBUG
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.rendering.stderr import say, silence

USAGE: Final = 2
FAILED: Final = 1
INTERRUPTED: Final = 130

# Name of the command: where it is. A module is imported when its command runs or its help is asked for.
_COMMANDS: Final = {
    "list": "kafka_groups.commands.list_groups:list_groups",
    "describe": "kafka_groups.commands.describe:describe",
    "offsets": "kafka_groups.commands.offsets:offsets",
    "pipeline": "kafka_groups.commands.pipeline:pipeline",
    "schema": "kafka_groups.commands.schema:schema",
    "sandbox": "kafka_groups.commands.sandbox:sandbox",
}


class RootGroup(click.Group):
    """Finds commands by name, and turns what they raise into one line on stderr and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """In the order of a person's questions, not of the alphabet."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported now."""
        if cmd_name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[cmd_name].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments begin with; one of the pipeline's that stands alone is told where it is."""
        name = args[0]
        if name not in _COMMANDS:
            pipeline = self.get_command(ctx, "pipeline")
            if isinstance(pipeline, click.Group) and name in pipeline.list_commands(ctx):
                ctx.fail(f"No such command {name!r}; it is {ctx.command_path} pipeline {name}.")
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """The options in front of the command; --version and --help write already here."""
        with _ending(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; whatever it raises ends here."""
        with _ending(ctx):
            return super().invoke(ctx)


@contextmanager
def _ending(ctx: click.Context) -> Iterator[None]:
    try:
        yield
    except (click.exceptions.Exit, click.Abort):
        raise
    except click.exceptions.NoArgsIsHelpError as error:
        say(sys.stderr, error.format_message())
        ctx.exit(USAGE)
    except click.UsageError as error:
        # Some of click's own errors do not say which command they are about.
        where = error.ctx.command_path if error.ctx else f"{ctx.command_path} {ctx.invoked_subcommand or ''}".rstrip()
        hint = ""
        if isinstance(error, click.NoSuchOption) and error.ctx is ctx:
            hint = f"; options stand after the command, as in {where} list {error.option_name}"
        _end(ctx, f"{error.format_message().rstrip('.')}{hint}; see {where} --help", USAGE)
    except KafkaGroupsError as error:
        _end(ctx, str(error), error.exit_code)
    except KeyboardInterrupt:
        _end(ctx, "interrupted", INTERRUPTED)
    except BrokenPipeError:
        # Who read our output has read enough, as `head` does. Nothing more can be written to it.
        silence(sys.stdout)
        ctx.exit(0)
    except OSError as error:
        _end(ctx, f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}", FAILED)
    except Exception as error:  # noqa: BLE001 - the promise is that no traceback reaches a user
        _end(ctx, f"a fault of this tool: {type(error).__name__}: {error}; --debug shows where", FAILED)


@click.group(cls=RootGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="kafka-groups")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def cli(ctx: click.Context, *, debug: bool) -> None:
    """Consumer groups of Apache Kafka: asked once, answered per group.

    Exit codes: 0 all answered, 1 nothing answered, 2 usage, 3 some of it failed, 130 interrupted,
    143 terminated.
    """
    ctx.meta[DEBUG] = debug or ctx.meta.get(DEBUG, False)


def main() -> None:
    """The console script."""
    # A command makes answers and text, and ends: searching them for cycles is a twelfth of the time of a large one.
    gc.disable()
    try:
        _open_missing_streams()
        for stream in (sys.stdout, sys.stderr):
            # A locale that cannot show a name must not end the command.
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # those of Python can
        cli(prog_name="kafka-groups")
    except KeyboardInterrupt:
        # It came before or after everything that could be interrupted.
        sys.exit(INTERRUPTED)
    finally:
        try:
            sys.stdout.flush()
        except OSError:
            # It has been told already; the interpreter's own flush would tell it again.
            silence(sys.stdout)


def _end(ctx: click.Context, text: str, code: int) -> None:
    if ctx.meta.get(DEBUG):
        import traceback

        say(sys.stderr, traceback.format_exc().rstrip())
    if text:
        say(sys.stderr, f"Error: {text}")
    ctx.exit(code)


def _open_missing_streams() -> None:
    """A stream that was closed before we began (`>&-`) goes nowhere, and no socket takes its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, number)
            if nowhere != number:
                os.close(nowhere)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8"))


if __name__ == "__main__":
    main()
