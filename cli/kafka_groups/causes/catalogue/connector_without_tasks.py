"""A connector has no tasks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order, has_workers
from kafka_groups.causes.evidence import Evidence, GroupPoll, Need
from kafka_groups.causes.finding import CauseKind, Certainty, Finding
from kafka_groups.causes.series import held_since
from kafka_groups.causes.workers import settled_workers, status_command

# The tasks of a new connector follow it by a rebalance.
_POLLS: Final = 3


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each connector that ran without any task at the last polls."""
    names = set.intersection(*(_without_tasks(poll) for poll in evidence.polls[-_POLLS:]))
    workers = settled_workers(evidence.last)
    for name in sorted(names):
        holders = [each for each in workers if name in {part.connector for part in each.connectors}]
        yield Finding(
            summary=f"The connector {name} runs without a task, so it moves no records.",
            certainty=Certainty.LIKELY,
            facts=tuple(
                each.fact(f"{each.worker.url} runs the connector {name}.", evidence.last.at_ms) for each in holders
            ),
            refuted_by="A connector that was stopped, or that has nothing to read: it needs no task.",
            next_step=f"Read the status of {name}: its configuration may be refused when tasks are created.",
            next_command=status_command(workers),
            since=held_since([(poll.at_ms, name in _without_tasks(poll)) for poll in evidence.polls]),
        )


def _without_tasks(poll: GroupPoll) -> set[str]:
    """Return the connectors that a worker runs while no worker has a task of them."""
    workers = settled_workers(poll)
    if any(each.worker.scheduled_delay_ms for each in workers):
        return set()
    connectors = [connector for each in workers for connector in each.connectors]
    return {each.connector for each in connectors} - {each.connector for each in connectors if each.tasks}


CAUSE: Final = Cause(
    name="connector_without_tasks",
    title="a connector runs without tasks",
    kind=CauseKind.TROUBLE,
    order=Order.GROUP,
    needs=(Need.MEMBERS,),
    find=find,
    place=56,
    applies_to=has_workers,
)
