"""Surrogates: what Python has in a text for bytes that are not UTF-8 (PEP 383).

Names in Kafka are UTF-8. One that is not comes from an argument, from an escape in JSON, or from a broker that accepts
all bytes. It is never altered on the way, and never sent.
"""

from __future__ import annotations

import re
from typing import Final

_SURROGATES: Final = "[\ud800-\udfff]"


def escape_in_json(document: str) -> str:
    """Return JSON with its own escapes in place of surrogates, so that UTF-8 can encode it."""
    if document.isascii():
        return document
    return re.sub(_SURROGATES, lambda found: f"\\u{ord(found[0]):04x}", document)


def escape_bytes(text: str) -> str:
    r"""Return a text with a visible `\xff` in place of each byte that is not UTF-8, for files that cannot hold it."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
