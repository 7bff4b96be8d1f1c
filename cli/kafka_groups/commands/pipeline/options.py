"""Options that the pipeline's commands share: where the tables are, what they are, periods of time."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar

import click

from kafka_groups.settings import parse_duration
from kafka_groups.settings.values import LONGEST_S

F = TypeVar("F", bound=Callable[..., Any])

_TABLE_FORMATS: Final = ("parquet", "delta")  # as the storage has them, which is imported later
# Nobody waits for a past that long; back from now, it still begins after 1970.
_LONGEST_PAST_S: Final = 20 * LONGEST_S


@dataclass(frozen=True, kw_only=True)
class FormatWanted:
    """The format that tables have to have (None: any), and the one that those of a new directory get."""

    asked: str | None
    usual: str


def takes_tables(function: F) -> F:
    """--into, which has to be there; it arrives as `into`."""
    return _into(function, callback=_required)


def may_take_tables(function: F) -> F:
    """--into, or None."""
    return _into(function, callback=None)


def takes_table_format(function: F) -> F:
    """--table-format; it arrives as `table_format`, a FormatWanted."""
    return click.option(
        "--table-format",
        type=click.Choice(_TABLE_FORMATS),
        callback=_table_format,
        help="What a new directory keeps its tables as; an old one has to be of that format then. delta needs "
        "deltalake. [env: KAFKA_GROUPS_TABLE_FORMAT, for new ones only; default: parquet]",
    )(function)


def takes_duration(
    name: str, *, default: str | None = None, about: str, longest_s: float = LONGEST_S
) -> Callable[[F], F]:
    """An option whose value arrives in seconds, or as None."""
    read = partial(_duration, longest_s=longest_s)
    return click.option(name, metavar="DURATION", default=default, show_default=True, callback=read, help=about)


def takes_past(name: str, *, default: str | None = None, about: str) -> Callable[[F], F]:
    """The same of a period that lies behind us, and may have years."""
    return takes_duration(name, default=default, about=about, longest_s=_LONGEST_PAST_S)


def _into(function: F, *, callback: Callable[..., Any] | None) -> F:
    return click.option(
        "--into",
        metavar="DIR",
        callback=callback or _given,
        help="The directory of the tables, a path or a URI. [env: KAFKA_GROUPS_INTO]",
    )(function)


def _given(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    # An empty one is none, whatever the environment says.
    return (os.environ.get("KAFKA_GROUPS_INTO") if value is None else value) or None


def _required(context: click.Context, parameter: click.Parameter, value: str | None) -> str:
    into = _given(context, parameter, value)
    if into is None:
        raise click.UsageError("no directory of tables is named; give --into DIR, or set KAFKA_GROUPS_INTO", context)
    return into


def _table_format(context: click.Context, _parameter: click.Parameter, value: str | None) -> FormatWanted:
    usual = os.environ.get("KAFKA_GROUPS_TABLE_FORMAT") or _TABLE_FORMATS[0]
    if usual not in _TABLE_FORMATS:
        msg = f"KAFKA_GROUPS_TABLE_FORMAT is {usual!r}; write one of {', '.join(_TABLE_FORMATS)}"
        raise click.UsageError(msg, context)
    return FormatWanted(asked=value, usual=usual)


def _duration(
    context: click.Context, parameter: click.Parameter, value: str | None, *, longest_s: float
) -> float | None:
    if value is None:
        return None
    try:
        seconds = parse_duration(value, longest_s=longest_s)
    except ValueError as error:
        msg = f"{parameter.opts[0]}: {error}"
        raise click.UsageError(msg, context) from None
    if seconds <= 0:
        msg = f"{parameter.opts[0]} must be more than nothing; write for example 30s"
        raise click.UsageError(msg, context)
    return seconds
