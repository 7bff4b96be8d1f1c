"""The options of a command's output: --format, --color and --debug; the run of a command that writes it once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

import click

from kafka_groups.options import DEBUG
from kafka_groups.options.parameters import F
from kafka_groups.options.suggestions import Choice
from kafka_groups.rendering.writers import FORMATS

if TYPE_CHECKING:
    from kafka_groups.model import Failure
    from kafka_groups.options.cluster_session import ClusterSession
    from kafka_groups.options.connection import Connection
    from kafka_groups.rendering.columns import Entry
    from kafka_groups.rendering.screen import Screen
    from kafka_groups.rendering.writers import Writer


def output_options(*, formats: tuple[str, ...] = FORMATS) -> Callable[[F], F]:
    """Add --format, --color and --debug; they arrive as `output_format` and `colour`."""

    def decorate(function: F) -> F:
        @wraps(function)
        def checked(*, output_format: str, colour: str, **arguments: Any) -> Any:
            if colour == "always" and output_format != "table":
                msg = f"--color always needs --format table; --format {output_format} has no colours"
                raise click.UsageError(msg)
            return function(output_format=output_format, colour=colour, **arguments)

        decorated = cast("F", checked)
        for option in (
            click.option(
                "--debug",
                is_flag=True,
                expose_value=False,
                callback=_remember_debug,
                help="Show the traceback of an error.",
            ),
            click.option(
                "--color",
                "colour",
                type=Choice(("auto", "always", "never")),
                default="auto",
                show_default=True,
                help="Colour in tables; auto: on a terminal.",
            ),
            click.option(
                "--format",
                "output_format",
                type=Choice(formats),
                default="table",
                show_default=True,
                help="Output format.",
            ),
        ):
            decorated = option(decorated)
        return decorated

    return decorate


def run_on_cluster(
    connection: Connection,
    body: Callable[[ClusterSession], object],
    *,
    colour: str,
    output_format: str,
    make_writer: Callable[[Screen], Writer],
    error_entry: Callable[[Failure], Entry] | None = None,
) -> None:
    """Run the body of a command that reads once: on one cluster, or on several at once.

    `error_entry` returns the row of one of several clusters whose body did not run, or failed as a whole.
    """
    # Imported here, as commands of the pipeline have these options, too, and most commands read one cluster.
    if connection.profiles:
        from kafka_groups.options.several_clusters import run_on_clusters

        run_on_clusters(
            connection,
            body,
            colour=colour,
            output_format=output_format,
            make_writer=make_writer,
            error_entry=error_entry,
        )
        return
    from kafka_groups.options.cluster_session import open_session

    with open_session(connection, colour=colour, make_writer=make_writer) as session:
        body(session)


def require_one_table(kinds: Sequence[str]) -> None:
    """Raise UsageError for a CSV of several tables; `kinds` has a kind of group, in the plural, for each of them."""
    *first, last = kinds or ("",)
    if not first:
        return
    names = f"{', '.join(first)} and {last}"
    msg = f"CSV has one set of columns, and {names} have different ones; select one kind by --type, --match or names"
    raise click.UsageError(msg)


def _remember_debug(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        context.find_root().meta[DEBUG] = True
