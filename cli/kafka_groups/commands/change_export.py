"""The plan as a file or on stdout, for --export."""

from __future__ import annotations

from kafka_groups.changes.change import Plan
from kafka_groups.changes.csv_file import format_csv
from kafka_groups.changes.plan_file import format_plan
from kafka_groups.commands.change_session import STDOUT
from kafka_groups.errors import ExportError
from kafka_groups.options.cluster_session import ClusterSession
from kafka_groups.options.export import export_text
from kafka_groups.rendering.screen import print_note, silence


def export_plan(session: ClusterSession, name: str, plan: Plan, *, csv_with_group: bool | None) -> None:
    """Write a plan to a file, or print it for `-`. Raises ExportError if nobody can read it: it is not executed.

    `csv_with_group` is the form of CSV; None if the command has no such form.
    """
    is_plan = csv_with_group is None or name.endswith(".json")
    text = format_plan(plan) if is_plan else _format_csv(plan, with_group=bool(csv_with_group))
    session.end_progress()
    if name == STDOUT:
        _print(session, text)
        return
    try:
        export_text(name, text, what="the plan")
    except ExportError as error:
        msg = f"{error}; nothing was changed"
        raise ExportError(msg) from error
    print_note(session.screen, f"The plan was written to {name}.")


def _format_csv(plan: Plan, *, with_group: bool) -> str:
    rows = [
        (change.group, change.topic, change.partition, change.new_offset)
        for change in plan.changes
        if change.topic is not None and change.partition is not None and change.new_offset is not None
    ]
    return format_csv(rows, with_group=with_group)


def _print(session: ClusterSession, text: str) -> None:
    try:
        session.screen.write_utf8(text)
        session.screen.out.flush()
    except OSError as error:
        silence(session.screen.out)
        msg = f"cannot write the plan to stdout: {error.strerror or error}; nothing was changed"
        raise ExportError(msg) from error
