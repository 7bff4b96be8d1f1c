"""The command line: the tree of commands, and the one place where errors become exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from inspect import cleandoc
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click

from kafka_groups import __version__
from kafka_groups.errors import KafkaGroupsError
from kafka_groups.exit_codes import PARAGRAPHS, ExitCode
from kafka_groups.options import COMPLETION_VARIABLE, DEBUG
from kafka_groups.rendering.screen import escape_controls, explain_error, prepare_streams, print_line, silence

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


class LazyCommand(NamedTuple):
    """Where a command is, as `module:attribute`, and its line in the help of its group."""

    target: str
    help: str


_COMMANDS: Final = {
    "list": LazyCommand("kafka_groups.commands.list_groups:list_groups", "List groups of every kind."),
    "describe": LazyCommand(
        "kafka_groups.commands.describe:describe", "Describe groups: offsets and lag, members, state or topology."
    ),
    "offsets": LazyCommand("kafka_groups.commands.offsets:offsets", "List offsets of groups, by partition."),
    "lag": LazyCommand("kafka_groups.commands.lag:lag", "Show how far groups are behind, the worst first."),
    "why": LazyCommand("kafka_groups.commands.why:why", "Show why groups are behind, and what to run next."),
    "check": LazyCommand("kafka_groups.commands.check:check", "Check why a connection fails, and rights."),
    "wait": LazyCommand("kafka_groups.commands.wait:wait", "Wait until a condition holds for groups."),
    "orphans": LazyCommand("kafka_groups.commands.orphans:orphans", "List commits that nobody reads."),
    "reset": LazyCommand("kafka_groups.commands.reset:reset", "Reset offsets of groups."),
    "delete": LazyCommand("kafka_groups.commands.delete:delete", "Delete groups with their offsets."),
    "delete-offsets": LazyCommand(
        "kafka_groups.commands.delete_offsets:delete_offsets", "Delete offsets of groups on topics."
    ),
    "remove-members": LazyCommand(
        "kafka_groups.commands.remove_members:remove_members", "Remove members from a group."
    ),
    "undo": LazyCommand("kafka_groups.commands.undo:undo", "Restore the commits before a change."),
    "exporter": LazyCommand("kafka_groups.commands.exporter:exporter", "Serve the lag of groups to Prometheus."),
    "pipeline": LazyCommand("kafka_groups.cli:pipeline", "Keep the history of groups in tables, and report on it."),
    "schema": LazyCommand("kafka_groups.commands.schema:schema", "Print the JSON Schema of a command's documents."),
    "sandbox": LazyCommand(
        "kafka_groups.commands.sandbox:sandbox", "Run a real Kafka on this machine, without Docker."
    ),
    "completion": LazyCommand(
        "kafka_groups.commands.completion:completion", "Print the completion script of bash, zsh or fish."
    ),
}
_PIPELINE: Final = "kafka_groups.pipeline.commands"
# In the order in which they are run.
_PIPELINE_COMMANDS: Final = {
    "ingest": LazyCommand(f"{_PIPELINE}.ingest:ingest", "Read the new records of __consumer_offsets."),
    "sample": LazyCommand(f"{_PIPELINE}.sample:sample", "Record the current log end offsets and group states."),
    "backfill": LazyCommand(f"{_PIPELINE}.backfill:backfill", "Look up past log end offsets."),
    "build": LazyCommand(f"{_PIPELINE}.build:build", "Derive lag, verdicts and rebalances."),
    "report": LazyCommand(f"{_PIPELINE}.report:report", "Show lag, verdicts and rebalances of groups."),
    "tables": LazyCommand(f"{_PIPELINE}.tables:tables", "Show tables, columns and sizes."),
    "export": LazyCommand(f"{_PIPELINE}.export:export", "Write the tables as Parquet or CSV files."),
    "compact": LazyCommand(f"{_PIPELINE}.compact:compact", "Join small files, remove old dates."),
    "doctor": LazyCommand(f"{_PIPELINE}.doctor:doctor", "Check Python, Spark, Java, the brokers and the tables."),
}


class LazyGroup(click.Group):
    """A group whose commands are a table: its help needs nothing else, and only the command that runs is imported."""

    def __init__(self, *arguments: Any, table: Mapping[str, LazyCommand], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command of that name."""
        if cmd_name not in self.table:
            return None
        module, _, attribute = self.table[cmd_name].target.partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        _add_exit_codes(command, cmd_name if isinstance(self, RootGroup) else f"{self.name} {cmd_name}")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name. The error for another name suggests the nearest one."""
        name = args[0]
        # A completion has no errors, and click reads what begins with a sign as an option.
        if name[:1].isalnum() and name not in self.table and not ctx.resilient_parsing:
            ctx.fail(f"No such command {name!r}{self.suggest_command(name)}")
        return super().resolve_command(ctx, args)

    def suggest_command(self, name: str, other_names: Mapping[str, str] = MappingProxyType({})) -> str:
        """Return the end of the error for a command that does not exist."""
        from kafka_groups.options.suggestions import suggest_command

        return suggest_command(name, self.table, other_names)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem[Any]]:
        """Return the commands of the table, and the group's own options."""
        from click.shell_completion import CompletionItem

        names = [name for name in self.table if name.startswith(incomplete)]
        commands = [CompletionItem(name, help=self.table[name].help) for name in names]
        return commands + click.Command.shell_complete(self, ctx, incomplete)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the table into the help."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help) for name, command in self.table.items()])


