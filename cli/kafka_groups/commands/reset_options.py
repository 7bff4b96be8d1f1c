"""The specification of `reset`: one option out of several, as in kafka-consumer-groups.sh."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, TypeVar

import click

from kafka_groups.changes.specifications.specification import (
    FromRows,
    ShiftBy,
    Specification,
    ToCurrent,
    ToEarliest,
    ToGroup,
    ToLatest,
    ToOffset,
    ToTime,
)
from kafka_groups.commands import offer
from kafka_groups.commands.options import combine_options
from kafka_groups.commands.parameter_types import NAME, IntegerRange
from kafka_groups.commands.reset_time import WITHOUT_ZONE, parse_time
from kafka_groups.settings import parse_duration

F = TypeVar("F", bound=Callable[..., Any])

_MAX_OFFSET: Final = 2**63 - 1
_LONGEST_S: Final = 100 * 365 * 86_400.0
_OPTIONS: Final = {
    "to_offset": "--to-offset",
    "to_earliest": "--to-earliest",
    "to_latest": "--to-latest",
    "to_current": "--to-current",
    "shift_by": "--shift-by",
    "to_datetime": "--to-datetime",
    "by_duration": "--by-duration",
    "to_group": "--to-group",
    "from_file": "--from-file",
}


class ResetRule(NamedTuple):
    """The specification that the user chose, the file for --from-file, and a note on how a time was read."""

    specification: Specification
    file: str | None = None
    note: str = ""


def specification_options(function: F) -> F:
    """Add the specifications; they arrive as one `rule`. Raises UsageError unless exactly one is given."""
    for option in (
        click.option(
            "--from-file",
            metavar="FILE",
            shell_complete=offer("files"),
            help="The offsets of a plan of this tool, or of the CSV of Kafka's tool; - is stdin.",
        ),
        click.option(
            "--to-group",
            metavar="ID",
            type=NAME,
            shell_complete=offer("groups"),
            help="The committed offsets of another group; without --topic on all partitions where it has one.",
        ),
        click.option(
            "--by-duration",
            metavar="DURATION",
            help="The first record of the last DURATION, such as 2h or PT2H; the log end offset if there is none.",
        ),
        click.option(
            "--to-datetime",
            metavar="TIME",
            help="The first record at or after TIME, such as 2026-11-23T10:00:00+01:00, '2026-11-23T10:00 "
            "Europe/Berlin', or 1795424400000 (milliseconds since 1970); UTC without a zone.",
        ),
        click.option(
            "--shift-by",
            metavar="N",
            type=IntegerRange(-_MAX_OFFSET, _MAX_OFFSET),
            help="The committed offset plus N; negative goes back.",
        ),
        click.option("--to-current", is_flag=True, help="The committed offset, or else the log end offset."),
        click.option("--to-latest", is_flag=True, help="The log end offset."),
        click.option("--to-earliest", is_flag=True, help="The log start offset."),
        click.option("--to-offset", metavar="N", type=IntegerRange(0, _MAX_OFFSET), help="This offset."),
    ):
        function = option(function)
    return combine_options(function, "rule", _read_rule, tuple(_OPTIONS))


def _read_rule(**values: Any) -> ResetRule:
    given = [name for name, value in values.items() if value is not None and value is not False]
    if not given:
        msg = f"no specification is given; give one of {', '.join(_OPTIONS.values())}"
        raise click.UsageError(msg)
    if len(given) > 1:
        msg = f"{' contradicts '.join(_OPTIONS[name] for name in given[:2])}: give one specification"
        raise click.UsageError(msg)
    name, value = given[0], values[given[0]]
    if name in ("to_datetime", "by_duration"):
        now_ms = time.time_ns() // 1_000_000
        return _parse_time(value, now_ms) if name == "to_datetime" else _parse_duration(value, now_ms)
    return ResetRule(_RULES[name](value), file=value if name == "from_file" else None)


_RULES: Final[dict[str, Callable[[Any], Specification]]] = {
    "to_offset": ToOffset,
    "to_earliest": lambda _: ToEarliest(),
    "to_latest": lambda _: ToLatest(),
    "to_current": lambda _: ToCurrent(),
    "shift_by": ShiftBy,
    "to_group": ToGroup,
    "from_file": lambda _: FromRows(),
}


def _parse_time(text: str, now_ms: int) -> ResetRule:
    try:
        time_ms, reading = parse_time(text)
    except ValueError as error:
        msg = f"--to-datetime {error}"
        raise click.UsageError(msg) from error
    if time_ms < 0:
        msg = f"--to-datetime {text!r} is before 1970, and no record has such a time"
        raise click.UsageError(msg)
    if time_ms > now_ms:
        reason = "without a zone it is UTC" if reading == WITHOUT_ZONE else reading
        msg = f"--to-datetime {text!r} is in the future" + (f" ({reason})" if reason else "")
        raise click.UsageError(msg)
    return ResetRule(ToTime(time_ms), note=f"{_describe_time(time_ms)}{f'; {reading}' if reading else ''}.")


def _parse_duration(text: str, now_ms: int) -> ResetRule:
    try:
        seconds = parse_duration(text, longest_s=_LONGEST_S)
    except ValueError as error:
        msg = f"--by-duration: {error}"
        raise click.UsageError(msg) from error
    time_ms = max(0, now_ms - round(seconds * 1000))
    return ResetRule(ToTime(time_ms), note=f"{_describe_time(time_ms)}.")


def _describe_time(time_ms: int) -> str:
    since = datetime.fromtimestamp(time_ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return f"New offsets are those of the first records since {since}"
