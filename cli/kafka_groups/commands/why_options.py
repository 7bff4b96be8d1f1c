"""The options of `kafka-groups why`: their decorator, their values, and which of them contradict each other."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Final, NamedTuple, TypeVar

import click

from kafka_groups.causes.catalogue import CAUSES
from kafka_groups.causes.finding import CauseKind, Certainty
from kafka_groups.conditions import Condition, ConditionError, FieldType, parse_condition
from kafka_groups.options.parameters import NAME, IntegerRange, combine_options, parse_option_duration
from kafka_groups.rendering.views.judgement import FindingRow
from kafka_groups.settings import parse_duration

F = TypeVar("F", bound=Callable[..., Any])

# Six polls, the last one 30 s after the first one.
_SAMPLES: Final = 6
_INTERVAL_S: Final = 6.0
# A watch keeps no more polls than this.
_MOST_POLLS: Final = 600
# In ascending order.
_CERTAINTIES: Final = tuple(certainty.word for certainty in Certainty)
_FIELDS: Final = {"cause": FieldType.TEXT, "certainty": FieldType.RANK}


@dataclass(frozen=True, kw_only=True)
class WhyOptions:
    """The options of `why`. Intervals are texts; None for an option that was not given."""

    samples: int
    interval: str | None
    watch: str | None
    fail_if: str | None


class Schedule(NamedTuple):
    """When groups are polled, and how many polls a judgement has.

    `watch_polls` is the number of polls between two judgements, None for a single one.
    """

    samples: int
    interval_s: float
    watch_polls: int | None

    @property
    def interval_ms(self) -> int:
        """Return the time between two polls in ms."""
        return round(self.interval_s * 1000)


_OPTIONS: Final[tuple[Callable[[Any], Any], ...]] = (
    click.option(
        "--samples",
        metavar="N",
        type=IntegerRange(1),
        default=_SAMPLES,
        show_default=True,
        help="The number of polls that a judgement is based on.",
    ),
    click.option(
        "--interval",
        metavar="D",
        help="The time between two polls. [default: 6s; with --watch the polls are spread over its interval]",
    ),
    click.option(
        "--watch",
        metavar="INTERVAL",
        help="Go on until Ctrl-C, with a judgement after each interval, such as 30s, on the newest polls.",
    ),
    click.option(
        "--fail-if",
        metavar="COND",
        type=NAME,
        help="Exit with 4 if the condition holds for a finding that is trouble, such as 'certainty>=strong'.",
    ),
)


def why_options(function: F) -> F:
    """Add the options of `why`; they arrive as one `options`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return combine_options(function, "options", WhyOptions, tuple(field.name for field in fields(WhyOptions)))


def read_schedule(options: WhyOptions, output_format: str) -> Schedule:
    """Return when to poll. Raises UsageError for intervals of 0, and for options that contradict each other."""
    interval_s = None if options.interval is None else _read_interval("--interval", options.interval)
    if options.watch is None:
        return Schedule(options.samples, interval_s or _INTERVAL_S, None)
    watch_s = _read_interval("--watch", options.watch)
    if output_format not in ("table", "ndjson"):
        msg = f"--watch writes table or ndjson; --format {output_format} contradicts it"
        raise click.UsageError(msg)
    if options.fail_if is not None:
        raise click.UsageError("--fail-if contradicts --watch, which has no end; run why by cron instead")
    if interval_s is None:
        interval_s = watch_s / max(1, options.samples - 1)
    if interval_s > watch_s:
        raise click.UsageError("--interval is longer than that of --watch, so some judgements would have no new poll")
    watch_polls = round(watch_s / interval_s)
    if watch_polls > _MOST_POLLS:
        msg = f"--watch with this --interval needs more than {_MOST_POLLS} polls for a judgement; poll less often"
        raise click.UsageError(msg)
    return Schedule(max(options.samples, watch_polls + 1), interval_s, watch_polls)


def _read_interval(option: str, text: str) -> float:
    interval_s = parse_option_duration(option, text)
    if not interval_s:
        msg = f"{option} needs an interval above 0, such as 5s"
        raise click.UsageError(msg)
    return interval_s


def read_finding_condition(text: str | None) -> Condition | None:
    """Return the condition of --fail-if; None without one. Raises UsageError with the place of an error.

    Explanations fulfil no condition, so only causes of trouble are words of it.
    """
    if text is None:
        return None
    troubles = tuple(cause.name for cause in CAUSES if cause.kind is CauseKind.TROUBLE)
    words = {"cause": troubles, "certainty": _CERTAINTIES}
    try:
        return parse_condition(text, _FIELDS, parse_duration=parse_duration, words=words)
    except ConditionError as error:
        named = set(re.findall(r"\w+", text))
        explained = [cause.name for cause in CAUSES if cause.kind is CauseKind.EXPLANATION and cause.name in named]
        msg = f"--fail-if: {error}"
        if explained:
            msg = f"--fail-if: {explained[0]} explains a lag that is no trouble, so it fulfils no condition"
        raise click.UsageError(msg) from error


def holds_for(condition: Condition, row: FindingRow) -> bool:
    """Return whether a condition holds for a finding; it never holds for an explanation."""
    if row.kind is not CauseKind.TROUBLE:
        return False
    return condition.holds({"cause": row.cause, "certainty": _CERTAINTIES.index(row.certainty.word)})
