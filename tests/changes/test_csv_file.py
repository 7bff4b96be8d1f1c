"""Kafka's CSV of new offsets is read in both forms, and written byte for byte as Kafka's tool writes it."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_groups.changes.csv_file import CsvRow, format_csv, read_csv
from kafka_groups.errors import PlanFileError

# Names that may need quotes, and the values that CsvMapper of Kafka 4.3.1 (jackson-dataformat-csv 2.21.2) writes.
WRITTEN_BY_KAFKA = {
    "g": "g",
    "": "",
    "a-b_c.d": "a-b_c.d",
    "a:/;|=~@": "a:/;|=~@",
    "a b": '"a b"',
    " g ": '" g "',
    "a,b": '"a,b"',
    'a"b': '"a""b"',
    "a'b": '"a\'b"',
    "#g": '"#g"',
    "a+b": '"a+b"',
    "a\\b": '"a\\b"',
    "a\nb": '"a\nb"',
    "a\r\nb": '"a\r\nb"',
    "a\0b": '"a\0b"',
    "a\x7fb": "a\x7fb",
    "größe": "größe",
    "\u2028": "\u2028",
    "x" * 24: "x" * 24,
    "x" * 25: f'"{"x" * 25}"',
    "😀" * 12: "😀" * 12,
    "😀" * 12 + "x": f'"{"😀" * 12}x"',
}
names = st.one_of(st.text(st.characters(exclude_categories=["Cs"])), st.text("a,\"'\\ \r\n-#", max_size=30))
numbers = st.tuples(st.integers(0, 2**31 - 1), st.integers(0, 2**63 - 1))


def read(text: str, *groups: str) -> list[tuple[str, str, int, int]]:
    """Return the rows of a file without their lines."""
    return [row[1:] for row in read_csv(text, name="plan.csv", groups=groups)]


def error_of(text: str, *groups: str) -> str:
    with pytest.raises(PlanFileError) as caught:
        read_csv(text, name="plan.csv", groups=groups)
    return str(caught.value)


@pytest.mark.parametrize(("name", "written"), WRITTEN_BY_KAFKA.items(), ids=repr)
def test_values_are_quoted_where_jackson_quotes_them(name: str, written: str) -> None:
    assert format_csv([(name, "t", 0, 5)], with_group=True) == f"{written},t,0,5\n"
    assert format_csv([("g", name, 2**31 - 1, 2**63 - 1)], with_group=False) == f"{written},2147483647,{2**63 - 1}\n"


def test_rows_are_written_in_their_order_without_a_header() -> None:
    rows = [("b", "t", 1, 6), ("a", "t", 0, 5)]
    assert format_csv(rows, with_group=True) == "b,t,1,6\na,t,0,5\n"
    assert format_csv(rows, with_group=False) == "t,1,6\nt,0,5\n"
    assert format_csv([], with_group=True) == ""


@given(st.dictionaries(st.tuples(names, names.filter(bool)), numbers, min_size=1, max_size=5))
def test_any_names_are_read_as_they_were_written(rows: dict[tuple[str, str], tuple[int, int]]) -> None:
    written = [(group, topic, *pair) for (group, topic), pair in rows.items()]
    assert read(format_csv(written, with_group=True)) == written
    of_one = {(topic, partition): offset for _, topic, partition, offset in written}
    single = [("only", topic, partition, offset) for (topic, partition), offset in of_one.items()]
    assert read(format_csv(single, with_group=False), "only") == single


def test_three_columns_belong_to_the_only_group() -> None:
    assert read("t,0,5\nt,1,6\n", "g", "g") == [("g", "t", 0, 5), ("g", "t", 1, 6)]


@pytest.mark.parametrize(
    ("groups", "reason"), [((), "and none is given"), (("a", "b"), "and 2 groups are given")], ids=["none", "two"]
)
def test_three_columns_without_exactly_one_group_are_refused(groups: tuple[str, ...], reason: str) -> None:
    assert error_of("t,0,5\n", *groups) == (
        f"plan.csv names no group, because its lines are topic,partition,offset, {reason}; give exactly one --group"
    )


def test_four_columns_have_their_groups_whatever_the_caller_named() -> None:
    rows = [("a", "t", 0, 5), ("b", "t", 0, 6)]
    assert [read("a,t,0,5\nb,t,0,6\n", *groups) for groups in ((), ("a",), ("a", "c"))] == [rows, rows, rows]


def test_rows_have_the_lines_of_the_file() -> None:
    text = '\n"a\nb",t,0,5\n\nc,t,0,6\n'
    assert read_csv(text, name="plan.csv", groups=()) == (CsvRow(2, "a\nb", "t", 0, 5), CsvRow(5, "c", "t", 0, 6))


@pytest.mark.parametrize(
    "text",
    [
        "g,t,0,5\ng,t,1,6\n",
        "g,t,0,5\ng,t,1,6",
        "\ufeffg,t,0,5\r\ng,t,1,6\r\n",
        "\n\ng,t,0,5\n  \n\ng,t,1,6\n\n\n",
        '"g","t","0","5"\n"g",t,"1",6\n',
        "g,t, 0,5 \ng,t,+01,006\n",
        "g,t,0,5\rg,t,1,6\r",
    ],
    ids=["plain", "no last line end", "Windows", "blank lines", "quotes", "spaces and signs", "old Mac"],
)
def test_forms_that_other_programs_write_are_accepted(text: str) -> None:
    assert read(text) == [("g", "t", 0, 5), ("g", "t", 1, 6)]


def test_a_byte_order_mark_in_quotes_is_part_of_a_name() -> None:
    assert read('\ufeff"\ufeffg",t,0,5\n') == [("\ufeffg", "t", 0, 5)]


def test_the_largest_numbers_are_accepted() -> None:
    assert read("t,2147483647,9223372036854775807\n", "g") == [("g", "t", 2**31 - 1, 2**63 - 1)]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("t", "it has 1 value, but the first line has 3: 't'"),
        ("g,t,0,5", "it has 4 values, but the first line has 3: 'g,t,0,5'"),
        ("t,x,5", "the partition 'x' is not a whole number"),
        ("t,,5", "the partition '' is not a whole number"),
        ("t,0,", "the offset '' is not a whole number"),
        ("t,0,1.5", "the offset '1.5' is not a whole number"),
        ("t,0,1e3", "the offset '1e3' is not a whole number; write 1000"),
        ("t,0,1_0", "the offset '1_0' is not a whole number; write 10"),
        ("t,0,٣", "the offset '٣' is not a whole number; write 3"),
        ("t,0,-1", "the offset '-1' is negative"),
        ("t,-1,5", "the partition '-1' is negative"),
        ("t,2147483648,5", "the partition '2147483648' is too large; the largest is 2147483647"),
        ("t,0,9223372036854775808", f"the offset '9223372036854775808' is too large; the largest is {2**63 - 1}"),
        (f"t,0,{'9' * 9999}", f"the offset '{'9' * 80}…' is too large; the largest is {2**63 - 1}"),
        (",0,5", "the topic is empty: 'g,,0,5'"),
        ('"t,0,5', "a quoted value has no closing quote"),
        ('"t"x,0,5', "its quotes are not valid CSV (',' expected after '\"')"),
    ],
)
def test_a_malformed_line_is_an_error_that_names_it(line: str, reason: str) -> None:
    assert error_of(f"u,0,5\n\n{line}\nt,7,5\n", "g") == f"plan.csv, line 3: {reason}"


def test_zeros_do_not_make_a_number_too_long() -> None:
    assert read(f"t,0,{'0' * 90}5\nt,1,-0\n", "g") == [("g", "t", 0, 5), ("g", "t", 1, 0)]


@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_first_line_with_another_number_of_values_is_an_error(count: int) -> None:
    values = "s" if count > 1 else ""
    assert error_of(",".join("g" * count)) == (
        f"plan.csv, line 1: it has {count} value{values}; expected topic,partition,offset or "
        f"group,topic,partition,offset: '{','.join('g' * count)}'"
    )


@pytest.mark.parametrize("line", ["GROUP,TOPIC,PARTITION,OFFSET", "topic,partition,offset", "Topic, Partition, Offset"])
def test_a_header_is_an_error_that_says_so(line: str) -> None:
    assert error_of(f"\n{line}\ng,t,0,5\n") == ("plan.csv, line 2: it is a header, but Kafka's CSV has none; remove it")


def test_the_header_of_another_csv_is_an_error_with_the_next_step() -> None:
    assert error_of("GROUP,TOPIC,PARTITION,CURRENT-OFFSET,NEW-OFFSET,DELTA,NOTE\ng,t,0,1,2,1,\n") == (
        "plan.csv, line 1: it is the header of another CSV; write the file with `kafka-groups reset --export`"
    )


def test_groups_and_topics_may_have_the_names_of_columns() -> None:
    assert read("topic,partition,0,5\n") == [("topic", "partition", 0, 5)]
    assert read("partition,0,5\n", "topic") == [("topic", "partition", 0, 5)]


@pytest.mark.parametrize("text", ["", "\ufeff", "\n\r\n  \n"])
def test_a_file_without_lines_is_an_error(text: str) -> None:
    assert error_of(text, "g") == (
        "plan.csv has no lines; expected topic,partition,offset or group,topic,partition,offset"
    )


def test_a_repeated_row_is_returned_once() -> None:
    assert read("a,t,0,5\nb,t,0,5\na,t,0,5\na,t,1,5\n") == [("a", "t", 0, 5), ("b", "t", 0, 5), ("a", "t", 1, 5)]


def test_two_offsets_of_one_partition_are_an_error_that_names_both_lines() -> None:
    assert error_of("a,t,0,5\nb,t,0,6\na,t,0,7\n") == (
        "plan.csv: lines 1 and 3 have different offsets (5 and 7) for group 'a', topic 't', partition 0; "
        "remove one of them"
    )


def test_errors_show_control_characters_escaped_and_long_lines_shortened() -> None:
    assert error_of(f"\x1b[31m{'x' * 99}\n").endswith(f"offset: '\\x1b[31m{'x' * 75}…'")


@given(st.text(st.sampled_from('gt,05"\n\r -')))
def test_any_text_is_read_or_refused(text: str) -> None:
    with suppress(PlanFileError):
        assert read(text, "g")
