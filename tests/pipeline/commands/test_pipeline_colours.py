"""Colours of verdicts and statuses in tables."""

from __future__ import annotations

import io
from typing import NamedTuple

import pytest

from kafka_groups.rendering.columns import Column
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.writers.table import write_table

GREEN, YELLOW, RED, MAGENTA = "\x1b[32m", "\x1b[33m", "\x1b[1;31m", "\x1b[1;35m"


class Row(NamedTuple):
    """A row with one word."""

    word: str | None


def drawn(header: str, word: str | None, *, colour: bool = True) -> str:
    """Return a table with one cell, without its header."""
    out = io.StringIO()
    screen = Screen(out=out, err=out, out_is_terminal=False, err_is_terminal=False, colour=colour, width=80)
    write_table(screen, [Column(header, "word")], [Row(word)])
    return out.getvalue().partition("\n")[2]


@pytest.mark.parametrize(
    ("header", "word", "style"),
    [
        ("VERDICT", "OK", GREEN),
        ("VERDICT", "WARN", YELLOW),
        ("VERDICT", "STOP", RED),
        ("VERDICT", "STALL", RED),
        ("VERDICT", "UNKNOWN", "\x1b[2m"),
        ("VERDICT", "REWIND", MAGENTA),
        ("STATUS", "ok", GREEN),
        ("STATUS", "warning", YELLOW),
        ("STATUS", "failed", RED),
    ],
)
def test_a_known_word_is_coloured(header: str, word: str, style: str) -> None:
    assert f"{style}{word}" in drawn(header, word)
    assert "\x1b" not in drawn(header, word, colour=False)


def test_an_unknown_or_missing_word_is_not_coloured() -> None:
    assert not any(style in drawn("VERDICT", word) for word in ("NEW", None) for style in (GREEN, YELLOW, RED, MAGENTA))
