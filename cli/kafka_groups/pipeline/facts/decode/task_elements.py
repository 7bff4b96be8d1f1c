"""What members of Connect and streams groups run, as elements of the columns `workers` and `tasks` of group_events."""

from __future__ import annotations

from typing import Any

from kafka_groups.members import ConnectWorker, TaskAssignment


def worker_row(member_id: str, worker: ConnectWorker | None) -> dict[str, Any]:
    """Return an element of `workers`. Only the id is known of a worker that is None: its bytes are unreadable."""
    if worker is None:
        return {"member_id": member_id}
    connectors = worker.connectors
    return {
        "member_id": member_id,
        "url": worker.url,
        "connectors": None if connectors is None else [connector._asdict() for connector in connectors],
        "scheduled_delay_ms": worker.scheduled_delay_ms,
    }


def task_row(member_id: str, tasks: TaskAssignment) -> dict[str, Any]:
    """Return an element of `tasks`."""
    tasks_by_role = {
        role: [subtopology_tasks._asdict() for subtopology_tasks in getattr(tasks, role)] for role in tasks._fields
    }
    return {"member_id": member_id, **tasks_by_role}
