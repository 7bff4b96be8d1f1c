"""Detection of terminals and colours, and control characters in text."""

from __future__ import annotations

import io
import sys

import pytest

from kafka_groups.rendering.screen import escape_controls, inspect_streams
from tests.rendering.streams import Tty


@pytest.mark.parametrize(
    ("stream", "colour", "environment", "coloured"),
    [
        (Tty, "auto", {}, True),
        (Tty, "auto", {"TERM": "xterm-256color"}, True),
        (Tty, "auto", {"NO_COLOR": ""}, True),
        (Tty, "auto", {"NO_COLOR": "1"}, False),
        (Tty, "auto", {"TERM": "dumb"}, False),
        (Tty, "never", {}, False),
        (Tty, "always", {"NO_COLOR": "1", "TERM": "dumb"}, True),
        (io.StringIO, "auto", {}, False),
        (io.StringIO, "never", {}, False),
    ],
)
def test_colour_is_used_on_terminals_unless_a_variable_or_the_flag_disables_it(
    monkeypatch: pytest.MonkeyPatch,
    stream: type[io.StringIO],
    colour: str,
    environment: dict[str, str],
    coloured: bool,
) -> None:
    monkeypatch.setattr(sys, "stdout", stream())
    assert inspect_streams(colour, environment).colour is coloured


def test_each_stream_is_checked_for_a_terminal_separately(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setattr(sys, "stderr", Tty())
    screen = inspect_streams("auto", {})
    assert (screen.out_is_terminal, screen.err_is_terminal) == (False, True)


@pytest.mark.parametrize(("stream", "width"), [(Tty, 44), (io.StringIO, 0)])
def test_only_a_terminal_has_a_width(monkeypatch: pytest.MonkeyPatch, stream: type[io.StringIO], width: int) -> None:
    monkeypatch.setattr(sys, "stdout", stream())
    monkeypatch.setenv("COLUMNS", "44")
    assert inspect_streams("auto", {}).width == width


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain-注文-🚀", "plain-注文-🚀"),
        ("a\tb\nc\r", r"a\tb\nc\r"),
        ("\x1b[2J", r"\x1b[2J"),
        ("\x7f\x9b", r"\x7f\x9b"),
        ("\u202eevil\u202c\u200f", r"\u202eevil\u202c\u200f"),
        ("one\u2028two\u2029", r"one\u2028two\u2029"),
        ("half\ud83d", r"half\ud83d"),
        ("👩\u200d🚀 soft\u00ad", "👩\u200d🚀 soft\u00ad"),
        ("\n👩\u200d🚀", "\\n👩\u200d🚀"),
    ],
)
def test_control_characters_are_escaped(text: str, shown: str) -> None:
    assert escape_controls(text) == shown
