"""The check of `lag --fail-if`: the rows that it judges, and the exit code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from kafka_groups.commands.condition_options import describe_names
from kafka_groups.conditions import Condition
from kafka_groups.errors import CheckFailedError, ExportError, IncompleteResultError
from kafka_groups.groups.lag.summary import LagRow
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.options.cluster_session import ClusterSession

UNCHECKED_NOTES: Final = (Note(NoteKind.CONDITION_UNCHECKED, None, "The condition of --fail-if was not checked."),)


class LagResult(NamedTuple):
    """The rows that were written, those of the last poll of a watch. A group that was read may have no row.

    `failed` is the error that the command ends with unless the condition holds for a row: something could not be read,
    or a file could not be written.
    """

    rows: Sequence[LagRow]
    is_any_group_read: bool
    failed: IncompleteResultError | ExportError | None = None

    def is_unchecked(self, condition: Condition | None) -> bool:
        """Return whether a condition could not be checked, because no group was read."""
        return condition is not None and not self.is_any_group_read


def judge_at_end(session: ClusterSession, condition: Condition | None, result: LagResult) -> None:
    """Raise CheckFailedError if the condition holds for a row, whatever else failed; else the error of the result."""
    failing = [] if condition is None else [row for row in result.rows if condition.holds(row.condition_values())]
    if failing:
        if isinstance(result.failed, ExportError):
            session.print_messages([f"Error: {result.failed}"])
        msg = f"the condition of --fail-if holds for {describe_names(row.group for row in failing)}"
        raise CheckFailedError(msg)
    if result.failed is not None:
        raise result.failed
