"""The condition of `lag --fail-if` and `wait --until`: its fields, and the parsing of its text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import click

from kafka_groups.conditions import Comparison, Condition, ConditionError, FieldType, parse_condition
from kafka_groups.groups.lag.lag_row import ISOLATION_LEVELS, NOTES
from kafka_groups.groups.lag.time_lag import QUALITIES, TIME_NOTES
from kafka_groups.kinds import GROUP_STATES
from kafka_groups.name_lists import first_names
from kafka_groups.rendering.columns import View
from kafka_groups.settings import parse_duration
from kafka_groups.verdicts import VERDICT_OF, VERDICTS

# The keys of the JSON document of `lag` by the type of their values.
LAG_FIELDS: Final = {
    "group": FieldType.TEXT,
    "state": FieldType.TEXT,
    "members": FieldType.NUMBER,
    "topic": FieldType.TEXT,
    "partition": FieldType.NUMBER,
    "member_id": FieldType.TEXT,
    "host": FieldType.TEXT,
    "client_id": FieldType.TEXT,
    "committed_offset": FieldType.NUMBER,
    "log_start_offset": FieldType.NUMBER,
    "log_end_offset": FieldType.NUMBER,
    "lag": FieldType.NUMBER,
    "readable_lag": FieldType.NUMBER,
    "partitions_behind": FieldType.NUMBER,
    "uncommitted_partitions": FieldType.NUMBER,
    "messages_lost": FieldType.NUMBER,
    "retention_margin": FieldType.NUMBER,
    "retention_margin_percent": FieldType.NUMBER,
    "note": FieldType.TEXT,
    "time_lag_ms": FieldType.NUMBER,
    "time_lag_quality": FieldType.TEXT,
    "isolation": FieldType.TEXT,
    "consume_rate": FieldType.NUMBER,
    "produce_rate": FieldType.NUMBER,
    "trend": FieldType.NUMBER,
    "catch_up_ms": FieldType.NUMBER,
    "verdict": FieldType.TEXT,
    "rule": FieldType.TEXT,
}
# A misspelt word would equal no value, and its condition would never alert, or always.
_WORDS: Final = {
    "state": GROUP_STATES,
    "note": NOTES,
    "time_lag_quality": QUALITIES,
    "isolation": tuple(ISOLATION_LEVELS.values()),
    "verdict": VERDICTS,
    "rule": tuple(VERDICT_OF),
}
# What only the times of commits can show, which polls do not see.
_NEEDS_COMMITS: Final = ("stall", "stalled")
# The time lag as a duration.
_TIME_LAG: Final = "time_lag"
# Names of groups in an error.
MAX_NAMES: Final = 3
# Those of its group, which each row has.
_GROUP_FIELDS: Final = ("state", "members")
# What only polls can give.
_PACE_FIELDS: Final = ("consume_rate", "produce_rate", "trend", "catch_up_ms", "verdict", "rule")


def read_condition(text: str, *, option: str, view: View) -> Condition:
    """Return the condition of an option for the rows of a view. Raises UsageError with the place of an error."""
    keys = {*view.properties(), *_GROUP_FIELDS}
    # Rates and verdicts are those of groups.
    known = keys | {*_PACE_FIELDS} if "state" in view.properties() else keys
    fields = {key: LAG_FIELDS[key] for key in LAG_FIELDS if key in known} | {_TIME_LAG: FieldType.DURATION}
    try:
        condition = parse_condition(text, fields, parse_duration=parse_duration, words=_WORDS)
    except ConditionError as error:
        msg = f"{option}: {error}"
        raise click.UsageError(msg) from error
    for field in sorted(condition.fields().difference(keys, {_TIME_LAG})):
        msg = f"{option}: {field} is known only to lag with --watch or --polls"
        raise click.UsageError(msg)
    if any(map(_needs_commits, condition.comparisons())):
        msg = f"{option}: polls do not see commits at the same offset, so only pipeline report gives STALL"
        raise click.UsageError(msg)
    return condition


def needs_time(condition: Condition | None) -> bool:
    """Return whether a condition compares time lags, or notes on them, which are measured only if they are needed."""
    return condition is not None and any(map(_compares_time, condition.comparisons()))


def _needs_commits(comparison: Comparison) -> bool:
    """Return whether a comparison waits for what polls never give."""
    is_equality = comparison.field in ("verdict", "rule") and comparison.operator == "=="
    return is_equality and str(comparison.value).casefold() in _NEEDS_COMMITS


def _compares_time(comparison: Comparison) -> bool:
    is_note_on_time = comparison.field == "note" and str(comparison.value).lower() in TIME_NOTES
    return comparison.field.startswith(_TIME_LAG) or is_note_on_time


def describe_names(names: Iterable[str]) -> str:
    """Return the first names of groups, and how many more there are."""
    return first_names((f"'{name}'" for name in dict.fromkeys(names)), MAX_NAMES, more=" and {:,} more")
