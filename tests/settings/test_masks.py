"""Texts of others without the secrets that they repeat."""

from __future__ import annotations

import pytest

from kafka_groups.settings.masks import hide_secrets


@pytest.mark.parametrize(
    ("text", "secrets", "hidden"),
    [
        ("user me, password hunter2", ["hunter2"], "user me, password (hidden)"),
        ("xhunter2x", ["hunter2"], "x(hidden)x"),
        ("a+b.c", ["a+b.c"], "(hidden)"),
        ("hunter2-long and hunter2", ["hunter2", "hunter2-long"], "(hidden) and (hidden)"),
        ("a cat, a", ["a"], "(hidden) cat, (hidden)"),
        ("nothing", [], "nothing"),
        ("nothing", [""], "nothing"),
        ("", ["hunter2"], ""),
    ],
)
def test_secrets_are_hidden_short_ones_only_as_words(text: str, secrets: list[str], hidden: str) -> None:
    assert hide_secrets(text, secrets) == hidden
