"""Streams of screens in tests: a string as a terminal, and the text of a stream."""

from __future__ import annotations

import io
from typing import TextIO


class Tty(io.StringIO):
    """A string that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def written(stream: TextIO) -> str:
    """Return all that was written to a stream, which must be a string."""
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()
