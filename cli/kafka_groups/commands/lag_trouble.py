"""The note of `lag` on groups with trouble: the command that shows why the first one is behind."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from kafka_groups.command_lines import group_command
from kafka_groups.commands.lag_request import LagRequest
from kafka_groups.commands.lag_rows import ClusterLag
from kafka_groups.groups.lag.lag_row import LagRow
from kafka_groups.groups.notes import Note, NoteKind
from kafka_groups.options.connection import connection_words
from kafka_groups.rendering.counts import count_of
from kafka_groups.rendering.screen import Screen

_EMPTY: Final = "Empty"
_VERDICTS: Final = frozenset({"STOP", "REWIND", "STALL", "WARN"})
# Verdicts that no poll contradicts: without polls, and after too few of them.
_UNJUDGED: Final = (None, "UNKNOWN")


def trouble_of(row: LagRow) -> str | None:
    """Return what shows that a group has trouble, as the predicate of a sentence; None if nothing does.

    Polls give a verdict. Without one, lost messages are known, and a group with a lag that nobody reads.
    """
    if row.verdict in _VERDICTS:
        return f"has the verdict {row.verdict}"
    if row.verdict not in _UNJUDGED:
        return None
    if row.messages_lost:
        return "has lost messages"
    return "has a lag and no members" if row.state == _EMPTY and (row.lag or 0) > 0 else None


def find_trouble(request: LagRequest, screen: Screen, totals: Iterable[ClusterLag]) -> list[Note]:
    """Return one note for all groups with trouble, with the command line for the first one; none without trouble.

    `totals` are those of groups.
    """
    if not _shows_trouble(screen, request.output.output_format):
        return []
    troubled = [total for total in totals if trouble_of(total.row) is not None]
    if not troubled:
        return []
    name = troubled[0].cluster.name
    words = connection_words(request.connection, name)
    return [note_trouble(troubled[0].row, len(troubled) - 1, words)._replace(cluster=name)]


def note_trouble(row: LagRow, others: int, words: Sequence[str]) -> Note:
    """Return the note on the first group with trouble, and on the number of others. `words` connect to its cluster."""
    verb = "has" if others == 1 else "have"
    more = f" ({count_of(others, 'more group')} {verb} trouble)" if others else ""
    text = f"Group '{row.group}' {trouble_of(row)}{more}. To see why: {group_command('why', row.group, *words)}"
    return Note(NoteKind.TROUBLE, row.group, text)


def _shows_trouble(screen: Screen, output_format: str) -> bool:
    """Return whether the note is shown: to people who read a table at a terminal, not in their mail and scripts."""
    return output_format == "table" and screen.err_is_terminal
