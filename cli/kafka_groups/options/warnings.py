"""Warnings about the settings of a command, on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Final

import click

from kafka_groups.rendering.screen import escape_controls, print_line

_PRINTED: Final = "kafka_groups.printed_warnings"


def print_warnings(warnings: Iterable[str]) -> None:
    """Print each warning once in a run of the command line: some commands resolve their settings several times."""
    context = click.get_current_context(silent=True)
    # A context has the same `meta` as its parents. Without one, as in a thread, nothing is known to be printed.
    printed: set[str] = set() if context is None else context.meta.setdefault(_PRINTED, set())
    for warning in warnings:
        if warning not in printed:
            printed.add(warning)
            print_line(sys.stderr, f"Warning: {escape_controls(warning)}")
