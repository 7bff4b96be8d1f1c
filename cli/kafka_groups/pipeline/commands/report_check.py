"""The check of `pipeline report --fail-if`: the keys that a condition compares, and the exit code."""

from __future__ import annotations

from typing import Any, Final

import click

from kafka_groups.conditions import Condition, ConditionError, FieldType, parse_condition
from kafka_groups.errors import CheckFailedError, IncompleteResultError
from kafka_groups.exit_codes import ResultStatus
from kafka_groups.kinds import GROUP_STATES
from kafka_groups.name_lists import first_names
from kafka_groups.pipeline.build.qualities import QUALITIES
from kafka_groups.pipeline.commands.command_run import Run
from kafka_groups.pipeline.report.history import GroupHistory, History
from kafka_groups.settings import parse_duration
from kafka_groups.verdicts import VERDICT_OF, VERDICTS

# Keys of the groups of the JSON document, by the type of their values; `time_lag` is time_lag_ms as a duration.
_FIELDS: Final = {
    "cluster_id": FieldType.TEXT,
    "group": FieldType.TEXT,
    "state": FieldType.TEXT,
    "members": FieldType.NUMBER,
    "verdict": FieldType.TEXT,
    "rule": FieldType.TEXT,
    "lag": FieldType.NUMBER,
    "lag_quality": FieldType.TEXT,
    "time_lag_ms": FieldType.NUMBER,
    "time_lag_quality": FieldType.TEXT,
    "consume_rate": FieldType.NUMBER,
    "produce_rate": FieldType.NUMBER,
    "catch_up_ms": FieldType.NUMBER,
    "time_lag": FieldType.DURATION,
}
_WORDS: Final = {
    "state": GROUP_STATES,
    "verdict": VERDICTS,
    "rule": tuple(VERDICT_OF),
    "lag_quality": ("exact", "lower_bound", "outdated", "unknown"),
    "time_lag_quality": QUALITIES,
}
# What a group without a lag does not have. Polls of `lag` give it this verdict and this rule.
_FIELDS_OF_LAG: Final = frozenset(
    {"verdict", "rule", "lag", "time_lag", "time_lag_ms", "consume_rate", "produce_rate", "catch_up_ms"}
)
_WITHOUT_LAG: Final = {"verdict": VERDICT_OF["lag_unknown"], "rule": "lag_unknown"}
# Names of groups in an error.
_MAX_NAMES: Final = 3


def read_report_condition(condition_text: str) -> Condition:
    """Return the condition of --fail-if. Raises UsageError, with the place, for a text that is no condition."""
    try:
        return parse_condition(condition_text, _FIELDS, parse_duration=parse_duration, words=_WORDS)
    except ConditionError as error:
        msg = f"--fail-if: {error}"
        raise click.UsageError(msg) from error


def judge_report(
    run: Run, condition: Condition, history: History, incomplete_error: IncompleteResultError | None
) -> None:
    """Raise CheckFailedError if the condition holds for a selected group, also one not shown; else `incomplete_error`.

    Deleted groups are not judged. Without a group to judge, or if the condition compares only values of lags and no
    group has a lag, nothing was checked: print a note, and raise IncompleteResultError for exit code 1.
    """
    judged_groups = [group for group in history.selected if group.deleted_ms is None]
    failing_ids = [group.group for group in judged_groups if condition.holds(_read_values(group))]
    if failing_ids:
        names_text = first_names(
            (f"'{name}'" for name in dict.fromkeys(failing_ids)), _MAX_NAMES, more=" and {:,} more"
        )
        msg = f"the condition of --fail-if holds for {names_text}"
        raise CheckFailedError(msg)
    if incomplete_error is not None:
        raise incomplete_error
    compares_only_lag = condition.fields() <= _FIELDS_OF_LAG
    if not any(group.verdict is not None or not compares_only_lag for group in judged_groups):
        run.print_note("The condition of --fail-if was not checked.")
        raise IncompleteResultError(ResultStatus.FAILED)


def _read_values(group: GroupHistory) -> dict[str, Any]:
    """Return the values of a group by the keys of a condition. A group without a verdict is UNKNOWN, as in `lag`."""
    values: dict[str, Any] = {name: getattr(group, name) for name in _FIELDS if name not in {"members", "time_lag"}}
    verdict_values = _WITHOUT_LAG if group.verdict is None else {}
    return {**values, **verdict_values, "members": group.member_count, "time_lag": group.time_lag_ms}
