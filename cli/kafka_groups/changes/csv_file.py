"""Kafka's CSV of new offsets, as kafka-consumer-groups.sh reads and writes it.

A line is `topic,partition,offset` for exactly one group, or `group,topic,partition,offset`; there is no header. Kafka
writes such files with Jackson's CsvMapper and its defaults (CsvUtils.java, CsvEncoder.java).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from kafka_groups.errors import PlanFileError
from kafka_groups.numerals import hint_of_integer, quote

_COLUMNS: Final = {3: "topic,partition,offset", 4: "group,topic,partition,offset"}
_WITH_GROUP: Final = 4
_MAX_PARTITION: Final = 2**31 - 1
_MAX_OFFSET: Final = 2**63 - 1
# Jackson trims numbers and accepts a sign.
_NUMBER: Final = re.compile(r"[ \t]*([+-]?)([0-9]+)[ \t]*")
_BYTE_ORDER_MARK: Final = "\ufeff"
# Jackson's check of what needs quotes is loose: it quotes each value with a backslash or a character up to the comma,
# and each value of more than 24 UTF-16 units. Only quotes are escaped. This tool alone quotes a byte order mark, which
# a reader would skip at the start of a file.
_QUOTED: Final = re.compile(rf"[\x00-,\\{_BYTE_ORDER_MARK}]")
_MAX_UNQUOTED: Final = 24


class CsvRow(NamedTuple):
    """A new offset of one partition of a group, and the number of its line."""

    line: int
    group: str
    topic: str
    partition: int
    offset: int


def read_csv(text: str, *, name: str, groups: Sequence[str]) -> tuple[CsvRow, ...]:
    """Return the rows of a file; `groups` are the groups that the caller named, `name` is the name of the file.

    The first line decides which form the file has. Lines of `topic,partition,offset` belong to the only group of
    `groups`. Blank lines, a byte order mark and any line ends are accepted, a row that is repeated is returned once.
    The text should have the file's own line ends, because a quoted group id may contain some.

    Raises PlanFileError if a line is malformed. Kafka's tool is less strict: it reads a missing number as 0, and the
    last of several offsets of one partition counts.
    """
    rows: dict[tuple[str, str, int], CsvRow] = {}
    only = ""
    columns = 0
    for line, fields in _read_lines(text, name):
        if not columns:
            columns = _count_columns(fields, _at(name, line))
            only = "" if columns == _WITH_GROUP else _only_group(groups, name)
        if len(fields) != columns:
            msg = f"{_at(name, line)}: it has {_count(len(fields))}, but the first line has {columns}{_shown(fields)}"
            raise PlanFileError(msg)
        row = _read_row(line, fields if columns == _WITH_GROUP else [only, *fields], _at(name, line))
        first = rows.setdefault((row.group, row.topic, row.partition), row)
        if first.offset != row.offset:
            msg = (
                f"{name}: lines {first.line} and {line} have different offsets ({first.offset} and {row.offset}) for "
                f"group '{row.group}', topic '{row.topic}', partition {row.partition}; remove one of them"
            )
            raise PlanFileError(msg)
    if not rows:
        msg = f"{name} has no lines; expected {_COLUMNS[3]} or {_COLUMNS[4]}"
        raise PlanFileError(msg)
    return tuple(rows.values())


def format_csv(rows: Iterable[tuple[str, str, int, int]], *, with_group: bool) -> str:
    """Return the text of a file with these groups, topics, partitions and offsets, in their order.

    Kafka's tool cannot read a group id with a line break, although it writes one.
    """
    return "".join(
        f"{_quote(group) + ',' if with_group else ''}{_quote(topic)},{partition},{offset}\n"
        for group, topic, partition, offset in rows
    )


def _read_lines(text: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each line that is not blank, with its number: the first one if a value contains a break."""
    reader = csv.reader(io.StringIO(text.removeprefix(_BYTE_ORDER_MARK), newline=""), strict=True)
    while True:
        line = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            at_end = str(error) == "unexpected end of data"
            reason = "a quoted value has no closing quote" if at_end else f"its quotes are not valid CSV ({error})"
            msg = f"{_at(name, line)}: {reason}"
            raise PlanFileError(msg) from error
        if len(fields) > 1 or "".join(fields).strip():
            yield line, fields


def _count_columns(fields: list[str], at: str) -> int:
    """Return the number of columns of a file with this first line."""
    names = [field.strip().lower() for field in fields]
    if not _NUMBER.fullmatch(fields[-1]) and {"topic", "partition"} < set(names):
        if len(fields) in _COLUMNS:
            msg = f"{at}: it is a header, but Kafka's CSV has none; remove it"
        else:
            msg = f"{at}: it is the header of another CSV; write the file with `kafka-groups reset --export`"
        raise PlanFileError(msg)
    if len(fields) not in _COLUMNS:
        msg = f"{at}: it has {_count(len(fields))}; expected {_COLUMNS[3]} or {_COLUMNS[4]}{_shown(fields)}"
        raise PlanFileError(msg)
    return len(fields)


def _only_group(groups: Sequence[str], name: str) -> str:
    names = list(dict.fromkeys(groups))
    if len(names) != 1:
        given = f"{len(names)} groups are given" if names else "none is given"
        msg = f"{name} names no group, because its lines are {_COLUMNS[3]}, and {given}; give exactly one --group"
        raise PlanFileError(msg)
    return names[0]


def _read_row(line: int, fields: list[str], at: str) -> CsvRow:
    group, topic, partition, offset = fields
    if not topic:
        msg = f"{at}: the topic is empty{_shown(fields)}"
        raise PlanFileError(msg)
    return CsvRow(
        line,
        group,
        topic,
        _read_number(partition, f"{at}: the partition", most=_MAX_PARTITION),
        _read_number(offset, f"{at}: the offset", most=_MAX_OFFSET),
    )


def _read_number(text: str, what: str, *, most: int) -> int:
    match = _NUMBER.fullmatch(text)
    if match is None:
        msg = f"{what} {quote(text)} is not a whole number{hint_of_integer(text)}"
        raise PlanFileError(msg)
    digits = match[2].lstrip("0") or "0"
    if match[1] == "-" and digits != "0":
        msg = f"{what} {quote(text)} is negative"
        raise PlanFileError(msg)
    # Python refuses to convert thousands of digits.
    if len(digits) > len(str(most)) or (number := int(digits)) > most:
        msg = f"{what} {quote(text)} is too large; the largest is {most}"
        raise PlanFileError(msg)
    return number


def _quote(value: str) -> str:
    is_long = len(value) > _MAX_UNQUOTED or len(value.encode("utf-16-le", "surrogatepass")) > 2 * _MAX_UNQUOTED
    if not is_long and not _QUOTED.search(value):
        return value
    return '"' + value.replace('"', '""') + '"'


def _at(name: str, line: int) -> str:
    return f"{name}, line {line}"


def _count(fields: int) -> str:
    return f"{fields} value{'' if fields == 1 else 's'}"


def _shown(fields: list[str]) -> str:
    return f": {quote(','.join(fields))}"
