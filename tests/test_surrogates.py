"""Names that are not UTF-8: in JSON, and in files that cannot hold them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.surrogates import escape_bytes, escape_in_json


@given(st.text(st.sampled_from('a"\\\n日🚀\udcff\udc80')))
def test_escaped_json_is_the_same_value_and_utf_8(text: str) -> None:
    escaped = escape_in_json(json.dumps({text: [text]}, ensure_ascii=False))
    assert json.loads(escaped.encode()) == {text: [text]}


def test_json_of_utf_8_is_unchanged() -> None:
    assert escape_in_json('"日本 🚀"') == '"日本 🚀"'


@pytest.mark.parametrize(("text", "escaped"), [("a\udcffb", r"a\xffb"), ("日本", "日本"), ("", "")])
def test_bytes_that_are_not_utf_8_have_visible_escapes(text: str, escaped: str) -> None:
    assert escape_bytes(text) == escaped
