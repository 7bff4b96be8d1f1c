"""Quotes in CSV: every value comes back unchanged from a reader of RFC 4180."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

import pytest

from kafka_groups.pipeline.commands.rows import SIZES, SizeRow
from kafka_groups.pipeline.report.text.lines import write_history_lines
from kafka_groups.rendering.columns import Entry
from kafka_groups.rendering.screen import Screen
from kafka_groups.rendering.views.offsets import COMMITS, CommitRow
from kafka_groups.rendering.writers.csv import CsvWriter
from kafka_groups.rendering.writers.whole_result import write_rows
from tests.pipeline.report.example_histories import group, history
from tests.rendering.streams import written

MakeScreen = Callable[..., Screen]
every_text = pytest.mark.parametrize(
    "text", ["a\rb", "a\r\nb\r\n", "\r", "a\nb", 'a,"b"', "", " a ", "\x1b[2J", "a\0b"]
)


def write_commit(screen: Screen, text: str) -> None:
    writer = CsvWriter(screen, COMMITS.columns)
    writer.add(Entry(COMMITS.columns, [CommitRow(text, "t", 0, 1, None, text)], dict))


@every_text
def test_a_group_id_and_the_metadata_of_a_commit_are_unchanged(make_screen: MakeScreen, text: str) -> None:
    screen = make_screen()
    write_commit(screen, text)
    assert list(csv.reader(io.StringIO(written(screen.out), newline="")))[1:] == [[text, "t", "0", "1", "", text]]


def test_a_carriage_return_is_quoted_and_a_line_ends_with_a_newline_only(make_screen: MakeScreen) -> None:
    screen = make_screen()
    write_commit(screen, "a\rb\r\n")
    assert written(screen.out).split("\n", 1)[1] == '"a\rb\r\n",t,0,1,,"a\rb\r\n"\n'


@every_text
def test_a_group_id_in_the_rows_of_a_report_is_unchanged(make_screen: MakeScreen, text: str) -> None:
    screen = make_screen()
    write_history_lines(screen, history(group(text)), "csv")
    rows = csv.DictReader(io.StringIO(written(screen.out), newline=""))
    assert [row["GROUP"] for row in rows] == [text]


def test_a_text_with_a_carriage_return_in_the_rows_of_a_pipeline_command_is_quoted(make_screen: MakeScreen) -> None:
    screen = make_screen()
    write_rows(screen, SIZES, [SizeRow("a\rb", 1, 1, 1, None, None)], "csv")
    assert written(screen.out).split("\n", 1)[1] == '"a\rb",1,1,1,,\n'
