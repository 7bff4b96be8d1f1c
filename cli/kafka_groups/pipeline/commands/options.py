"""Options that the pipeline's commands share: the directory of tables, and durations."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

import click

from kafka_groups.options import offer
from kafka_groups.options.parameters import parse_option_duration
from kafka_groups.settings.values import LONGEST_S

F = TypeVar("F", bound=Callable[..., Any])

# A limit of 20 years: counted back from now, such a period still begins after 1970.
_LONGEST_PAST_S: Final = 20 * LONGEST_S


def data_dir_option(function: F) -> F:
    """Add the option --data-dir, which is required; the command gets it as `data_dir`."""
    return _data_dir_option(function, callback=_require_data_dir)


def optional_data_dir_option(function: F) -> F:
    """Add the option --data-dir; the command gets it as `data_dir`, or None."""
    return _data_dir_option(function, callback=_read_data_dir)


def duration_option(
    name: str, *, default: str | None = None, about: str, longest_s: float = LONGEST_S
) -> Callable[[F], F]:
    """Return a decorator that adds an option for a duration; the command gets it in seconds, or None without one."""
    parse_value = partial(_read_duration, longest_s=longest_s)
    return click.option(name, metavar="DURATION", default=default, show_default=True, callback=parse_value, help=about)


def past_option(name: str, *, default: str | None = None, about: str) -> Callable[[F], F]:
    """Return a decorator that adds an option for a past period of up to 20 years; see duration_option."""
    return duration_option(name, default=default, about=about, longest_s=_LONGEST_PAST_S)


def parse_past_duration(name: str, value: str) -> float:
    """Return the seconds of a past period of up to 20 years. Raises UsageError with the option's name."""
    return _parse_duration(name, value, longest_s=_LONGEST_PAST_S)


def _data_dir_option(function: F, *, callback: Callable[..., Any]) -> F:
    return click.option(
        "--data-dir",
        metavar="DIR",
        callback=callback,
        shell_complete=offer("directories"),
        help="Directory of the tables, or s3://BUCKET/PATH; ingest, sample and backfill create it. "
        "[env: KAFKA_GROUPS_DATA_DIR]",
    )(function)


def _read_data_dir(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    """Return the value of --data-dir or of the environment; None if neither names a directory."""
    # An empty value means no directory, even if the environment names one.
    return (os.environ.get("KAFKA_GROUPS_DATA_DIR") if value is None else value) or None


def _require_data_dir(context: click.Context, parameter: click.Parameter, value: str | None) -> str:
    """Return the directory. Raises UsageError if neither the option nor the environment names one."""
    data_dir = _read_data_dir(context, parameter, value)
    if data_dir is None:
        raise click.UsageError(
            "no directory of tables is named; give --data-dir DIR, or set KAFKA_GROUPS_DATA_DIR", context
        )
    return data_dir


def _read_duration(
    context: click.Context, parameter: click.Parameter, value: str | None, *, longest_s: float
) -> float | None:
    """Return the value of a duration option in seconds; None if it was not given."""
    return None if value is None else _parse_duration(parameter.opts[0], value, longest_s=longest_s, context=context)


def _parse_duration(name: str, option_value: str, *, longest_s: float, context: click.Context | None = None) -> float:
    """Return a duration in seconds. Raises UsageError if it is not greater than 0, or longer than `longest_s`."""
    seconds = parse_option_duration(name, option_value, longest_s=longest_s, context=context)
    if seconds <= 0:
        msg = f"{name} must be greater than 0, for example 30s"
        raise click.UsageError(msg, context)
    return seconds
