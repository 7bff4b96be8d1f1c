"""Progress bars: when and where they are drawn, and that they are erased."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_groups.rendering.progress import ProgressBar
from kafka_groups.rendering.screen import Screen
from tests.fakes.reactions import delayed
from tests.fakes.scripted_cluster import Group, ScriptedCluster
from tests.rendering.streams import read_terminal, written

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


def test_a_progress_bar_that_is_disabled_is_erased_and_not_drawn_again(make_screen: MakeScreen) -> None:
    screen = make_screen(err_is_terminal=True)
    bar = ProgressBar(screen, clock=iter([0.0, 5.0, 6.0]).__next__)
    bar("fetching offsets", 3, 10)
    bar.disable()
    drawn = written(screen.err)
    bar.begin("starting Spark")
    bar("fetching offsets", 4, 10)
    assert drawn.endswith("\x1b[2K")
    assert written(screen.err) == drawn


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
    drawn = read_terminal(master)
    assert ("starting Spark" in drawn, "3/8" in drawn) == (True, True)
    assert (tmp_path / "log").read_text() == ""


@pytest.mark.slow
@pytest.mark.parametrize("output", ["table", "json", "csv"])
def test_a_command_draws_its_progress_on_stderr_while_stdout_is_a_file(tmp_path: Path, output: str) -> None:
    groups = {f"g{at:03}": Group(coordinator=1, state="Empty", commits={("t", 0): 1}) for at in range(300)}
    master, slave = os.openpty()
    with ScriptedCluster(brokers=1, groups=groups, topics={"t": {0: 1}}) as cluster:
        bootstrap = str(cluster.brokers[1].endpoint)
        command = [
            sys.executable,
            "-m",
            "kafka_groups",
            "describe",
            "--all-groups",
            "-b",
            bootstrap,
            "--format",
            output,
        ]
        plain = subprocess.run(command, capture_output=True, check=True)
        cluster.script("OffsetFetch", delayed(1.0))
        with (tmp_path / "out").open("wb") as out:
            subprocess.run(command, stdout=out, stderr=slave, check=True, env={**os.environ, "TERM": "xterm"})
    os.close(slave)
    drawn = read_terminal(master)
    assert (tmp_path / "out").read_bytes() == plain.stdout
    assert ("reading groups" in drawn, "writing groups" in drawn, "256/300" in drawn) == (True, True, True)
    assert "300 consumer groups have no active members." in drawn
    assert "\x1b[2K" in drawn.rpartition("writing groups")[2]
