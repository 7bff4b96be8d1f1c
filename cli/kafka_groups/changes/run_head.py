"""What a run records of its plan: the changes that it makes, and counts of what it does not make."""

from __future__ import annotations

from typing import Final

from kafka_groups.changes.change import PlannedGroups
from kafka_groups.changes.journal import RunHead
from kafka_groups.errors import ChangeRefusedError

# Why a group is refused as a whole, before it has rows: this tool does not try the change.
_REFUSALS: Final = frozenset({"NON_EMPTY_GROUP", ChangeRefusedError.name})


def head_of_run(head: RunHead, planned: PlannedGroups) -> RunHead:
    """Return the head of a run that makes the changes of a plan."""
    rows = [row for each in planned.rows.values() for row in each]
    changes = tuple(planned.changes())
    refused_groups = [why for why in planned.failures if why.name in _REFUSALS]
    return head._replace(
        plan=head.plan._replace(changes=changes),
        refused=len(rows) - len(changes) + len(refused_groups),
        failures=len(planned.failures) - len(refused_groups),
        other_groups=tuple(sorted(_groups_of(planned) - {change.group for change in changes})),
    )


def head_of_attempt(head: RunHead, planned: PlannedGroups, *, failures: int = 0) -> RunHead:
    """Return the head of a run that makes no change of a plan: every row counts as refused.

    `failures` is the number of failures that are not in the plan, such as the one that ended it.
    """
    counted = head_of_run(head, planned._replace(rows={}))
    return counted._replace(
        refused=counted.refused + sum(len(rows) for rows in planned.rows.values()),
        failures=counted.failures + failures,
        other_groups=tuple(sorted(_groups_of(planned))),
    )


def _groups_of(planned: PlannedGroups) -> set[str]:
    """Return the groups of a plan, and those that could not be planned."""
    return planned.rows.keys() | {why.group for why in planned.failures if why.group is not None}
