"""What the streams are taken for, and what may be written on them."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from kafka_groups.model import Failure, GroupDescription
from kafka_groups.rendering.progress import ProgressBar
from kafka_groups.rendering.screen import Screen, escape_controls, inspect_streams
from kafka_groups.rendering.stderr import format_failure, print_group_states, print_note
from tests.rendering.streams import written

MakeScreen = Callable[..., Screen]


class Tty(io.StringIO):
    """A string that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


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
def test_colour_is_for_terminals_that_want_it_unless_told(
    monkeypatch: pytest.MonkeyPatch,
    stream: type[io.StringIO],
    colour: str,
    environment: dict[str, str],
    coloured: bool,
) -> None:
    monkeypatch.setattr(sys, "stdout", stream())
    assert inspect_streams(colour, environment).colour is coloured


def test_each_stream_is_a_terminal_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    monkeypatch.setattr(sys, "stderr", Tty())
    screen = inspect_streams("auto", {})
    assert (screen.out_is_terminal, screen.err_is_terminal) == (False, True)


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
def test_control_characters_become_visible(text: str, shown: str) -> None:
    assert escape_controls(text) == shown


def test_talk_goes_to_stderr_a_line_each(make_screen: MakeScreen) -> None:
    screen = make_screen(err=io.StringIO())
    print_note(screen, "one\ntwo")
    assert (written(screen.out), written(screen.err)) == ("", "one\\ntwo\n")


@pytest.mark.parametrize(
    ("where", "told"),
    [
        ({}, "refused (X)"),
        ({"group": "g"}, "group 'g': refused (X)"),
        ({"group": ""}, "group '': refused (X)"),
        ({"group": "g", "broker": 2}, "group 'g': refused (X)"),
        ({"topic": "t"}, "topic 't': refused (X)"),
        ({"topic": "t", "partition": 0, "broker": 2}, "partition t-0: refused (X)"),
        ({"group": "g", "topic": "t", "partition": 0}, "group 'g', partition t-0: refused (X)"),
        ({"broker": 0}, "broker 0: refused (X)"),
    ],
)
def test_a_failure_says_what_and_where_and_why(where: dict[str, Any], told: str) -> None:
    failure = Failure(code=1, name="X", message="refused", **where)
    assert format_failure(failure) == told


def test_states_are_told_empty_ones_first(make_screen: MakeScreen) -> None:
    screen = make_screen(err=io.StringIO())
    groups = [
        GroupDescription(group=group, type="Classic", state=state, protocol_type="consumer", coordinator=None)
        for group, state in (("a", "PreparingRebalance"), ("b", "Empty"), ("c", "Stable"), ("d", None))
    ]
    print_group_states(screen, groups, named=frozenset())
    assert written(screen.err) == (
        "Consumer group 'b' has no active members.\nWarning: Consumer group 'a' is rebalancing.\n"
    )


def bar_after(screen: Screen, seconds: float) -> ProgressBar:
    """A bar that was made so many seconds before it is first told of anything."""
    moments = iter([0.0, seconds])
    return ProgressBar(screen, clock=lambda: next(moments))


def test_a_bar_is_drawn_on_a_terminals_stderr_and_wiped_away(make_screen: MakeScreen) -> None:
    screen = make_screen(err_is_terminal=True)
    bar = bar_after(screen, 0.8)
    bar("fetching offsets", 3, 10)
    bar.stop()
    drawn = written(screen.err)
    assert "fetching offsets" in drawn
    assert "3/10" in drawn
    assert drawn.endswith("\x1b[2K")
    assert written(screen.out) == ""


@pytest.mark.parametrize(("is_terminal", "seconds"), [(True, 0.6), (False, 60.0)])
def test_a_bar_is_silent_in_the_first_moments_and_in_pipes(
    make_screen: MakeScreen, is_terminal: bool, seconds: float
) -> None:
    screen = make_screen(err_is_terminal=is_terminal)
    bar = bar_after(screen, seconds)
    bar("fetching offsets", 3, 10)
    bar.stop()
    assert written(screen.err) == ""


def test_without_colour_the_bar_has_none(make_screen: MakeScreen) -> None:
    screen = make_screen(err_is_terminal=True)
    bar = bar_after(screen, 5)
    bar("fetching offsets", 3, 10)
    bar.stop()
    assert "\x1b[3" not in written(screen.err)


def test_a_bar_for_what_takes_seconds_is_drawn_at_once(make_screen: MakeScreen) -> None:
    screen = make_screen(err_is_terminal=True)
    bar = bar_after(screen, 0)
    bar.begin("starting Spark")
    bar.stop()
    drawn = written(screen.err)
    assert "starting Spark" in drawn
    assert drawn.endswith("\x1b[2K")


def test_a_bar_in_a_pipe_does_not_begin(make_screen: MakeScreen) -> None:
    screen = make_screen(err_is_terminal=False)
    ProgressBar(screen).begin("starting Spark")
    assert written(screen.err) == ""


def test_a_bar_goes_on_while_the_descriptor_of_stderr_is_a_log(make_screen: MakeScreen, tmp_path: Path) -> None:
    master, slave = os.openpty()
    with os.fdopen(slave, "w", encoding="utf-8") as err, (tmp_path / "log").open("w") as log:
        bar = bar_after(make_screen(err=err, err_is_terminal=True), 5)
        bar.begin("starting Spark")
        os.dup2(log.fileno(), slave)
        bar("reading the tables", 3, 8)
        bar.stop()
    drawn = ""
    # What was drawn comes in pieces, and then, as nobody holds the other end any more, an error.
    with suppress(OSError):
        while piece := os.read(master, 100_000):
            drawn += piece.decode(errors="replace")
    os.close(master)
    assert ("starting Spark" in drawn, "3/8" in drawn) == (True, True)
    assert (tmp_path / "log").read_text() == ""
