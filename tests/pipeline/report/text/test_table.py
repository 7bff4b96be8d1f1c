"""A history on a terminal and in a pipe: whole screens."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest
from rich.cells import cell_len
from rich.table import Table

from kafka_groups.pipeline.report.history import Finding, History
from kafka_groups.pipeline.report.text.table import draw_history
from kafka_groups.rendering.screen import Screen
from tests.pipeline.report.example_histories import FROM, HOUR, MINUTE, TO, group, history, points, rebalance
from tests.rendering.streams import written

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

MakeScreen = Callable[..., Screen]

WORST = group(
    "billing",
    state="Stable",
    member_count=3,
    verdict="STALL",
    rule="no_progress",
    lag=40_000,
    time_lag_ms=19 * HOUR + 7 * MINUTE,
    time_lag_quality="lower_bound",
    consume_rate=0.04,
    produce_rate=118.44,
    lagging_since_ms=FROM + 5 * HOUR,
    points=points(0, None, 7, 70),
    rebalances=(rebalance(), rebalance(duration_ms=None)),
)
CALM = group(
    "audit",
    state="Empty",
    member_count=0,
    verdict="OK",
    lag=12,
    time_lag_ms=3_200,
    time_lag_quality="interpolated",
    consume_rate=1_000.0,
    catch_up_ms=11 * MINUTE,
    points=points(*[12] * 20),
)
SKEW = Finding(kind="skew", cluster_id="c-1", group="billing", topic=None, message="partition 3 has 90% of the lag")
TOLD = history(
    WORST,
    CALM,
    selected=(WORST, CALM) * 35,
    findings=(SKEW,),
    gaps=("partition 3 of __consumer_offsets: 120 offsets",),
    missing=("no end offsets before 02:00",),
)


def drawn_on(screen: Screen, given: History = TOLD) -> tuple[str, str]:
    """Return stdout and stderr, without blanks at the ends of lines."""
    draw_history(screen, given)
    streams: Any = (screen.out, screen.err)
    out, err = ("\n".join(line.rstrip() for line in stream.getvalue().split("\n")) for stream in streams)
    return out, err


@pytest.fixture
def window(make_screen: MakeScreen) -> Callable[..., Screen]:
    """A terminal without colours of so many columns."""

    def make(width: int, **given: Any) -> Screen:
        return make_screen(out_is_terminal=True, width=width, **given)

    return make


def test_a_pipe_gets_every_column_and_then_the_findings(make_screen: MakeScreen) -> None:
    out, err = drawn_on(make_screen(width=20))
    assert out == dedent("""\
        GROUP    STATE   MEMBERS  VERDICT  RULE           LAG  TIME-LAG  TREND                 CONSUME-RATE  PRODUCE-RATE  CATCH-UP  SINCE              REBALANCES  LONGEST
        billing  Stable        3  STALL    no_progress  40000  ≥19h7m    ▁·········▂····█····           0.0         118.4  -         2026-11-20T05:00Z           2  3.2s
        audit    Empty         0  OK       -               12  ~3.2s     ████████████████████        1000.0             -  11m       -                           0  -

        KIND  GROUP    TOPIC  MESSAGE
        skew  billing  -      partition 3 has 90% of the lag
        """)  # noqa: E501 - nothing is shortened in a pipe
    assert err == dedent("""\
        2026-11-20T00:00Z to 2026-11-21T00:00Z, 2 of 70 groups, 1 cluster: c-1
        Order: by verdict (STOP, REWIND, STALL, WARN, UNKNOWN, OK), then by lag, then by time lag, the worst first; groups without a verdict, unused groups and deleted groups follow.
        TIME-LAG: ~ means about: the time is interpolated between two samples; ≥ means at least: the oldest unread record is older than the first sample.
        Why billing is behind now: kafka-groups why billing, with the options of its cluster.
        Gap: partition 3 of __consumer_offsets: 120 offsets
        Missing: no end offsets before 02:00
        """)  # noqa: E501 - lines as they are printed


def test_a_narrow_window_omits_the_least_needed_columns_with_a_note(window: Callable[..., Screen]) -> None:
    out, err = drawn_on(window(80))
    assert out == dedent("""\
        GROUP    STATE   VERDICT  RULE           LAG  TIME-LAG  TREND
        billing  Stable  STALL    no_progress  40000  ≥19h7m    ▁·········▂····█····
        audit    Empty   OK       -               12  ~3.2s     ████████████████████

        KIND  GROUP    TOPIC  MESSAGE
        skew  billing  -      partition 3 has 90% of the lag
        """)
    assert err.split("\n")[2] == (
        "Omitted columns: MEMBERS, CONSUME-RATE, PRODUCE-RATE, CATCH-UP, SINCE, REBALANCES, LONGEST "
        "(a window of 163 columns or a pipe has them)."
    )


def test_a_window_of_medium_width_has_the_rule_and_since_when(window: Callable[..., Screen]) -> None:
    out, _ = drawn_on(window(110))
    assert out.split("\n")[0].split() == [
        *("GROUP", "STATE", "VERDICT", "RULE", "LAG", "TIME-LAG", "TREND", "CATCH-UP", "SINCE")
    ]


def test_rows_of_a_report_have_as_of_only_if_one_is_old(make_screen: MakeScreen) -> None:
    fresh, old = (group(name, evaluated_ms=TO - age) for name, age in (("fresh", 10 * MINUTE), ("old", 11 * MINUTE)))
    newest = group("newest", evaluated_ms=TO)
    out, err = drawn_on(make_screen(), history(newest, fresh, evaluated_ms=TO))
    assert ("AS-OF" in out, "2 groups as of 2026-11-21T00:00Z, 1 cluster" in err) == (False, True)
    out, _ = drawn_on(make_screen(), history(fresh, old, group("never"), evaluated_ms=TO))
    index = out.split("\n")[0].split().index("AS-OF")
    assert [line.split()[index] for line in out.split("\n")[1:-1]] == ["2026-11-20T23:50Z", "2026-11-20T23:49Z", "-"]


def test_a_group_that_was_removed_is_called_so_in_any_window(window: Callable[..., Screen]) -> None:
    deleted = group("billing", state="Dead", member_count=0, deleted_ms=FROM + HOUR, evaluated_ms=FROM)
    out, err = drawn_on(window(40), history(deleted))
    assert out.split("\n")[1].split()[1] == "deleted"
    assert "Deleted: billing, 2026-11-20T01:00Z\n" in err
    _, err = drawn_on(window(40), history(deleted, clusters=("c-1", "c-2")))
    assert "Deleted: billing on cluster c-1, 2026-11-20T01:00Z\n" in err


def test_a_removal_that_only_samples_show_is_a_bound(make_screen: MakeScreen) -> None:
    deleted = group("billing", state="Dead", member_count=0, deleted_ms=FROM + HOUR, deleted_is_bound=True)
    assert "Deleted: billing, ≤2026-11-20T01:00Z\n" in drawn_on(make_screen(), history(deleted))[1]


def test_since_shows_if_the_lag_may_be_older(make_screen: MakeScreen) -> None:
    late = group(lag=1, lagging_since_ms=FROM + HOUR, lagging_since_is_bound=True)
    out, err = drawn_on(make_screen(), history(late))
    assert "≤2026-11-20T01:00Z" in out
    assert "SINCE: ≤ means at or before: there was lag already in the first sample, or after a data gap.\n" in err


def test_rebalances_that_are_not_known_are_no_zero(make_screen: MakeScreen) -> None:
    lines = drawn_on(make_screen(), history(group("none", rebalances=()), group("unknown", rebalances=None)))[0]
    assert [line.split()[-2:] for line in lines.splitlines()[1:]] == [["0", "-"], ["-", "-"]]


def test_a_rebalance_that_was_overtaken_took_longer_than_is_known(make_screen: MakeScreen) -> None:
    overtaken = group(lag=1, rebalances=(rebalance(duration_quality="overtaken", duration_ms=300_000),))
    out, err = drawn_on(make_screen(), history(overtaken))
    assert out.splitlines()[1].endswith(" ≥5m")
    assert "LONGEST: ≥ means at least: the next one began before all had joined.\n" in err
    assert "is at most" not in err


def test_a_sign_is_explained_where_its_column_is_shown(window: Callable[..., Screen], make_screen: MakeScreen) -> None:
    given = group(lag=1, rebalances=(rebalance(duration_quality="bound"),))
    sentence = "LONGEST: ≤ means at most: the records do not show when exactly it began.\n"
    assert sentence in drawn_on(make_screen(), history(given))[1]
    assert sentence not in drawn_on(window(60), history(given))[1]


def test_a_wide_window_has_the_columns_of_a_pipe(window: Callable[..., Screen], make_screen: MakeScreen) -> None:
    assert drawn_on(window(163)) == drawn_on(make_screen())


@pytest.mark.parametrize("width", [30, 40, 60, 100, 140])
def test_lines_fit_the_window_as_long_as_its_needed_columns_do(window: Callable[..., Screen], width: int) -> None:
    out, _ = drawn_on(window(width), history(WORST, CALM))
    assert max(map(cell_len, out.split("\n"))) <= max(width, 33)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("[red]x[/red]:fire:", "[red]x[/red]:fire:"),
        ("a\x1b[31mb\nc", r"a\x1b[31mb\nc"),
        ("注文", "注文"),
        ("\u202eevil", r"\u202eevil"),
    ],
)
def test_names_are_neither_markup_nor_commands(window: Callable[..., Screen], name: str, shown: str) -> None:
    out, _ = drawn_on(window(200), history(group(name)))
    assert out.split("\n")[1].split()[0] == shown


def test_wide_names_keep_columns_in_line(window: Callable[..., Screen]) -> None:
    out, _ = drawn_on(window(60), history(group("注文", verdict="WARN"), group("orders", verdict="OK")))
    head, wide, narrow, _ = out.split("\n")
    assert cell_len(wide[: wide.index("WARN")]) == head.index("VERDICT") == narrow.index("OK")


def test_clusters_are_a_column_where_there_are_several(make_screen: MakeScreen) -> None:
    given = history(group(), clusters=("c-1", "c-2"), findings=(SKEW,))
    out, err = drawn_on(make_screen(), given)
    assert [line.split()[:2] for line in out.split("\n") if line] == [
        ["GROUP", "CLUSTER"],
        ["orders", "c-1"],
        ["KIND", "CLUSTER"],
        ["skew", "c-1"],
    ]
    assert "1 group, 2 clusters: c-1, c-2" in err


def test_without_colour_there_is_no_escape_at_all(window: Callable[..., Screen]) -> None:
    assert "\x1b" not in "".join(drawn_on(window(163)))


def test_colour_does_not_change_the_text(window: Callable[..., Screen]) -> None:
    out, _ = drawn_on(window(163, colour=True))
    assert ("\x1b[" in out, "STALL" in out, "▁·········▂····█····" in out) == (True, True, True)


def test_a_stream_that_is_not_unicode_gets_digits_and_ascii_signs(make_screen: MakeScreen) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strict")
    screen = make_screen(out=stream)
    draw_history(screen, TOLD)
    stream.seek(0)
    row = stream.read().split("\n")[1]
    assert (">=19h7m" in row, "0.........1....7...." in row) == (True, True)
    assert ">= means at least" in written(screen.err)


def test_without_groups_there_is_a_header(make_screen: MakeScreen) -> None:
    out, err = drawn_on(make_screen(), history())
    assert (out.split()[0], out.count("\n")) == ("GROUP", 1)
    assert err == "2026-11-20T00:00Z to 2026-11-21T00:00Z, 0 groups, 1 cluster: c-1\n"
    _, err = drawn_on(make_screen(), replace(history(), clusters=()))
    assert err == "2026-11-20T00:00Z to 2026-11-21T00:00Z, 0 groups\n"


def test_a_lag_that_is_a_bound_has_a_sign_and_is_aligned_right(make_screen: MakeScreen) -> None:
    given = (
        ("whole", 123_456, "exact"),
        ("silent", 7, "lower_bound"),
        ("unheard", 0, "outdated"),
        ("none", None, "unknown"),
    )
    out, err = drawn_on(make_screen(), history(*(group(name, lag=lag, lag_quality=good) for name, lag, good in given)))
    index = out.index("LAG") + len("LAG")
    assert [line[:index].split()[-1] for line in out.splitlines()[1:]] == ["123456", "≥7", "?0", "-"]
    assert err.splitlines()[2] == (
        "LAG: ≥ means at least, because the log end offsets of some partitions are unknown; "
        "? means outdated: the coordinator of the group did not respond, so its commits are older."
    )


def test_signs_that_do_not_occur_are_not_explained(make_screen: MakeScreen) -> None:
    _, err = drawn_on(make_screen(), history(group(time_lag_ms=5, time_lag_quality="exact")))
    assert "LAG" not in err


def test_stderr_names_the_command_for_the_first_group_with_trouble(make_screen: MakeScreen) -> None:
    _, err = drawn_on(make_screen(), history(CALM, WORST))
    assert "Why billing is behind now: kafka-groups why billing, with the options of its cluster.\n" in err
    assert "kafka-groups why" not in drawn_on(make_screen(), history(CALM))[1]


def test_stderr_has_only_the_first_gaps(make_screen: MakeScreen) -> None:
    _, err = drawn_on(make_screen(), history(gaps=tuple(map(str, range(1_021)))))
    lines = err.strip().split("\n")
    assert (len(lines), lines[-1]) == (22, "1,001 more gaps; --format json has them all.")


def test_omitted_findings_are_counted(make_screen: MakeScreen) -> None:
    idle = Finding(kind="idle_group", cluster_id="c-1", group="g", topic=None, message="it rests")
    out, err = drawn_on(make_screen(), history(findings=(*(idle,) * 1_234, SKEW)))
    assert (out.count("it rests"), out.count("skew")) == (50, 1)
    assert "1,184 more findings; --format json has them all.\n" in err


@pytest.mark.slow
@pytest.mark.parametrize("is_terminal", [True, False])
def test_twelve_thousand_groups_do_not_go_through_rich(
    make_screen: MakeScreen, mocker: MockerFixture, is_terminal: bool
) -> None:
    table = mocker.patch("kafka_groups.rendering.writers.terminal.Table", wraps=Table)
    screen = make_screen(out_is_terminal=is_terminal, width=120)
    lags = points(*range(100))
    given = history(*(group(f"group-{at}", points=lags, lag=at) for at in range(12_000)))
    out, _ = drawn_on(screen, given)
    assert (out.count("\n"), table.call_count) == (12_001, 0)
