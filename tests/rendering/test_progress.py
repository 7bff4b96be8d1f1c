"""Progress bars: when and where they are drawn, and that they are erased."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from kafka_groups.rendering.progress import ProgressBar
from kafka_groups.rendering.screen import Screen
from tests.rendering.streams import written

MakeScreen = Callable[..., Screen]


def bar_after(screen: Screen, seconds: float) -> ProgressBar:
    """Return a progress bar that is this many seconds old at its first update."""
    moments = iter([0.0, seconds])
    return ProgressBar(screen, clock=lambda: next(moments))


def test_a_progress_bar_is_drawn_on_a_terminal_and_erased_at_the_end(make_screen: MakeScreen) -> None:
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
def test_a_progress_bar_is_not_drawn_in_the_first_moments_and_in_pipes(
    make_screen: MakeScreen, is_terminal: bool, seconds: float
) -> None:
    screen = make_screen(err_is_terminal=is_terminal)
    bar = bar_after(screen, seconds)
    bar("fetching offsets", 3, 10)
    bar.stop()
    assert written(screen.err) == ""


def test_a_progress_bar_has_no_colour_on_a_screen_without_colour(make_screen: MakeScreen) -> None:
    screen = make_screen(err_is_terminal=True)
    bar = bar_after(screen, 5)
    bar("fetching offsets", 3, 10)
    bar.stop()
    assert "\x1b[3" not in written(screen.err)


def test_a_progress_bar_of_a_long_step_is_drawn_at_once(make_screen: MakeScreen) -> None:
    screen = make_screen(err_is_terminal=True)
    bar = bar_after(screen, 0)
    bar.begin("starting Spark")
    bar.stop()
    drawn = written(screen.err)
    assert "starting Spark" in drawn
    assert drawn.endswith("\x1b[2K")


def test_a_progress_bar_of_a_long_step_is_not_drawn_in_a_pipe(make_screen: MakeScreen) -> None:
    screen = make_screen(err_is_terminal=False)
    ProgressBar(screen).begin("starting Spark")
    assert written(screen.err) == ""


def test_a_progress_bar_is_drawn_on_the_terminal_while_stderr_is_redirected_to_a_log(
    make_screen: MakeScreen, tmp_path: Path
) -> None:
    master, slave = os.openpty()
    with os.fdopen(slave, "w", encoding="utf-8") as err, (tmp_path / "log").open("w") as log:
        bar = bar_after(make_screen(err=err, err_is_terminal=True), 5)
        bar.begin("starting Spark")
        os.dup2(log.fileno(), slave)
        bar("reading the tables", 3, 8)
        bar.stop()
    drawn = ""
    # The output arrives in pieces. Reading raises OSError at its end, because the other end is closed.
    with suppress(OSError):
        while piece := os.read(master, 100_000):
            drawn += piece.decode(errors="replace")
    os.close(master)
    assert ("starting Spark" in drawn, "3/8" in drawn) == (True, True)
    assert (tmp_path / "log").read_text() == ""
