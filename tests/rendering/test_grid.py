"""Padded text: columns that only grow, numbers to the right, and Kafka's own paddings."""

from __future__ import annotations

from textwrap import dedent
from typing import Any, NamedTuple

import pytest

from kafka_groups.model import GroupListing, OffsetRow
from kafka_groups.rendering.columns import Column, list_columns, member_columns, offsets_columns, state_columns
from kafka_groups.rendering.grid import Grid, cells_of, kafka_lines
from kafka_groups.rendering.rows import MemberRow, StateRow


class Row(NamedTuple):
    """A row of two cells."""

    name: str | None
    size: int | str | None


COLUMNS = (Column("NAME", "name"), Column("SIZE", "size", is_number=True))


def test_columns_take_the_width_of_their_widest_cell_and_numbers_stand_right() -> None:
    text = Grid(COLUMNS).text_of([Row("a", 5), Row("longer", 12345)])
    assert text == dedent("""\
        NAME     SIZE
        a           5
        longer  12345
        """)


def test_a_number_with_a_sign_in_front_is_as_wide_as_its_text() -> None:
    """Whichever way texts and numbers would sort."""
    both: tuple[list[int | str | None], ...] = (["≥1234", 5, None], ["9", "≥1234", "-"])
    for sizes in both:
        lines = Grid(COLUMNS).text_of([Row("a", size) for size in sizes]).splitlines()
        assert {len(line) for line in lines} == {len("NAME  ≥1234")}


def test_the_last_column_is_not_padded() -> None:
    text = Grid(COLUMNS[::-1]).text_of([Row("a", 5), Row("longer", 5)])
    assert text == "SIZE  NAME\n   5  a\n   5  longer\n"


def test_the_header_stands_once_and_widths_only_grow() -> None:
    grid = Grid(COLUMNS)
    assert grid.text_of([Row("long-name", 1)]) == "NAME       SIZE\nlong-name     1\n"
    assert grid.text_of([Row("a", 1)]) == "a             1\n"
    assert grid.text_of([Row("longer-name", 123456)]) == "longer-name  123456\n"
    assert grid.text_of([Row("a", 1)]) == "a                 1\n"


def test_no_rows_are_a_header() -> None:
    assert Grid(COLUMNS).text_of([]) == "NAME  SIZE\n"


@pytest.mark.parametrize("value", [None, ""])
def test_a_missing_value_is_a_dash_and_zero_is_none(value: str | None) -> None:
    assert cells_of(COLUMNS[0], [Row(value, 0)]) == ["-"]
    assert cells_of(COLUMNS[1], [Row(value, 0), Row(value, None), Row(value, -3)]) == ["0", "-", "-3"]


def test_cells_may_be_measured_as_a_terminal_does() -> None:
    text = Grid(COLUMNS, width_of=lambda text: 2 * len(text) if text == "注文" else len(text)).text_of(
        [Row("注文", 1), Row("abcdef", 1)]
    )
    assert text == "NAME    SIZE\n注文       1\nabcdef     1\n"


def test_a_cell_beyond_the_most_pushes_its_own_row_only() -> None:
    text = Grid(COLUMNS, most=6).text_of([Row("a" * 9, 1), Row("b", 1)])
    assert text == "NAME    SIZE\naaaaaaaaa     1\nb          1\n"


def test_escaped_cells_are_measured_as_they_are_shown() -> None:
    assert Grid(COLUMNS, escaped=True).text_of([Row("a\nb", 1)]) == "NAME  SIZE\na\\nb     1\n"


def offset_row(**values: Any) -> OffsetRow:
    """A row of `describe`, all of it known but what is told otherwise."""
    known = OffsetRow("g", "t", 0, 3, 5, 9, 4, "m", "/10.0.0.1", "client", 0, "note")
    return known._replace(**values)


# %-15s+ %-15s+ %-10s %-15s %-15s %-15s %-15s+ %-15s+ %s, where s+ widens to the longest value.
OFFSETS = [
    (
        "GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             "
        "CONSUMER-ID     HOST            CLIENT-ID"
    ),
    (
        "g               t               0          5               9               4               "
        "m               /10.0.0.1       client"
    ),
]
# … %-10s %-15s (the leader epoch) %-15s …
VERBOSE = [
    (
        "GROUP           TOPIC           PARTITION  LEADER-EPOCH    CURRENT-OFFSET  LOG-END-OFFSET  LAG             "
        "CONSUMER-ID     HOST            CLIENT-ID"
    ),
    (
        "g               t               0          3               5               9               4               "
        "m               /10.0.0.1       client"
    ),
]


