"""What an endpoint says about a request that it refused, without secrets: they may be repeated in its text."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Collection, Mapping
from typing import Any, Final
from urllib.parse import quote, quote_plus

_MASK: Final = "(hidden)"
_LONGEST_SHOWN: Final = 300
# A word that may be a token or a key: long, with letters and digits. Ids in the form of a UUID are none.
_LONG_WORD: Final = re.compile(r"(?=[\w~+=%-]*[0-9])(?=[\w~+=%-]*[A-Za-z])[\w~+=%-]{20,}")
_UUID: Final = re.compile(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
# Shorter secrets are masked as words, so that the mask does not show where their letters are in other words.
_SHORT_SECRET: Final = 4
# RFC 6749, section 5.2, and Okta's own form.
_FORMS: Final = (("error", "error_description"), ("errorCode", "errorSummary"))


def parse_document(body: bytes) -> Mapping[str, Any] | None:
    """Return the JSON object of a body, None for other text."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def read_error(body: bytes) -> tuple[str, str]:
    """Return the code and the description of an error response, empty texts for what it does not have."""
    document = parse_document(body) or {}
    for code, description in _FORMS:
        texts = (_text(document.get(code)), _text(document.get(description)))
        if any(texts):
            return texts
    return "", ""


def describe_error(body: bytes, secrets: Collection[str]) -> str:
    """Return code and description as one line, without the secrets; empty if the body has none."""
    return mask(": ".join(text for text in read_error(body) if text), secrets)


def mask(text: str, secrets: Collection[str]) -> str:
    """Return a text as one line without the secrets, in whatever encoding a request has them, and without tokens."""
    line = " ".join(text.split())
    forms = {form for secret in secrets if secret for form in _forms_of(secret)}
    for form in sorted(forms, key=len, reverse=True):
        line = _replace(line, form)
    line = _LONG_WORD.sub(_mask_word, line)
    return "".join(each if each.isprintable() else "?" for each in line)[:_LONGEST_SHOWN]


def _forms_of(secret: str) -> set[str]:
    line = " ".join(secret.split())
    return {form for form in (secret, line, quote(secret, safe=""), quote_plus(secret), _base64(secret)) if form}


def _replace(line: str, secret: str) -> str:
    if len(secret) >= _SHORT_SECRET:
        return line.replace(secret, _MASK)
    return re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", lambda _: _MASK, line)


def _mask_word(match: re.Match[str]) -> str:
    return match[0] if _UUID.fullmatch(match[0]) else _MASK


def _base64(text: str) -> str:
    return b64encode(text.encode(errors="surrogateescape")).decode()


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""