class RootGroup(LazyGroup):
    """The root command. It turns the errors of its commands into one line and an exit code."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name; for a command of the pipeline the error names the right one."""
        name = args[0]
        if name not in self.table and name in _PIPELINE_COMMANDS:
            ctx.fail(f"No such command {name!r}; it is {ctx.command_path} pipeline {name}.")
        return super().resolve_command(ctx, args)

    def suggest_command(self, name: str, other_names: Mapping[str, str] = MappingProxyType({})) -> str:
        """Return the end of the error for a command that does not exist; it may be one of the pipeline."""
        pipeline_names = {name: f"pipeline {name}" for name in _PIPELINE_COMMANDS}
        return super().suggest_command(name, {**pipeline_names, **other_names})

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
        text = _describe_usage(error, ctx, where)
        _exit(ctx, f"{text}{' See' if text.endswith('?') else '; see'} {where} --help", ExitCode.USAGE)
    except KafkaGroupsError as error:
        _exit(ctx, str(error), error.exit_code)
    except KeyboardInterrupt:
        _exit(ctx, "interrupted", ExitCode.INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has read enough, as `head` does, and nothing more can be written to it.
        silence(sys.stdout)
        ctx.exit(ExitCode.OK)
    except OSError as error:
        _exit(ctx, explain_error(error), ExitCode.FAILED)
    except Exception as error:  # noqa: BLE001 - no traceback may reach a user
        _exit(ctx, f"internal error: {type(error).__name__}: {error}; --debug shows the traceback", ExitCode.FAILED)


def _describe_usage(error: click.UsageError, ctx: click.Context, where: str) -> str:
    """Return the text of a usage error, without a full stop."""
    if not isinstance(error, click.NoSuchOption):
        return error.format_message().rstrip(".")
    from kafka_groups.options.suggestions import suggest_option

    # The whole message of click has suggestions in other words, and of options that are not near.
    hint = suggest_option(error)
    if not hint and error.ctx is ctx:
        hint = f"; options stand after the command, as in {where} list {error.option_name}"
    return f"{error.message.rstrip('.')}{hint}"


def _exit(ctx: click.Context, text: str, code: ExitCode) -> None:
    if ctx.meta.get(DEBUG):
        import traceback

        for line in traceback.format_exc().splitlines():
            print_line(sys.stderr, escape_controls(line))
    if text:
        # It may contain names and the text of a server.
        print_line(sys.stderr, escape_controls(f"Error: {text}"))
    ctx.exit(code)


def _add_exit_codes(command: click.Command, path: str) -> None:
    """Add the paragraph on exit codes to the help of a command, and to those of the commands of a plain group."""
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            _add_exit_codes(inner, f"{path} {name}")
    else:
        _set_help(command, path)


def _set_help(command: click.Command, path: str) -> None:
    text = cleandoc(command.help or "")
    paragraph = PARAGRAPHS[path]
    # A command is returned as often as somebody requests it.
    if paragraph not in text:
        # The paragraph on what a command needs is the last one before its examples.
        before, needs, after = text.rpartition("\n\nNeeds ")
        command.help = f"{before}\n\n{paragraph}{needs}{after}" if needs else f"{after}\n\n{paragraph}"


@click.group(
    cls=RootGroup,
    table=_COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="kafka-groups")
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def cli(ctx: click.Context, *, debug: bool) -> None:
    """Show and change consumer groups of Apache Kafka: many groups in one request, a result or an error for each.

    reset, delete, delete-offsets, remove-members and undo change groups, and only with --execute; the other commands
    change nothing on the cluster, and none joins a group. If a group, a partition or a broker fails, its error is a
    line on stderr, and the results of the others are printed. stdout has only data; a JSON document contains the
    errors, too.

    Name the cluster with -b, --profile, --config, or their environment variables; options stand after the command. -b
    and -X take precedence over --profile, and that over --config. With --profile or --config, the variables
    KAFKA_GROUPS_BOOTSTRAP_SERVER, _PROFILE and _CONFIG are ignored. A DURATION has a unit, ms, s, m, h or d, such as
    1.5h, or is ISO-8601, such as PT2H.

    Needs Kafka 0.11 or newer (with SASL: 1.0 or newer), tested with 2.5.1 to 4.4.0. The help of each command names the
    rights (ACLs) that it needs, and the options that need a newer Kafka. READ, WRITE, DELETE and ALTER on a resource
    imply DESCRIBE on it.

    \b
    Examples:
      kafka-groups list --state -b localhost:9092
      kafka-groups describe --all-groups -b localhost:9092
    """
    ctx.meta[DEBUG] = debug or ctx.meta.get(DEBUG, False)


_set_help(cli, "")


@click.group(cls=LazyGroup, table=_PIPELINE_COMMANDS)
def pipeline() -> None:
    """Keep the history of groups in tables, and report on it.

    Collect data with ingest and sample, derive tables with build, view them with report. Find problems with doctor.
    All commands of one history have the same --data-dir, which may hold several clusters. They change nothing on the
    cluster and join no group.

    Needs the extra pipeline, and ingest and large builds the extra spark (in a clone: pip install '.[spark]' for both).
    The help of each command names what else it needs.

    \b
    Examples:
      kafka-groups pipeline doctor -b localhost:9092
      kafka-groups pipeline ingest --data-dir history -b localhost:9092
    """


def main() -> None:
    """Run the command line as the console script does."""
    try:
        prepare_streams()
        if os.environ.get(COMPLETION_VARIABLE):
            from kafka_groups.options.completion.shells import print_completions

            print_completions(cli)
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
