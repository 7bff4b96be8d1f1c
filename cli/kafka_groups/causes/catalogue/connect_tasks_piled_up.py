"""The tasks of a Connect group are on few of its workers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order, has_workers
from kafka_groups.causes.evidence import Evidence, GroupPoll, Need
from kafka_groups.causes.finding import CauseKind, Certainty, Finding
from kafka_groups.causes.sentences import count
from kafka_groups.causes.series import held_since
from kafka_groups.causes.workers import settled_workers, status_command

# Work moves in two rebalances: the first one revokes it, the second one assigns it.
_POLLS: Final = 3


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if a worker had at least two tasks more than another one at the last polls."""
    if not all(map(_has_pile, evidence.polls[-_POLLS:])):
        return
    workers = sorted(settled_workers(evidence.last), key=lambda each: -each.tasks)
    total = sum(each.tasks for each in workers)
    yield Finding(
        summary=f"{workers[0].worker.url} runs {workers[0].tasks:,} of {count(total, 'task')}, and "
        f"{workers[-1].worker.url} runs {workers[-1].tasks:,}.",
        certainty=Certainty.CERTAIN,
        facts=tuple(
            each.fact(
                f"{each.worker.url} runs {count(len(each.connectors), 'connector')} with {count(each.tasks, 'task')}.",
                evidence.last.at_ms,
            )
            for each in workers
        ),
        refuted_by="A rebalance after which the numbers of tasks differ by one at most.",
        next_step="Look at the log of the leader for rebalances that do not end, or that connectors block.",
        next_command=status_command(workers),
        since=held_since([(poll.at_ms, _has_pile(poll)) for poll in evidence.polls]),
    )


def _has_pile(poll: GroupPoll) -> bool:
    """Return whether a worker has at least two tasks more than another one, and nothing is withheld."""
    workers = settled_workers(poll)
    if not workers or any(each.worker.scheduled_delay_ms for each in workers):
        return False
    tasks = [each.tasks for each in workers]
    return max(tasks) - min(tasks) > 1


CAUSE: Final = Cause(
    name="connect_tasks_piled_up",
    title="tasks are on few workers of a Connect group",
    kind=CauseKind.TROUBLE,
    order=Order.GROUP,
    needs=(Need.MEMBERS,),
    find=find,
    place=55,
    applies_to=has_workers,
)
