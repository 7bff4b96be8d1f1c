"""The leader of a Connect group withholds the work of a lost worker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order, has_workers
from kafka_groups.causes.evidence import Evidence, GroupPoll, Need
from kafka_groups.causes.finding import CauseKind, Certainty, Finding
from kafka_groups.causes.series import held_since
from kafka_groups.causes.workers import Worker, leader_of, status_command, workers_of


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if the last assignment has a delay, which the leader gives to all workers."""
    delay_ms, at_ms = _delay_ms(evidence.last), evidence.last.at_ms
    if not delay_ms:
        return
    workers = workers_of(evidence.last)
    leader = leader_of(workers) or workers[0]
    lost = _lost_workers(evidence)
    urls = ", ".join(each.worker.url for each in lost)
    seconds = f"{delay_ms / 1000:,.0f} s"
    yield Finding(
        summary=f"The tasks of {urls or 'a lost worker'} do not run: the leader withholds them for {seconds}.",
        certainty=Certainty.CERTAIN,
        facts=(
            *(each.fact(f"The worker {each.worker.url} left the group.", at_ms) for each in lost),
            leader.fact(f"The last assignment has a delay of {delay_ms:,} ms.", at_ms),
        ),
        refuted_by="An assignment without a delay, which follows when the delay ends.",
        next_step="Start the lost worker again before the delay ends: it then gets its tasks back. "
        "scheduled.rebalance.max.delay.ms sets the delay.",
        next_command=status_command(workers),
        since=held_since([(poll.at_ms, bool(_delay_ms(poll))) for poll in evidence.polls]),
    )


def _delay_ms(poll: GroupPoll) -> int:
    """Return the largest delay of the workers; 0 if there is none or it is unknown."""
    return max((each.worker.scheduled_delay_ms or 0 for each in workers_of(poll)), default=0)


def _lost_workers(evidence: Evidence) -> list[Worker]:
    """Return the workers that an earlier poll saw, and whose URL the last one does not have."""
    now = {each.worker.url for each in workers_of(evidence.last)}
    seen = {each.worker.url: each for poll in evidence.polls for each in workers_of(poll)}
    return [each for url, each in sorted(seen.items()) if url not in now]


CAUSE: Final = Cause(
    name="connect_rebalance_delay",
    title="tasks of a lost Connect worker are withheld",
    kind=CauseKind.TROUBLE,
    order=Order.GROUP,
    needs=(Need.MEMBERS,),
    find=find,
    place=53,
    applies_to=has_workers,
)