@pytest.mark.parametrize(("verbose", "lines"), [(False, OFFSETS), (True, VERBOSE)])
def test_offsets_are_padded_as_kafkas_printf_does(verbose: bool, lines: list[str]) -> None:
    assert kafka_lines(offsets_columns(verbose=verbose, as_kafka=True), [offset_row()]) == lines


def test_names_widen_their_column_and_numbers_push_their_row() -> None:
    rows = [offset_row(group="a-group-of-22-characters", lag=1234567890123456), offset_row()]
    assert kafka_lines(offsets_columns(verbose=False), rows) == [
        (
            "GROUP                    TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             "
            "CONSUMER-ID     HOST            CLIENT-ID"
        ),
        (
            "a-group-of-22-characters t               0          5               9               1234567890123456 "
            "m               /10.0.0.1       client"
        ),
        (
            "g                        t               0          5               9               4               "
            "m               /10.0.0.1       client"
        ),
    ]


def test_states_are_padded_as_kafkas_printf_does() -> None:
    row = StateRow("g", "broker-1.example.org:9092  (1)", "range", "Stable", None, None, 2)
    # %-15s+ %-25s+ %-20s %-20s %s
    assert kafka_lines(state_columns(verbose=False), [row]) == [
        "GROUP           COORDINATOR (ID)               ASSIGNMENT-STRATEGY  STATE                #MEMBERS",
        "g               broker-1.example.org:9092  (1) range                Stable               2",
    ]
    # … %-20s %-15s %-25s %s
    assert kafka_lines(state_columns(verbose=True), [row]) == [
        (
            "GROUP           COORDINATOR (ID)               ASSIGNMENT-STRATEGY  STATE                "
            "GROUP-EPOCH     TARGET-ASSIGNMENT-EPOCH   #MEMBERS"
        ),
        (
            "g               broker-1.example.org:9092  (1) range                Stable               "
            "-               -                         2"
        ),
    ]


MEMBER = MemberRow("g", "m", "i", "/10.0.0.1", "client", 2, 1, "t:0,1", 2, "topic-with-a-name:0,1", None)


def test_members_are_padded_as_kafkas_printf_does() -> None:
    # %-15s+ %-15s+ %-15s+ %-15s+ %-15s and a blank
    assert kafka_lines(member_columns(instances=False, verbose=False, upgrades=False), [MEMBER]) == [
        "GROUP           CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     ",
        "g               m               /10.0.0.1       client          2               ",
    ]
    # %-17s+ more for the instance
    assert kafka_lines(member_columns(instances=True, verbose=False, upgrades=False), [MEMBER]) == [
        "GROUP           CONSUMER-ID     GROUP-INSTANCE-ID HOST            CLIENT-ID       #PARTITIONS     ",
        "g               m               i                 /10.0.0.1       client          2               ",
    ]


def test_verbose_members_are_padded_as_kafkas_printf_does() -> None:
    # … %-15s %-15s %-20s+ %-15s %-20s+ [%s]
    head, row = kafka_lines(member_columns(instances=False, verbose=True, upgrades=True), [MEMBER])
    assert head.removeprefix("GROUP           CONSUMER-ID     HOST            CLIENT-ID       ") == (
        "#PARTITIONS     CURRENT-EPOCH   CURRENT-ASSIGNMENT   TARGET-EPOCH    TARGET-ASSIGNMENT     UPGRADED"
    )
    assert row.removeprefix("g               m               /10.0.0.1       client          ") == (
        "2               1               t:0,1                2               topic-with-a-name:0,1 -"
    )


LISTED = GroupListing(group="g", type="Classic", state="Stable", protocol_type="consumer", coordinator=1)
LONG = GroupListing(group="a-group-of-22-characters", type="Consumer", state=None, protocol_type="", coordinator=1)


def test_a_list_leaves_ten_blanks_more_than_its_longest_id() -> None:
    columns = list_columns(types=True, states=True, protocols=False)
    # %-(max(15, longest) + 10)s %-20s %-20s
    assert kafka_lines(columns, [LISTED], spare=10) == [
        "GROUP                     TYPE                 STATE               ",
        "g                         Classic              Stable              ",
    ]
    assert kafka_lines(columns, [LISTED, LONG], spare=10) == [
        "GROUP                              TYPE                 STATE               ",
        "g                                  Classic              Stable              ",
        "a-group-of-22-characters           Consumer             -                   ",
    ]
