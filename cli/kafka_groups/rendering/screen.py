"""The output streams of a run: whether they are terminals, how wide, and whether they take colours."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Mapping
from functools import cache
from typing import Final, NamedTuple, TextIO

# Control characters (Cc), line and paragraph separators, changes of the direction of text, and surrogates, which
# no stream can encode.
_CONTROLS: Final = r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"


class Screen(NamedTuple):
    """The two output streams of a run; the width is that of stdout's window, 0 if it has none."""

    out: TextIO
    err: TextIO
    out_is_terminal: bool
    err_is_terminal: bool
    colour: bool
    width: int


def _escaped(char: str) -> str:
    return char.encode("unicode_escape").decode("ascii")


def inspect_streams(colour: str = "auto", environment: Mapping[str, str] = os.environ) -> Screen:
    """Return the streams of this process; `colour` is auto, always or never (auto respects NO_COLOR)."""
    out_is_terminal = sys.stdout.isatty()
    wanted = out_is_terminal and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
    return Screen(
        out=sys.stdout,
        err=sys.stderr,
        out_is_terminal=out_is_terminal,
        err_is_terminal=sys.stderr.isatty(),
        colour=colour == "always" or (colour == "auto" and wanted),
        width=_window_width() if out_is_terminal else 0,
    )


def _window_width() -> int:
    import shutil  # it imports the archive formats, too, so output to a pipe does without it

    return shutil.get_terminal_size().columns


def escape_controls(text: str, spell: Callable[[str], str] = _escaped) -> str:
    """Return the text with visible control characters, so that the name of a group cannot control a terminal.

    Other characters without a glyph stay: joiners combine several characters to one letter or emoji.
    """
    # Most texts are printable, and this check is fast.
    return text if text.isprintable() else _controls().sub(lambda found: spell(found[0]), text)


@cache
def _controls() -> re.Pattern[str]:
    # Most commands never need it, and compiling it takes half a millisecond.
    return re.compile(_CONTROLS)


def print_line(stream: TextIO, text: str) -> None:
    """Print one line; after an error the stream is silenced."""
    try:
        print(text, file=stream, flush=True)
    except OSError:
        silence(stream)


def silence(stream: TextIO) -> None:
    """Redirect the stream to the null device, so that flushing it at exit is not another error."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)
