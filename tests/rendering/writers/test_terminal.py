"""Tables on a terminal: drawn by rich while they are small, coloured on request, folded in a narrow window."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from rich.table import Table

from kafka_groups.model import GroupListing, OffsetRow
from kafka_groups.rendering.columns import Entry
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.views.list_groups import LISTING
from kafka_groups.rendering.views.offsets import COMMITS, CommitRow
from kafka_groups.rendering.views.partition_lag import OFFSETS as DESCRIBE
from kafka_groups.rendering.writers.csv import CsvWriter
from kafka_groups.rendering.writers.table import BlockWriter, TableWriter, write_table
from tests.rendering.streams import written

if TYPE_CHECKING:
    from pytest_mock import MockerFixture

MakeScreen = Callable[..., Screen]
LIST = LISTING.table(options={"--state"})
OFFSETS = DESCRIBE.table(options=())


@pytest.fixture
def screen(make_screen: MakeScreen) -> Screen:
    """Return a terminal of 80 columns without colours."""
    return make_screen(out_is_terminal=True, width=80)


def listing(group: str = "orders", state: str | None = "Stable") -> GroupListing:
    """Return a row of `list`."""
    return GroupListing(group=group, type="Classic", state=state, protocol_type="consumer", coordinator=1)


def offset_row(member_id: str | None = "m", lag: int | None = 4, group: str = "orders") -> OffsetRow:
    """Return a row of `describe`."""
    return OffsetRow(group, "payments", 0, None, 5, 9, lag, member_id, "/10.0.0.1", "client", None, "")


def entry(rows: list[Any], columns: Any = OFFSETS) -> Entry:
    """Return the entry of one group."""
    return Entry(columns=columns, rows=rows, document=dict)


def text_of(screen: Screen) -> str:
    """Return the output without the blanks at the ends of its lines."""
    drawn = written(screen.out)
    return "\n".join(line.rstrip() for line in drawn.split("\n"))


def test_a_table_has_no_frame_and_numbers_are_right_aligned(screen: Screen) -> None:
    write_table(screen, OFFSETS, [offset_row(), offset_row(member_id=None, lag=None)])
    assert text_of(screen).split("\n")[1:3] == [
        "orders  payments          0               5               9    4  m            /10.0.0.1  client",
        "orders  payments          0               5               9    -  -            /10.0.0.1  client",
    ]


def test_without_colour_the_output_has_no_escape_sequence(screen: Screen) -> None:
    write_table(screen, LIST, [listing(), listing(state="Dead"), listing(state=None)])
    assert text_of(screen) == "GROUP   STATE\norders  Stable\norders  Dead\norders  -\n"


def test_states_lag_and_missing_values_are_coloured(make_screen: MakeScreen) -> None:
    screen = make_screen(out_is_terminal=True, colour=True, width=200)
    write_table(screen, LIST, [listing(), listing(state="Empty"), listing(state="Dead"), listing(state=None)])
    write_table(screen, OFFSETS, [offset_row(lag=0), offset_row(lag=7)])
    drawn = text_of(screen)
    assert [drawn.count(code) for code in ("\x1b[32m", "\x1b[33m", "\x1b[31m")] == [1, 1, 1]
    assert drawn.count("\x1b[1;33m  7\x1b[0m") == 1
    assert "\x1b[1mGROUP" in drawn


@pytest.mark.parametrize(
    ("group", "shown"),
    [
        ("[red]x[/red]:fire:", "[red]x[/red]:fire:"),
        ("a\x1b[31mb\nc", r"a\x1b[31mb\nc"),
        ("注文", "注文"),
        ("\\[bold]", "\\[bold]"),
    ],
)
def test_names_are_neither_interpreted_as_markup_nor_as_terminal_commands(
    screen: Screen, group: str, shown: str
) -> None:
    write_table(screen, LIST, [listing(group)])
    assert [line.split()[0] for line in text_of(screen).split("\n")[1:2]] == [shown]


def test_a_narrow_window_truncates_member_ids_only(make_screen: MakeScreen) -> None:
    screen = make_screen(out_is_terminal=True, width=100)
    write_table(screen, OFFSETS, [offset_row(member_id="consumer-1-0123456789abcdef")])
    head, row, end = text_of(screen).split("\n")
    assert (max(len(head), len(row)) <= 100, end) == (True, "")
    assert row.startswith("orders  payments          0               5               9    4  consumer-1")
    assert "consumer-1-0123456789abcdef" not in row
    assert "…" in row


def test_a_narrow_window_folds_metadata_without_loss(make_screen: MakeScreen) -> None:
    screen = make_screen(out_is_terminal=True, width=80)
    metadata = "".join(map(str, range(40)))
    write_table(screen, COMMITS.columns, [CommitRow("orders", "payments", 0, 5, None, metadata)])
    head, *lines = text_of(screen).split("\n")
    assert max(map(len, lines)) <= 80
    assert "".join(line[head.index("METADATA") :] for line in lines) == metadata


def test_in_a_window_that_is_too_narrow_nothing_is_truncated(make_screen: MakeScreen) -> None:
    screen = make_screen(out_is_terminal=True, width=40)
    write_table(screen, OFFSETS, [offset_row(member_id="consumer-1-0123456789abcdef", group="g" * 40)])
    row = "g" * 40 + "  payments          0               5               9    4  consumer-1-0123456789abcdef"
    assert text_of(screen).split("\n")[1] == row + "  /10.0.0.1  client"


@pytest.mark.parametrize("group", ["注" * 40, "\n" * 40, "g" * 80])
def test_a_name_wider_than_the_window_stays_on_its_line(make_screen: MakeScreen, group: str) -> None:
    screen = make_screen(out_is_terminal=True, width=30)
    write_table(screen, LIST, [listing(group)])
    assert len(text_of(screen).strip().split("\n")) == 2


@pytest.fixture
def drawn(mocker: MockerFixture) -> Any:
    """Return a mock that counts the tables of rich."""
    return mocker.patch("kafka_groups.rendering.writers.terminal.Table", wraps=Table)


@pytest.mark.parametrize(("rows", "tables"), [(200, 1), (201, 0)])
def test_big_tables_do_not_go_through_rich(screen: Screen, drawn: Any, rows: int, tables: int) -> None:
    writer = TableWriter(screen, LIST)
    writer.add(entry([listing()] * rows, LIST))
    writer.end([], [], status="complete")
    assert drawn.call_count == tables
    assert text_of(screen).count("\n") == rows + 1


def test_of_many_small_blocks_only_the_first_go_through_rich(make_screen: MakeScreen, drawn: Any) -> None:
    screen = make_screen(out_is_terminal=True)
    writer = BlockWriter(screen)
    for _ in range(50):
        writer.add(entry([offset_row()] * 10))
    assert drawn.call_count == 20
    assert text_of(screen).count("GROUP") == 50


def test_a_huge_table_is_streamed_with_one_header(make_screen: MakeScreen) -> None:
    screen = make_screen()
    writer = TableWriter(screen, LIST)
    writer.add(entry([listing()] * 5_000, LIST))
    assert text_of(screen).count("\n") == 5_001
    writer.add(entry([listing()], LIST))
    writer.end([], [], status="complete")
    assert (text_of(screen).count("\n"), text_of(screen).count("GROUP")) == (5_002, 1)


def test_one_long_name_does_not_widen_the_other_rows_of_a_big_table(screen: Screen) -> None:
    write_table(screen, LIST, [listing("g" * 240), *[listing("g")] * 200])
    lines = text_of(screen).split("\n")
    assert (lines[1], lines[2]) == ("g" * 240 + "  Stable", "g" + " " * 59 + "  Stable")


def test_big_tables_on_a_terminal_escape_control_characters_and_align_wide_names(screen: Screen) -> None:
    rows = [listing("注文"), listing("a\nb"), *[listing("g")] * 200]
    write_table(screen, LIST, rows)
    assert text_of(screen).split("\n")[:4] == ["GROUP  STATE", "注文   Stable", "a\\nb   Stable", "g      Stable"]


def test_a_table_in_a_pipe_has_its_full_width_and_no_escape_sequence(make_screen: MakeScreen, drawn: Any) -> None:
    screen = make_screen(width=20)
    write_table(screen, LIST, [listing("g" * 300)])
    assert text_of(screen).split("\n")[1] == "g" * 300 + "  Stable"
    drawn.assert_not_called()


def test_colour_always_is_drawn_in_a_pipe_at_full_width(make_screen: MakeScreen) -> None:
    screen = make_screen(colour=True, width=20)
    write_table(screen, OFFSETS, [offset_row(member_id="m" * 200, group="g" * 300)])
    head, row, end = text_of(screen).split("\n")
    assert ("\x1b[1mGROUP" in head, "\x1b[1;33m" in row, end) == (True, True, "")
    assert "g" * 300 in row
    assert "m" * 200 in row


def test_a_csv_has_one_header_unless_everything_failed(make_screen: MakeScreen) -> None:
    failed, empty, full = make_screen(), make_screen(), make_screen()
    CsvWriter(failed, LIST).end([], [], status="failed")
    CsvWriter(empty, LIST).end([], [], status="complete")
    writer = CsvWriter(full, LIST)
    writer.add(entry([listing()], LIST))
    writer.add(entry([listing()], LIST))
    writer.end([], [], status="partial")
    assert [text_of(screen) for screen in (failed, empty, full)] == [
        "",
        "GROUP,STATE\n",
        "GROUP,STATE\norders,Stable\norders,Stable\n",
    ]
