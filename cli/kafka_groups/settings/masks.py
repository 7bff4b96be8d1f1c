"""Texts of others that may repeat a secret: of brokers, of librdkafka, and of programs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

MASK: Final = "(hidden)"
# A shorter secret may be a part of many words, so it is hidden only where it is a word.
_PART_OF_WORDS: Final = 4


def hide_secrets(text: str, secrets: Iterable[str]) -> str:
    """Return the text without the secrets; empty ones do not count."""
    # The longest one first: it may contain another one.
    ordered = sorted({secret for secret in secrets if secret}, key=len, reverse=True)
    return re.sub("|".join(map(_pattern_of, ordered)), MASK, text) if ordered else text


def _pattern_of(secret: str) -> str:
    pattern = re.escape(secret)
    return pattern if len(secret) >= _PART_OF_WORDS else rf"(?<!\w){pattern}(?!\w)"
