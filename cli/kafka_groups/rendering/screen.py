"""What the two streams are: a terminal or not, how wide, in colour or not. The only place that looks."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO


@dataclass(frozen=True, kw_only=True)
class Screen:
    """stdout and stderr of this run."""

    out: TextIO
    err: TextIO
    out_is_terminal: bool
    err_is_terminal: bool
    colour: bool
    width: int


def look_at_streams(colour: str = "auto", environment: Mapping[str, str] = os.environ) -> Screen:
    """The streams of this process; `colour` is auto, always or never (auto heeds NO_COLOR)."""
    out_is_terminal = sys.stdout.isatty()
    wanted = out_is_terminal and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
    return Screen(
        out=sys.stdout,
        err=sys.stderr,
        out_is_terminal=out_is_terminal,
        err_is_terminal=sys.stderr.isatty(),
        colour=colour == "always" or (colour == "auto" and wanted),
        width=shutil.get_terminal_size().columns,
    )


def escape_controls(text: str) -> str:
    """The text with its control characters made visible, so that a group's name cannot drive a terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else _escaped(char) for char in text)


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")
