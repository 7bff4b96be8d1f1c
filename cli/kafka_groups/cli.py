"""The command line: the tree of commands, and the one place where errors become exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from io import TextIOWrapper
from typing import Any, Final

import click

from kafka_groups import __version__
from kafka_groups.commands.options import DEBUG
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.exit_codes import ExitCode
from kafka_groups.rendering.stderr import print_line, silence

# Name of the command: where it is. A module is imported when its command runs or its help is printed.
_COMMANDS: Final = {
    "list": "kafka_groups.commands.list_groups:list_groups",
    "describe": "kafka_groups.commands.describe:describe",
    "offsets": "kafka_groups.commands.offsets:offsets",
    "pipeline": "kafka_groups.commands.pipeline:pipeline",
    "schema": "kafka_groups.commands.schema:schema",
    "sandbox": "kafka_groups.commands.sandbox:sandbox",
}


class RootGroup(click.Group):
    """The root command. It finds commands by name, and turns their errors into one line and an exit code."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order in which users need them."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command of that name."""
        if cmd_name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[cmd_name].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name; for a command of the pipeline the error names the right one."""
        name = args[0]
        if name not in _COMMANDS:
            pipeline = self.get_command(ctx, "pipeline")
            if isinstance(pipeline, click.Group) and name in pipeline.list_commands(ctx):
                ctx.fail(f"No such command {name!r}; it is {ctx.command_path} pipeline {name}.")
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options before the command; --version and --help print here."""
        with _handle_errors(ctx):
            return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command and handle its errors."""
        with _handle_errors(ctx):
            return super().invoke(ctx)


@contextmanager
def _handle_errors(ctx: click.Context) -> Iterator[None]:
    try:
        yield
    except (click.exceptions.Exit, click.Abort):
        raise
    except click.exceptions.NoArgsIsHelpError as error:
        print_line(sys.stderr, error.format_message())
        ctx.exit(ExitCode.USAGE)
    except click.UsageError as error:
        # Some of click's own errors have no context.
        where = error.ctx.command_path if error.ctx else f"{ctx.command_path} {ctx.invoked_subcommand or ''}".rstrip()
        hint = ""
        if isinstance(error, click.NoSuchOption) and error.ctx is ctx:
            hint = f"; options stand after the command, as in {where} list {error.option_name}"
        _exit(ctx, f"{error.format_message().rstrip('.')}{hint}; see {where} --help", ExitCode.USAGE)
    except KafkaGroupsError as error:
        _exit(ctx, str(error), error.exit_code)
    except KeyboardInterrupt:
        _exit(ctx, "interrupted", ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has read enough, as `head` does, and nothing more can be written to it.
        silence(sys.stdout)
        ctx.exit(ExitCode.OK)
    except OSError as error:
        _exit(ctx, f"{error.strerror or error}{f': {error.filename}' if error.filename else ''}", ExitCode.FAILED)
    except Exception as error:  # noqa: BLE001 - no traceback may reach a user
        _exit(ctx, f"internal error: {type(error).__name__}: {error}; --debug shows the traceback", ExitCode.FAILED)


def _exit(ctx: click.Context, text: str, code: ExitCode) -> None:
    if ctx.meta.get(DEBUG):
        import traceback

        print_line(sys.stderr, traceback.format_exc().rstrip())
    if text:
        print_line(sys.stderr, f"Error: {text}")
    ctx.exit(code)


@click.group(cls=RootGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="kafka-groups")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def cli(ctx: click.Context, *, debug: bool) -> None:
    """Show consumer groups of Apache Kafka: many groups in one request, a result or an error for each.

    Exit codes: 0 all succeeded, 1 all failed, 2 usage, 3 some failed, 130 interrupted, 143 terminated.
    """
    ctx.meta[DEBUG] = debug or ctx.meta.get(DEBUG, False)


def main() -> None:
    """Run the command line as the console script does."""
    try:
        _open_missing_streams()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, TextIOWrapper):
                # A name that the locale cannot show must not end the command.
                stream.reconfigure(errors="backslashreplace")
        cli(prog_name="kafka-groups")
    except KeyboardInterrupt:
        # Ctrl-C before or after the command itself.
        sys.exit(ExitCode.INTERRUPTED)
    finally:
        try:
            sys.stdout.flush()
        except OSError:
            # The error was reported; the flush of the interpreter at exit would report it again.
            silence(sys.stdout)


def _open_missing_streams() -> None:
    """Open the null device for each closed stream (`>&-`), so that no socket gets its number."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            null = os.open(os.devnull, os.O_RDWR)
            os.dup2(null, number)
            if null != number:
                os.close(null)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8"))
