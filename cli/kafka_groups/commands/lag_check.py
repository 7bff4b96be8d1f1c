"""The check of `lag --fail-if`: the groups for which the condition holds, and the exit code."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from kafka_groups.commands.condition_options import MAX_NAMES
from kafka_groups.conditions import Condition
from kafka_groups.errors import CheckFailedError, ExportError, IncompleteResultError
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.name_lists import first_names

UNCHECKED_NOTES: Final = (Note(NoteKind.CONDITION_UNCHECKED, None, "The condition of --fail-if was not checked."),)


class LagResult(NamedTuple):
    """The groups for which the condition holds, those of the last poll of a watch, as texts; none without a condition.

    `failed` is the error that the command ends with unless there are such groups: something could not be read, or a
    file could not be written.
    """

    failing: Sequence[str]
    failed: IncompleteResultError | ExportError | None = None


def is_unchecked(condition: Condition | None, groups: Sequence[object]) -> bool:
    """Return whether a condition could not be checked, because no group was read. A group may have no row."""
    return condition is not None and not groups


def judge_at_end(result: LagResult, print_messages: Callable[[Iterable[str]], None]) -> None:
    """Raise CheckFailedError if the condition holds for a group, whatever else failed; else the error of the result."""
    if result.failing:
        if isinstance(result.failed, ExportError):
            print_messages([f"Error: {result.failed}"])
        names = first_names(dict.fromkeys(result.failing), MAX_NAMES, more=" and {:,} more")
        msg = f"the condition of --fail-if holds for {names}"
        raise CheckFailedError(msg)
    if result.failed is not None:
        raise result.failed
