"""What the two streams are: a terminal or not, how wide, in colour or not. The only place that looks."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TextIO

# Controls (Cc), line and paragraph separators, what turns the direction of text, and halves of characters,
# which no stream takes.
_CONTROLS: Final = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


@dataclass(frozen=True, kw_only=True)
class Screen:
    """stdout and stderr of this run."""

    out: TextIO
    err: TextIO
    out_is_terminal: bool
    err_is_terminal: bool
    colour: bool
    width: int


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


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


def escape_controls(text: str, spell: Callable[[str], str] = _escaped) -> str:
    """The text with its control characters made visible, so that a group's name cannot drive a terminal.

    What merely has no glyph stays: joiners make letters and emoji of several characters.
    """
    # Most texts are printable all through, and this says so in no time.
    return text if text.isprintable() else _CONTROLS.sub(lambda found: spell(found[0]), text)
