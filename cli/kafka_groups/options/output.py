"""The options of a command's output: --format, --color and --debug."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, cast

import click

from kafka_groups.options import DEBUG
from kafka_groups.options.parameters import F
from kafka_groups.options.suggestions import Choice
from kafka_groups.rendering.writers import FORMATS


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
