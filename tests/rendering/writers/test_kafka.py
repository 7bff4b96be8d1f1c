"""The padding of Kafka's own tool, for scripts that parse its output."""

from __future__ import annotations

import io
from typing import Any

import pytest

from kafka_groups.changes.change import Action, Change, PlannedChange
from kafka_groups.model import Assignment, Broker, Failure, GroupDescription, GroupListing, Member, OffsetRow
from kafka_groups.rendering.columns import Entry
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.views.changes import RESETS, change_rows
from kafka_groups.rendering.views.group_views import TableStyle
from kafka_groups.rendering.views.list_groups import LISTING
from kafka_groups.rendering.views.members import MemberRow, member_columns
from kafka_groups.rendering.views.partition_lag import OFFSETS
from kafka_groups.rendering.views.state import STATES
from kafka_groups.rendering.writers.kafka import KafkaResetWriter, kafka_lines


def offset_row(**values: Any) -> OffsetRow:
    """Return a row of `describe` with these values."""
    row = OffsetRow("g", "t", 0, 3, 5, 9, 4, "m", "/10.0.0.1", "client", 0, "note")
    return row._replace(**values)


# %-15s+ %-15s+ %-10s %-15s %-15s %-15s %-15s+ %-15s+ %s, where s+ widens to the longest value.
LINES = [
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
VERBOSE_LINES = [
    (
        "GROUP           TOPIC           PARTITION  LEADER-EPOCH    CURRENT-OFFSET  LOG-END-OFFSET  LAG             "
        "CONSUMER-ID     HOST            CLIENT-ID"
    ),
    (
        "g               t               0          3               5               9               4               "
        "m               /10.0.0.1       client"
    ),
]


@pytest.mark.parametrize(("verbose", "lines"), [(False, LINES), (True, VERBOSE_LINES)])
def test_offsets_are_padded_as_by_kafkas_printf(verbose: bool, lines: list[str]) -> None:
    assert kafka_lines(OFFSETS.table(options={"--verbose"} if verbose else (), as_kafka=True), [offset_row()]) == lines


def test_long_names_widen_their_column_and_long_numbers_move_only_their_row() -> None:
    rows = [offset_row(group="a-group-of-22-characters", lag=1234567890123456), offset_row()]
    assert kafka_lines(OFFSETS.table(options=()), rows) == [
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


def test_states_are_padded_as_by_kafkas_printf() -> None:
    broker = Broker(id=1, host="broker-1.example.org", port=9092)
    row = GroupDescription(
        group="g",
        type="Classic",
        state="Stable",
        protocol_type="consumer",
        coordinator=broker,
        assignor="range",
        members=(DYNAMIC.member, DYNAMIC.member),
    )
    # %-15s+ %-25s+ %-20s %-20s %s
    assert kafka_lines(STATES.table(options=()), [row]) == [
        "GROUP           COORDINATOR (ID)               ASSIGNMENT-STRATEGY  STATE                #MEMBERS",
        "g               broker-1.example.org:9092  (1) range                Stable               2",
    ]
    # … %-20s %-15s %-25s %s
    assert kafka_lines(STATES.table(options={"--verbose"}), [row]) == [
        (
            "GROUP           COORDINATOR (ID)               ASSIGNMENT-STRATEGY  STATE                "
            "GROUP-EPOCH     TARGET-ASSIGNMENT-EPOCH   #MEMBERS"
        ),
        (
            "g               broker-1.example.org:9092  (1) range                Stable               "
            "-               -                         2"
        ),
    ]


OWNED = (Assignment(topic="t", partitions=(0, 1)),)
TARGET = (Assignment(topic="topic-with-a-name", partitions=(0, 1)),)
STATIC_MEMBER = Member(
    member_id="m",
    group_instance_id="i",
    client_id="client",
    host="/10.0.0.1",
    assignment=OWNED,
    epoch=1,
    target_epoch=2,
    target_assignment=TARGET,
    upgraded=True,
)
MEMBER = MemberRow("g", STATIC_MEMBER)
DYNAMIC = MemberRow("g", STATIC_MEMBER._replace(group_instance_id=None))


def test_members_are_padded_as_by_kafkas_printf() -> None:
    # %-15s+ %-15s+ %-15s+ %-15s+ %-15s and a blank
    assert kafka_lines(member_columns([DYNAMIC], TableStyle(verbose=False)), [DYNAMIC]) == [
        "GROUP           CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     ",
        "g               m               /10.0.0.1       client          2               ",
    ]
    # %-17s+ more for the instance
    assert kafka_lines(member_columns([MEMBER], TableStyle(verbose=False)), [MEMBER]) == [
        "GROUP           CONSUMER-ID     GROUP-INSTANCE-ID HOST            CLIENT-ID       #PARTITIONS     ",
        "g               m               i                 /10.0.0.1       client          2               ",
    ]


def test_verbose_members_are_padded_as_by_kafkas_printf() -> None:
    # … %-15s %-15s %-20s+ %-15s %-20s+ [%s]
    both = [DYNAMIC, MemberRow("g", DYNAMIC.member._replace(upgraded=False))]
    head, row, _ = kafka_lines(member_columns(both, TableStyle(verbose=True)), both)
    assert head.removeprefix("GROUP           CONSUMER-ID     HOST            CLIENT-ID       ") == (
        "#PARTITIONS     CURRENT-EPOCH   CURRENT-ASSIGNMENT   TARGET-EPOCH    TARGET-ASSIGNMENT     UPGRADED"
    )
    assert row.removeprefix("g               m               /10.0.0.1       client          ") == (
        "2               1               t:0,1                2               topic-with-a-name:0,1 true"
    )


LISTED = GroupListing(group="g", type="Classic", state="Stable", protocol_type="consumer", coordinator=1)
LONG = GroupListing(group="a-group-of-22-characters", type="Consumer", state=None, protocol_type="", coordinator=1)


def test_the_group_column_of_a_list_has_ten_more_blanks_than_its_longest_id() -> None:
    columns = LISTING.table(options={"--type", "--state"})
    # %-(max(15, longest) + 10)s %-20s %-20s
    assert kafka_lines(columns, [LISTED], spare=10) == [
        "GROUP                     TYPE                 STATE               ",
        "g                         Classic              Stable              ",
    ]
    assert kafka_lines(columns, [LISTED, LONG], spare=10) == [
        "GROUP                              TYPE                 STATE               ",
        "g                                  Classic              Stable              ",
        "a-group-of-22-characters           Consumer             Unknown             ",
    ]


def test_the_type_and_state_that_a_broker_does_not_return_are_unknown_and_an_empty_group_id_is_empty() -> None:
    columns = LISTING.table(options={"--type", "--state"})
    assert kafka_lines(columns, [LISTED._replace(group="", type=None, state=None)], spare=10)[1:] == [
        "                          Unknown              Unknown             ",
    ]


def test_a_dynamic_member_beside_a_static_one_has_an_empty_instance_id() -> None:
    rows = [MEMBER, DYNAMIC]
    assert kafka_lines(member_columns(rows, TableStyle(verbose=False)), rows)[1:] == [
        "g               m               i                 /10.0.0.1       client          2               ",
        "g               m                                 /10.0.0.1       client          2               ",
    ]


def test_an_empty_client_id_is_an_empty_cell_and_a_missing_one_a_dash() -> None:
    rows = [offset_row(client_id=""), offset_row(client_id=None)]
    assert [line[123:] for line in kafka_lines(OFFSETS.table(options=(), as_kafka=True), rows)[1:]] == ["", "-"]


# %-15s+ %-15s+ %-10s %s, with a blank line before.
RESET_LINES = [
    "",
    "GROUP                    TOPIC           PARTITION  NEW-OFFSET",
    "a-group-of-22-characters t               0          7",
    "g                        t               0          7",
    "",
]


def reset_output(*changes: PlannedChange, status: str = "complete") -> list[str]:
    """Return the lines of the planned changes, each of a group of its own."""
    out = io.StringIO()
    columns = RESETS.table(options=(), as_kafka=True)
    writer = KafkaResetWriter(Screen(out, io.StringIO(), False, False, False, 0), columns)
    for change in changes:
        writer.add(Entry(columns, change_rows([change]), dict))
    writer.end((), (), status=status)
    return out.getvalue().split("\n")


def reset_of(group: str) -> PlannedChange:
    return PlannedChange(Change(Action.COMMIT, group, "t", 0, committed_offset=3, new_offset=7))


def test_new_offsets_are_one_table_behind_a_blank_line() -> None:
    assert reset_output(reset_of("a-group-of-22-characters"), reset_of("g")) == RESET_LINES


def test_a_refused_reset_has_no_row_and_without_rows_the_header_is_written_unless_everything_failed() -> None:
    refused = PlannedChange(Change(Action.COMMIT, "g", "t", 0), refusal=Failure(None, "REFUSED", "no"))
    assert reset_output(refused) == ["", "GROUP           TOPIC           PARTITION  NEW-OFFSET", ""]
    assert reset_output(refused, status="failed") == [""]


def test_a_character_beyond_16_bits_is_two_characters_for_javas_padding() -> None:
    groups = [LISTED._replace(group="fox-🦊"), LISTED._replace(group="grün-日本")]
    assert [line[:8] for line in kafka_lines(LISTING.table(options=()), groups)[1:]] == ["fox-🦊   ", "grün-日本 "]
    assert [len(line) for line in kafka_lines(LISTING.table(options=()), groups)] == [15, 14, 15]
