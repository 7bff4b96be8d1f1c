"""The group has no members: nobody reads its partitions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order, has_commits_or_workers
from kafka_groups.causes.emptiness import empty_since, is_abandoned, is_empty, last_with_members, moves_without_members
from kafka_groups.causes.evidence import Evidence, Need
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding
from kafka_groups.causes.membership import described_polls, leaver_facts
from kafka_groups.causes.sentences import count
from kafka_groups.causes.series import total_lag

_LEAST_POLLS: Final = 3
_RESTART_MS: Final = 10_000


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if the group is Empty or Dead, had members at some time, and nobody reads it.

    A Connect group has no lag. Brokers delete one without workers within minutes, so that these left a short time ago.
    """
    if evidence.kind.has_workers:
        if is_empty(evidence) and _stays_empty(evidence):
            yield _describe_workers(evidence)
        return
    left = last_with_members(evidence)
    has_had_members = left is not None or evidence.kind.has_had_members
    if not (is_empty(evidence) and has_had_members and is_abandoned(evidence)):
        return
    moves = moves_without_members(evidence)
    if moves > 1:
        return
    state = evidence.last.group.state
    since = empty_since(evidence)
    lag = total_lag(evidence.open_partitions())
    leavers = leaver_facts(evidence)
    yield Finding(
        summary=_summarize(leavers, lag, state),
        certainty=Certainty.LIKELY if moves else Certainty.CERTAIN,
        facts=(*leavers, Fact(f"The group is {state} and has no members.", at_ms=evidence.last.at_ms)),
        refuted_by="A member that joins, such as at the next run of a scheduled job, or commits that go on: a consumer "
        "that assigns partitions itself is no member.",
        next_step="Start the application again; if it should run, its own log says why it ended.",
        since=since,
        explains=evidence.unexplained,
        lag=lag,
    )


def _stays_empty(evidence: Evidence) -> bool:
    """Return whether the last three polls, a restart's time apart, saw no worker."""
    last = described_polls(evidence)[-_LEAST_POLLS:]
    lasts_long = last[-1].at_ms - last[0].at_ms >= _RESTART_MS
    return len(last) == _LEAST_POLLS and lasts_long and not any(poll.group.members for poll in last)


def _describe_workers(evidence: Evidence) -> Finding:
    state, leavers = evidence.last.group.state, leaver_facts(evidence)
    return Finding(
        summary=f"The Connect group is {state} and has no workers: no connector and no task runs.",
        certainty=Certainty.CERTAIN,
        facts=(*leavers, Fact(f"The group is {state} and has no members.", at_ms=evidence.last.at_ms)),
        refuted_by="A worker that joins.",
        next_step="Start the workers again; if they should run, their own logs say why they ended.",
        since=empty_since(evidence),
    )


def _summarize(leavers: tuple[Fact, ...], lag: int, state: str | None) -> str:
    summary = f"The group is {state}: nobody reads its {count(lag, 'record')}"
    if not leavers:
        return f"{summary}."
    return f"{summary}. The last member to leave was {leavers[-1].client_id} on {leavers[-1].host}."


CAUSE: Final = Cause(
    name="group_empty",
    title="the group has no members",
    kind=CauseKind.TROUBLE,
    order=Order.GROUP,
    needs=(Need.MEMBERS, Need.COMMITS),
    find=find,
    place=1,
    applies_to=has_commits_or_workers,
)
