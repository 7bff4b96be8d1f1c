"""A Connect worker has not read the newest configuration of the connectors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order, has_workers
from kafka_groups.causes.evidence import Evidence, GroupPoll, Need
from kafka_groups.causes.finding import CauseKind, Certainty, Finding
from kafka_groups.causes.series import held_since
from kafka_groups.causes.workers import Worker, leader_of, workers_of

# A worker reads what it lacks within seconds, and joins again.
_POLLS: Final = 2


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if the leader assigned nothing, or workers are behind it at all polls."""
    workers, at_ms = workers_of(evidence.last), evidence.last.at_ms
    newest = max((each.worker.config_offset for each in workers), default=0)
    has_mismatch = all(map(_has_mismatch, evidence.polls[-_POLLS:]))
    behind = _workers_behind(evidence.last)
    if not has_mismatch and not (len(evidence.polls) >= _POLLS and all(map(_workers_behind, evidence.polls))):
        return
    leader = leader_of(workers)
    culprits = [leader] if has_mismatch and leader else behind
    names = ", ".join(each.worker.url for each in culprits) or "a worker"
    summary = f"{names} had not read the newest connector configurations when it joined."
    yield Finding(
        summary=f"{summary} So nothing is assigned." if has_mismatch else summary,
        certainty=Certainty.CERTAIN if has_mismatch else Certainty.LIKELY,
        facts=tuple(
            each.fact(f"{each.worker.url} joined with config offset {each.worker.config_offset:,}.", at_ms)
            for each in workers
        ),
        refuted_by=f"A rebalance after which all workers have config offset {newest:,} or a higher one.",
        next_step="Look at the log of the worker: it must be able to read the topic of config.storage.topic.",
        since=held_since([(poll.at_ms, _is_behind(poll)) for poll in evidence.polls]),
    )


def _workers_behind(poll: GroupPoll) -> list[Worker]:
    """Return the workers whose config offset is below that of the leader; none if the leader is unknown."""
    workers = workers_of(poll)
    leader = leader_of(workers)
    if leader is None:
        return []
    return [each for each in workers if each.worker.config_offset < leader.worker.config_offset]


def _is_behind(poll: GroupPoll) -> bool:
    return bool(_workers_behind(poll)) or _has_mismatch(poll)


def _has_mismatch(poll: GroupPoll) -> bool:
    return any(each.worker.has_config_mismatch for each in workers_of(poll))


CAUSE: Final = Cause(
    name="connect_worker_behind",
    title="a Connect worker lacks the newest configuration",
    kind=CauseKind.TROUBLE,
    order=Order.GROUP,
    needs=(Need.MEMBERS,),
    find=find,
    place=54,
    applies_to=has_workers,
)
