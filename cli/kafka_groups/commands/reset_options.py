"""The specification of `reset`: one option out of several, as in kafka-consumer-groups.sh."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final, NamedTuple, TypeVar

import click

from kafka_groups.changes.specifications.log_offsets import ToEarliest, ToLatest, ToOffset, ToTime
from kafka_groups.changes.specifications.other_group import ToGroup
from kafka_groups.changes.specifications.own_commits import ShiftBy, ToCurrent
from kafka_groups.changes.specifications.specification import Specification
from kafka_groups.commands.reset_time import WITHOUT_ZONE, parse_time
from kafka_groups.options import offer
from kafka_groups.options.parameters import NAME, IntegerRange, combine_options, parse_option_duration
from kafka_groups.rendering.times import format_time

F = TypeVar("F", bound=Callable[..., Any])

_MAX_OFFSET: Final = 2**63 - 1
_LONGEST_S: Final = 100 * 365 * 86_400.0


class ResetRule(NamedTuple):
    """The specification that the user chose, or the file that has it, and a note on how a time was read."""

    specification: Specification | None = None
    file: str = ""
    note: str = ""

    @property
    def needs_scope(self) -> bool:
        """Return whether the user has to name partitions."""
        return self.specification is not None and self.specification.needs_scope


class _Option(NamedTuple):
    """An option of a specification: its flag, what follows from its value, and the attributes of click's option."""

    flag: str
    to_rule: Callable[[Any], ResetRule]
    attributes: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Return the name of the parameter."""
        return self.flag.removeprefix("--").replace("-", "_")


def specification_options(function: F) -> F:
    """Add the specifications; they arrive as one `rule`. Raises UsageError unless exactly one is given."""
    for option in reversed(_OPTIONS):
        function = click.option(option.flag, option.name, **option.attributes)(function)
    return combine_options(function, "rule", _read_rule, tuple(option.name for option in _OPTIONS))


def _read_rule(**values: Any) -> ResetRule:
    given = [option for option in _OPTIONS if values[option.name] is not None and values[option.name] is not False]
    if not given:
        msg = f"no specification is given; give one of {', '.join(option.flag for option in _OPTIONS)}"
        raise click.UsageError(msg)
    if len(given) > 1:
        msg = f"{' contradicts '.join(option.flag for option in given[:2])}: give one specification"
        raise click.UsageError(msg)
    return given[0].to_rule(values[given[0].name])


def _parse_time(text: str) -> ResetRule:
    try:
        time_ms, reading = parse_time(text)
    except ValueError as error:
        msg = f"--to-datetime {error}"
        raise click.UsageError(msg) from error
    if time_ms < 0:
        msg = f"--to-datetime {text!r} is before 1970, and no record has such a time"
        raise click.UsageError(msg)
    if time_ms > _now_ms():
        reason = "without a zone it is UTC" if reading == WITHOUT_ZONE else reading
        msg = f"--to-datetime {text!r} is in the future" + (f" ({reason})" if reason else "")
        raise click.UsageError(msg)
    return ResetRule(ToTime(time_ms), note=f"{_describe_time(time_ms)}{f'; {reading}' if reading else ''}.")


def _parse_duration(text: str) -> ResetRule:
    seconds = parse_option_duration("--by-duration", text, longest_s=_LONGEST_S)
    time_ms = max(0, _now_ms() - round(seconds * 1000))
    return ResetRule(ToTime(time_ms), note=f"{_describe_time(time_ms)}.")


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _describe_time(time_ms: int) -> str:
    since = format_time(datetime.fromtimestamp(time_ms / 1000, UTC), timespec="milliseconds")
    return f"New offsets are those of the first records since {since}"


# In the order of the help. Where several are given, the first two are named.
_OPTIONS: Final = (
    _Option(
        "--to-offset",
        lambda offset: ResetRule(ToOffset(offset)),
        {"metavar": "N", "type": IntegerRange(0, _MAX_OFFSET), "help": "This offset."},
    ),
    _Option(
        "--to-earliest",
        lambda _: ResetRule(ToEarliest()),
        {"is_flag": True, "help": "The log start offset."},
    ),
    _Option(
        "--to-latest",
        lambda _: ResetRule(ToLatest()),
        {"is_flag": True, "help": "The log end offset."},
    ),
    _Option(
        "--to-current",
        lambda _: ResetRule(ToCurrent()),
        {"is_flag": True, "help": "The committed offset, or else the log end offset."},
    ),
    _Option(
        "--shift-by",
        lambda records: ResetRule(ShiftBy(records)),
        {
            "metavar": "N",
            "type": IntegerRange(-_MAX_OFFSET, _MAX_OFFSET),
            "help": "The committed offset plus N; negative goes back.",
        },
    ),
    _Option(
        "--to-datetime",
        _parse_time,
        {
            "metavar": "TIME",
            "help": "The first record at or after TIME, such as 2026-11-23T10:00:00+01:00, '2026-11-23T10:00 "
            "Europe/Berlin', or 1795424400000 (milliseconds since 1970); UTC without a zone.",
        },
    ),
    _Option(
        "--by-duration",
        _parse_duration,
        {
            "metavar": "DURATION",
            "help": "The first record of the last DURATION, such as 2h or PT2H; the log end offset if there is none.",
        },
    ),
    _Option(
        "--to-group",
        lambda group: ResetRule(ToGroup(group)),
        {
            "metavar": "ID",
            "type": NAME,
            "shell_complete": offer("groups"),
            "help": "The committed offsets of another group; without --topic on all partitions where it has one.",
        },
    ),
    _Option(
        "--from-file",
        lambda name: ResetRule(file=name),
        {
            "metavar": "FILE",
            "shell_complete": offer("files"),
            "help": "The offsets of a plan of this tool, or of the CSV of Kafka's tool; - is stdin.",
        },
    ),
)
