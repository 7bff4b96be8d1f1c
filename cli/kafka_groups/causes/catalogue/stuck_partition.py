"""One partition does not move, although its member keeps up with others: a record may be poison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order
from kafka_groups.causes.evidence import Evidence, Need
from kafka_groups.causes.facts import lag_fact, member_fact
from kafka_groups.causes.finding import CauseKind, Certainty, Finding
from kafka_groups.causes.other_partitions import judge_others, most_moves
from kafka_groups.causes.owners import owners
from kafka_groups.causes.pace import BEHIND_MS, STOPPED_MS, busy_partitions, waits
from kafka_groups.causes.sentences import console_consumer, name_duration, name_partition
from kafka_groups.causes.series import is_still, lag_of, lost_records, unmoved_since
from kafka_groups.model import Member, TopicPartition

# Below this time a partition is not compared with others: a commit interval may be as long.
_SHORT_WAIT_MS: Final = 20_000


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each partition that stands still beside partitions that keep up.

    The same member owns these, or others do if it has no other partition with new records.
    """
    owned = owners(evidence.last.group)
    waited = {key: _wait(evidence, key) for key, polls in evidence.open_partitions().items() if is_still(polls)}
    stuck = {key for key, wait_ms in waited.items() if key in owned and wait_ms >= _SHORT_WAIT_MS}
    beside: dict[str, set[TopicPartition]] = {}
    for key in owned.keys() - stuck:
        beside.setdefault(owned[key].member_id, set()).add(key)
    busy = Counter(owned[key].member_id for key in busy_partitions(evidence) if key in owned)
    others_keep_up = bool(stuck) and most_moves(evidence, owned.keys() - stuck) > 0
    # A member may own thousands of stuck partitions, so the others are judged once.
    ids = {owned[key].member_id for key in stuck}
    others = {member_id: judge_others(evidence, beside.get(member_id, set())) for member_id in ids}
    for key in sorted(stuck, key=lambda key: (-lag_of(evidence.partitions[key]), key)):
        owner = owned[key]
        most, far_ms = others[owner.member_id]
        is_long = waited[key] >= BEHIND_MS
        if most and (is_long or waited[key] > far_ms):
            certainty = Certainty.STRONG if is_long and most > 1 else Certainty.LIKELY
            yield _describe(evidence, key, owner, "other partitions of the same member move", certainty)
        elif others_keep_up and waited[key] >= STOPPED_MS and busy[owner.member_id] <= 1:
            words = "the other members move, and its own has nothing else to read: it may hang"
            yield _describe(evidence, key, owner, words, Certainty.LIKELY)


def _wait(evidence: Evidence, key: TopicPartition) -> int:
    return waits(evidence.partitions[key], evidence.log_times.get(key, ()))[-1]


def _describe(evidence: Evidence, key: TopicPartition, owner: Member, beside: str, certainty: Certainty) -> Finding:
    polls = evidence.partitions[key]
    committed = polls[-1].committed or 0
    is_lost = lost_records(polls[-1]) > 0
    waited = f"{name_duration(_wait(evidence, key))} or longer"
    return Finding(
        summary=f"{name_partition(key)} stays at offset {committed:,}, while {beside}.",
        certainty=certainty,
        facts=(
            lag_fact(key, polls),
            member_fact(owner, f"owns it; the record at {committed:,} has waited for {waited}.", polls[-1].at_ms),
        ),
        refuted_by="The offset moves, or the record at it was processed and not committed.",
        next_step="Look at the log of the member: the record at this offset was deleted since."
        if is_lost
        else f"Look at the record at offset {committed:,}: the application may fail on it each time.",
        next_command=None if is_lost else console_consumer(evidence.bootstrap_server, key, committed),
        since=unmoved_since(polls),
        explains=frozenset({key}),
        lag=lag_of(polls),
    )


CAUSE: Final = Cause(
    name="stuck_partition",
    title="a partition stands still, and others of the same member do not",
    kind=CauseKind.TROUBLE,
    order=Order.PARTIAL,
    needs=(Need.MEMBERS, Need.COMMITS, Need.LOG_ENDS, Need.LOG_TIMES),
    find=find,
    place=1,
)
