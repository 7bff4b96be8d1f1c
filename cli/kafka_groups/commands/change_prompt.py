"""The prompt before changes are made: the plan on stderr, and a question on the terminal."""

from __future__ import annotations

import sys
from typing import Final

from kafka_groups.changes.change import PlannedGroups
from kafka_groups.commands.change_report import note_summary
from kafka_groups.options.cluster_session import ClusterSession
from kafka_groups.rendering.screen import print_note
from kafka_groups.rendering.views.changes import ChangeView

_MAX_ROWS: Final = 50


def confirm_changes(session: ClusterSession, view: ChangeView, planned: PlannedGroups, summary: str) -> bool:
    """Print the plan on stderr, prompt, and return whether the user agrees. Ctrl-C raises KeyboardInterrupt."""
    from kafka_groups.rendering.writers.table import write_table

    session.end_progress()
    screen = session.screen
    rows = [row for group in planned.rows.values() for row in view.rows(group)]
    preview = screen._replace(out=screen.err, out_is_terminal=screen.err_is_terminal)
    write_table(preview, view.view.table(options=()), rows[:_MAX_ROWS])
    if len(rows) > _MAX_ROWS:
        print_note(screen, f"… and {len(rows) - _MAX_ROWS:,} more rows")
    session.add_notes([*planned.notes, *note_summary(summary)])
    session.print_failures_early((*planned.failures, *planned.refusals()))
    screen.err.write("Make these changes? [y/N] ")
    screen.err.flush()
    answer = ""
    try:
        answer = sys.stdin.readline()
    finally:
        if not answer.endswith("\n"):  # Ctrl-C or Ctrl-D
            screen.err.write("\n")
    return answer.strip().lower() in {"y", "yes"}
