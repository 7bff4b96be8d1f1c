"""Options that the pipeline's commands share: where the tables are, which Spark, periods of time."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from kafka_groups.commands.options import gathered
from kafka_groups.settings import parse_duration
from kafka_groups.settings.values import LONGEST_S

F = TypeVar("F", bound=Callable[..., Any])

_TABLE_FORMATS: Final = ("parquet", "delta")  # as the storage has them, which is imported later
# Nobody waits for a past that long; back from now, it still begins after 1970.
_LONGEST_PAST_S: Final = 20 * LONGEST_S
_MASTERS: Final = re.compile(
    r"""local(\[\s*(\d+|\*)\s*(,\s*\d+\s*)?\])? | local-cluster\[[\d\s,]+\] | yarn
    | spark://[^\s/,]+:\d+(,[^\s/,]+:\d+)* | k8s://\S+""",
    re.VERBOSE,
)
_MEMORY: Final = re.compile(r"[1-9]\d*[kmgt]", re.IGNORECASE)  # what a JVM takes; others only start to fail


@dataclass(frozen=True, kw_only=True)
class SparkWanted:
    """What the flags say of Spark; None where they say nothing."""

    master: str | None
    remote: str | None
    driver_memory: str | None
    spark_log: Path | None
    fetch_java: bool


def takes_tables(function: F) -> F:
    """--into, which has to be there; it arrives as `into`."""
    return _into(function, callback=_required)


def may_take_tables(function: F) -> F:
    """--into, or None."""
    return _into(function, callback=None)


def takes_table_format(function: F) -> F:
    """--table-format, or None; it arrives as `table_format`."""
    return click.option(
        "--table-format",
        type=click.Choice(_TABLE_FORMATS),
        callback=_table_format,
        help="What a new directory keeps its tables as; an old one stays as it is. delta needs deltalake. "
        "[default: parquet] [env: KAFKA_GROUPS_TABLE_FORMAT]",
    )(function)


def takes_spark(function: F) -> F:
    """Options that say which Spark; they arrive as one `wanted`."""
    for option in (
        click.option(
            "--fetch-java",
            is_flag=True,
            help="Download a JDK 17 into the user's cache if none is in JAVA_HOME or on PATH.",
        ),
        click.option(
            "--spark-log",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Where Spark's own messages go. [default: a temporary file, kept if Spark fails]",
        ),
        click.option(
            "--driver-memory",
            metavar="SIZE",
            help="Memory of a Spark that is started here, as 512m or 4g. [default: 2g]",
        ),
        click.option("--remote", metavar="URL", help="A Spark Connect server, as sc://host:15002. [env: SPARK_REMOTE]"),
        click.option(
            "--master", metavar="URL", help="Spark's master, as local[4] or spark://host:7077. [default: local[*]]"
        ),
    ):
        function = option(function)
    return gathered(function, "wanted", _spark_wanted, ("master", "remote", "driver_memory", "spark_log", "fetch_java"))


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
    return value or os.environ.get("KAFKA_GROUPS_INTO") or None


def _required(context: click.Context, parameter: click.Parameter, value: str | None) -> str:
    into = _given(context, parameter, value)
    if into is None:
        raise click.UsageError("no directory of tables is named; give --into DIR, or set KAFKA_GROUPS_INTO", context)
    return into


def _table_format(context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    found = value or os.environ.get("KAFKA_GROUPS_TABLE_FORMAT") or None
    if found is not None and found not in _TABLE_FORMATS:
        msg = f"KAFKA_GROUPS_TABLE_FORMAT is {found!r}; write one of {', '.join(_TABLE_FORMATS)}"
        raise click.UsageError(msg, context)
    return found


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


def _spark_wanted(**given: Any) -> SparkWanted:
    if given["master"] and given["remote"]:
        raise click.UsageError("--master contradicts --remote: give one or the other")
    wanted = SparkWanted(**given)
    if wanted.master and not _MASTERS.fullmatch(wanted.master):
        msg = f"--master {wanted.master!r} is none of Spark's; write for example local[4] or spark://host:7077"
        raise click.UsageError(msg)
    if wanted.driver_memory and not _MEMORY.fullmatch(wanted.driver_memory):
        msg = f"--driver-memory {wanted.driver_memory!r} is no size; write for example 512m or 4g"
        raise click.UsageError(msg)
    if wanted.spark_log is not None and not wanted.spark_log.absolute().parent.is_dir():
        msg = f"--spark-log {wanted.spark_log}: there is no directory {wanted.spark_log.absolute().parent}"
        raise click.UsageError(msg)
    return wanted
