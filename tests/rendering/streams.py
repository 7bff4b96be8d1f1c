"""Streams of screens in tests: a string as a terminal, and the text of a stream."""

from __future__ import annotations

import io
import os
from contextlib import suppress
from typing import TextIO


class Tty(io.StringIO):
    """A string that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def written(stream: TextIO) -> str:
    """Return all that was written to a stream, which must be a string."""
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()


def read_terminal(master: int) -> str:
    """Return all that was written to a terminal whose other end is closed, and close it."""
    drawn = ""
    # The output arrives in pieces. Reading raises OSError at its end.
    with suppress(OSError):
        while piece := os.read(master, 100_000):
            drawn += piece.decode(errors="replace")
    os.close(master)
    return drawn
