"""What a test finds in the streams that it gave to a screen."""

from __future__ import annotations

import io
from typing import TextIO


def written(stream: TextIO) -> str:
    """All that was written, if the stream is a string."""
    assert isinstance(stream, io.StringIO)
    return stream.getvalue()
