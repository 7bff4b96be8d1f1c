"""Groups with trouble in a report, and the command that shows why a group is behind now."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from kafka_groups.command_lines import group_command
from kafka_groups.pipeline.report.history import GroupHistory

_VERDICTS: Final = frozenset({"STOP", "REWIND", "STALL", "WARN"})


def first_in_trouble(groups: Iterable[GroupHistory]) -> GroupHistory | None:
    """Return the first group whose verdict is trouble; None without one. A deleted group has none."""
    return next((group for group in groups if group.deleted_ms is None and group.verdict in _VERDICTS), None)


def why_command(group: str) -> str:
    """Return the command line that shows why a group is behind, without options of a connection."""
    return group_command("why", group)
