"""A table that is redrawn in place on a terminal."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from kafka_groups.groups.lag.lag_row import LagKey, LagRow
from kafka_groups.groups.lag.summary import summarize_lag
from kafka_groups.model import GroupDescription
from kafka_groups.rendering.live import LiveTable
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.views.lag import PACE_HIDEABLE, PACE_VIEW
from tests.rendering.streams import written

MakeScreen = Callable[..., Screen]
COLUMNS = PACE_VIEW.table()


@pytest.fixture
def terminal(make_screen: MakeScreen, monkeypatch: pytest.MonkeyPatch) -> Screen:
    """Return a terminal of 160 columns and 12 lines."""
    for name, value in {"COLUMNS": "160", "LINES": "12", "TERM": "xterm"}.items():
        monkeypatch.setenv(name, value)
    return make_screen(out_is_terminal=True)


def row(group: str, **values: Any) -> LagRow:
    """Return the lag of a group."""
    return summarize_lag(GroupDescription(group, "Classic", "Empty", "", None), [], LagKey.GROUP).total._replace(
        **values
    )


def plain(text: str) -> str:
    """Return a text without escape sequences."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)


def test_the_last_drawing_stays(terminal: Screen) -> None:
    with LiveTable(terminal) as table:
        table.draw("first", COLUMNS, [row("a")], [])
        table.draw("second", COLUMNS, [row("b", lags=(0, 5), lag=5, verdict="OK")], ["a message"])
    text = written(terminal.out)
    last = plain(text.rpartition("\x1b[1A\x1b[2K")[2]).splitlines()
    assert [line.split()[0] for line in last if line] == ["second", "GROUP", "b", "a"]
    assert "▁█" in last[2]
    # The cursor is hidden once and shown again.
    assert (text.count("\x1b[?25l"), text.count("\x1b[?25h")) == (1, 1)


@pytest.mark.parametrize(("messages", "shown"), [(0, 8), (2, 6)])
def test_rows_for_which_the_window_has_no_line_are_counted(terminal: Screen, messages: int, shown: int) -> None:
    rows = [row(f"group-{number}") for number in range(20)]
    with LiveTable(terminal) as table:
        table.draw("caption", COLUMNS, rows, ["message"] * messages)
    # The table is drawn once more at the end.
    lines = {line.strip() for line in plain(written(terminal.out)).splitlines()}
    assert sum(line.startswith("group-") for line in lines) == shown
    assert f"… and {20 - shown} more rows" in lines


def test_a_window_of_one_line_has_one_row(terminal: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINES", "1")
    with LiveTable(terminal) as table:
        table.draw("caption", COLUMNS, [row("a"), row("b")], [])
    assert "more row" in plain(written(terminal.out)) or "…" in plain(written(terminal.out))


@pytest.mark.parametrize("width", [60, 80, 100, 120, 160])
def test_a_narrow_window_shows_lag_and_verdict_and_names_what_it_hides(
    terminal: Screen, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    slow = row("clickstream-loader", state="PreparingRebalance", lag=12_345, lags=tuple(range(30)), verdict="WARN")
    with LiveTable(terminal) as table:
        table.draw("Lag", COLUMNS, [slow], [], hideable=PACE_HIDEABLE)
    caption, header, line = plain(written(terminal.out)).splitlines()[:3]
    assert [word in header.split() for word in ("GROUP", "LAG", "VERDICT")] == [True] * 3
    assert [word in line.split() for word in ("clickstream-loader", "12345", "WARN")] == [True] * 3
    assert ("too narrow for " in caption) is (len(header.split()) < len(COLUMNS))


def test_names_cannot_control_the_terminal(terminal: Screen) -> None:
    with LiveTable(terminal) as table:
        table.draw("a\x1b[2J", COLUMNS, [row("g\x1b[31m[red]")], ["m\x07"])
    text = written(terminal.out)
    assert [r"\x1b[2J" in text, r"g\x1b[31m[red]" in plain(text), r"m\x07" in text] == [True] * 3
    assert "\x1b[2J" not in text


def test_colours_are_only_used_on_request(terminal: Screen) -> None:
    for colour in (False, True):
        screen = terminal._replace(colour=colour, out=type(terminal.out)())
        with LiveTable(screen) as table:
            table.draw("caption", COLUMNS, [row("a", verdict="WARN", rule="falling_behind")], [])
        assert ("\x1b[33m" in written(screen.out)) is colour


def test_the_cursor_comes_back_after_an_error(terminal: Screen) -> None:
    def interrupt() -> None:
        with LiveTable(terminal) as table:
            table.draw("caption", COLUMNS, [row("a")], [])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert written(terminal.out).count("\x1b[?25h") == 1
