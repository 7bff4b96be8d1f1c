"""The options of commands that change groups: execute, confirm, export, and files of changes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from kafka_groups.errors import PlanFileError
from kafka_groups.options import offer
from kafka_groups.options.parameters import combine_options
from kafka_groups.text_encoding import NotUtf8Error, decode_utf8

if TYPE_CHECKING:
    from kafka_groups.changes.plan_rows import PlanRows
    from kafka_groups.groups.selection import Selectors

JOURNAL_VARIABLE: Final = "KAFKA_GROUPS_JOURNAL"

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class ChangeOptions:
    """Whether to execute a plan, with or without a prompt, where to export it, and where to record the changes.

    `journal` is the directory that the user named, None for that of the user.
    """

    execute: bool
    yes: bool
    dry_run: bool
    export: str | None
    journal: str | None

    @property
    def asks(self) -> bool:
        """Return whether the command prompts before it executes the plan."""
        return self.execute and not self.yes


def change_options(*, exports_csv: bool = False) -> Callable[[F], F]:
    """Add --execute, --yes, --dry-run, --export and --journal; they arrive as one `change`."""
    export = (
        "Write the plan to FILE: as a plan of this tool if its name ends with .json, otherwise as the CSV of Kafka's "
        "tool. - prints the CSV in place of the table."
        if exports_csv
        else "Write the plan to FILE as JSON. - prints it in place of the table."
    )

    def decorate(function: F) -> F:
        for option in (
            click.option(
                "--journal",
                metavar="DIR",
                envvar=JOURNAL_VARIABLE,
                shell_complete=offer("directories"),
                help="Where changes are recorded, instead of in the user's state directory: a directory, or "
                f"s3://BUCKET/PATH with the extra pipeline. [env: {JOURNAL_VARIABLE}]",
            ),
            click.option("--export", metavar="FILE", shell_complete=offer("files"), help=export),
            click.option("--dry-run", is_flag=True, help="Change nothing: only print the plan. This is the default."),
            click.option("--yes", "-y", is_flag=True, help="Execute without a prompt. Required without a terminal."),
            click.option("--execute", is_flag=True, help="Execute the plan. On a terminal, prompt once before."),
        ):
            function = option(function)
        return combine_options(function, "change", _change_options, ("execute", "yes", "dry_run", "export", "journal"))

    return decorate


def plan_file_options(function: F) -> F:
    """Add --from-file and --force; they arrive as `from_file` and `force`."""
    for option in (
        click.option("--force", is_flag=True, help="Execute although commits have changed since the plan."),
        click.option(
            "--from-file",
            metavar="FILE",
            shell_complete=offer("files"),
            help="The changes of a plan of this tool; - is stdin.",
        ),
    ):
        function = option(function)
    return function


def _change_options(
    *, execute: bool, yes: bool, dry_run: bool, export: str | None, journal: str | None
) -> ChangeOptions:
    if execute and dry_run:
        raise click.UsageError("--execute contradicts --dry-run: give one or the other")
    if export == "":
        raise click.UsageError("--export needs the name of a file, or - for stdout")
    if yes and not execute:
        raise click.UsageError("--yes is only for --execute")
    if execute and not yes and not sys.stdin.isatty():
        raise click.UsageError("--execute needs --yes here, because stdin is not a terminal for a prompt")
    if journal == "":
        raise click.UsageError("--journal needs the name of a directory")
    return ChangeOptions(execute=execute, yes=yes, dry_run=dry_run, export=export, journal=journal)


def select_rows(rows: PlanRows, selectors: Selectors) -> tuple[PlanRows, Selectors]:
    """Return the rows of a file whose groups are selected, all if nothing selects one, and selectors that name them."""
    kept = rows if selectors.is_empty() else rows.select(selectors.selects)
    return kept, selectors._replace(named=kept.groups, match=None, all_groups=False)


def read_text(name: str) -> str:
    """Return the content of a file; `-` is stdin. Raises PlanFileError if it cannot be read."""
    try:
        # The file's own line ends: a quoted group id may contain some.
        return decode_utf8(sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes())
    except NotUtf8Error as error:
        msg = f"{name} {error}"
        raise PlanFileError(msg) from error
    except OSError as error:
        msg = f"cannot read {name}: {error.strerror}"
        raise PlanFileError(msg) from error
