"""The check of `lag --fail-if`: the rows that it judges, and the exit code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from kafka_groups.commands.condition_options import describe_names
from kafka_groups.errors import CheckFailedError, ExportError, IncompleteResultError
from kafka_groups.groups.lag.conditions import Condition
from kafka_groups.groups.lag.summary import LagRow
from kafka_groups.options.cluster_session import ClusterSession


@dataclass
class FailIf:
    """The condition of --fail-if, None without one, and the rows of the last poll. A group may have no row."""

    condition: Condition | None
    rows: list[LagRow] = field(default_factory=list)
    is_any_group_read: bool = False

    def add(self, rows: Iterable[LagRow], *, is_any_group_read: bool) -> None:
        """Add the rows of the last poll."""
        self.rows += rows
        self.is_any_group_read = is_any_group_read

    @property
    def is_unchecked(self) -> bool:
        """Return whether the condition could not be checked, because no group was read."""
        return self.condition is not None and not self.is_any_group_read

    def notes(self) -> list[str]:
        """Return the note on a condition that was not checked."""
        return ["The condition of --fail-if was not checked."] if self.is_unchecked else []

    def failing_rows(self) -> list[LagRow]:
        """Return the rows for which the condition holds."""
        condition = self.condition
        return [] if condition is None else [row for row in self.rows if condition.holds(row.condition_values())]


@contextmanager
def judge_at_end(session: ClusterSession, check: FailIf) -> Iterator[None]:
    """Judge the condition after the output: CheckFailedError if it holds for a row, whatever else failed."""
    failed: IncompleteResultError | ExportError | None = None
    try:
        yield
    except (IncompleteResultError, ExportError) as error:
        failed = error
    if failing := check.failing_rows():
        if isinstance(failed, ExportError):
            session.print_notes([f"Error: {failed}"])
        msg = f"the condition of --fail-if holds for {describe_names(row.group for row in failing)}"
        raise CheckFailedError(msg)
    if failed is not None:
        raise failed
