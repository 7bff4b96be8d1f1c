"""Masks of what endpoints say: secrets in any encoding, tokens and keys, control characters."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.settings.tokens.server_errors import mask, parse_document, read_error

TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJtZSJ9AAAA1.c2lnbmF0dXJlc2lnbmF0dXJl9"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("invalid_client_credentials_given", "invalid_client_credentials_given"),
        (
            "client 0f0e0d0c-1111-2222-3333-444455556666 is unknown",
            "client 0f0e0d0c-1111-2222-3333-444455556666 is unknown",
        ),
        ("see https://login.example.com/tenant", "see https://login.example.com/tenant"),
        (f"the token {TOKEN} expired", "the token (hidden).(hidden).(hidden) expired"),
        ("key abcDEF1234567890abcDEF", "key (hidden)"),
        ("a\nb\tc\x00d", "a b c?d"),
    ],
)
def test_tokens_and_keys_are_masked_and_words_are_not(text: str, expected: str) -> None:
    assert mask(text, ()) == expected


@pytest.mark.parametrize(
    ("secret", "text", "expected"),
    [
        ("a b/c", "no a b/c, a%20b%2Fc, a+b%2Fc or YSBiL2M=", "no (hidden), (hidden), (hidden) or (hidden)"),
        ("ab", "ab is about", "(hidden) is about"),
        ("two\nlines", "said two lines", "said (hidden)"),
        ("", "text", "text"),
    ],
)
def test_a_secret_is_masked_in_each_encoding(secret: str, text: str, expected: str) -> None:
    assert mask(text, (secret,)) == expected


@given(st.text(alphabet=st.characters(codec="utf-8"), min_size=4), st.text(), st.text())
def test_no_text_around_a_secret_shows_it(secret: str, before: str, after: str) -> None:
    line = " ".join(secret.split())
    shown = mask(f"{before}{secret}{after}", (secret,)).replace("(hidden)", "\0")
    assert len(line) < 4 or line not in shown or not line.isprintable()


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"[" * 100_000, b'"x"'])
def test_other_text_than_a_json_object_has_no_error(body: bytes) -> None:
    assert (parse_document(body), read_error(body)) == (None, ("", ""))
