"""A static member keeps partitions and commits nothing: its process may have gone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.evidence import Evidence, Need
from kafka_groups.causes.finding import CauseKind, Certainty, Finding
from kafka_groups.causes.membership import describe_members, described_polls, lives_of, member_fact
from kafka_groups.causes.owners import owners, partitions_of
from kafka_groups.causes.sentences import count, name_member, name_partitions
from kafka_groups.causes.series import is_unread_since, moves, total_lag, unmoved_since
from kafka_groups.model import Member, TopicPartition

_LEAST_POLLS: Final = 5
# Others must commit at two polls or more, so that this is no long commit interval.
_LEAST_MOVES: Final = 2
# The epoch of a static member that left for a restart (LEAVE_GROUP_STATIC_MEMBER_EPOCH, KIP-848).
_LEFT_EPOCH: Final = -2


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each static member whose partitions all stand still while those of others move."""
    polls = described_polls(evidence)
    owned = owners(evidence.last.group)
    moving = {
        owned[key].member_id
        for key, series in evidence.partitions.items()
        if key in owned and len(moves(series)) >= _LEAST_MOVES
    }
    for life in lives_of(polls):
        member = life.member
        stayed = life.joined is None and life.left is None and member.group_instance_id is not None
        if len(polls) < _LEAST_POLLS or not stayed or not moving or _has_moved(evidence, member):
            continue
        known = (key for key in partitions_of(member.assignment) if key in evidence.unexplained)
        unread = [key for key in known if is_unread_since(evidence.partitions[key], polls[0].at_ms)]
        if unread:
            yield _describe(evidence, member, unread)


def _has_moved(evidence: Evidence, member: Member) -> bool:
    return any(moves(evidence.partitions.get(key, ())) for key in partitions_of(member.assignment))


def _describe(evidence: Evidence, member: Member, unread: list[TopicPartition]) -> Finding:
    instance = f"static member {member.group_instance_id} ({name_member(member)})"
    series = {key: evidence.partitions[key] for key in unread}
    has_left = member.epoch == _LEFT_EPOCH
    text = "left without giving up its partitions" if has_left else "commits nothing"
    return Finding(
        summary=f"The {instance} {text}, and keeps {name_partitions(unread)}, while others commit.",
        certainty=Certainty.STRONG if has_left else Certainty.LIKELY,
        facts=(
            member_fact(
                f"The {instance} has {count(member.partition_count or 0, 'partition')}; no commit on them moved.",
                member,
                evidence.last.at_ms,
            ),
        ),
        refuted_by="A commit on one of its partitions, or a process that runs on its host and is busy.",
        next_step="Start the process again, or remove the member: its partitions move only after session.timeout.ms.",
        next_command=describe_members(evidence),
        since=min(map(unmoved_since, series.values()), key=lambda since: since.latest_ms),
        explains=frozenset(unread),
        lag=total_lag(series),
    )


CAUSE: Final = Cause(
    name="member_gone",
    title="a static member keeps partitions and commits nothing",
    kind=CauseKind.TROUBLE,
    order=Order.PARTIAL,
    needs=(Need.MEMBERS, Need.COMMITS, Need.LOG_ENDS),
    find=find,
    place=11,
)
