"""Durations as values of options."""

from __future__ import annotations

import click

from kafka_groups.settings.values import LONGEST_S, parse_duration


def read_duration(
    option: str, text: str, *, longest_s: float = LONGEST_S, context: click.Context | None = None
) -> float:
    """Return the seconds of a duration such as 30s or PT10M. UsageError names the option."""
    try:
        return parse_duration(text, longest_s=longest_s)
    except ValueError as error:
        msg = f"{option}: {error}"
        raise click.UsageError(msg, context) from error
