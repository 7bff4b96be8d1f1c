"""Options for verdicts: how long a group may wait until it is STOP, and how near the deletion of its records may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from kafka_groups.options.parameters import parse_option_duration

F = TypeVar("F", bound=Callable[..., Any])

STOP_AFTER: Final = "--stop-after"
RETENTION_ALERT: Final = "--retention-alert"


def stop_after_option(default: str | None = None) -> Callable[[F], F]:
    """Return a decorator that adds the option --stop-after; the command gets it as `stop_after`, in ms, or None."""
    return click.option(
        STOP_AFTER,
        metavar="DURATION",
        default=default,
        show_default=default is not None,
        callback=_parse,
        help="A group that has lag and does not move for this time is STOP, unless it usually waits longer.",
    )


def retention_alert_option(function: F) -> F:
    """Add the option --retention-alert; the command gets it as `retention_alert`, in ms, or None."""
    return click.option(
        RETENTION_ALERT,
        metavar="DURATION",
        callback=_parse,
        help="With --time and polls: a group is WARN (losing_data) if retention will delete its next record within "
        "this time, or within 20 % of the topic's retention if that is less. [default: 1d]",
    )(function)


def _parse(context: click.Context, option: click.Parameter, value: str | None) -> int | None:
    return None if value is None else round(1_000 * parse_option_duration(option.opts[0], value, context=context))
