"""The members of a share group deliver fewer records than are written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kafka_groups.causes.cause import Cause, Order, has_start_offsets
from kafka_groups.causes.evidence import Evidence, Need, PartitionPolls
from kafka_groups.causes.finding import CauseKind, Certainty, Fact, Finding, Since
from kafka_groups.causes.sentences import count, name_partitions, name_time
from kafka_groups.causes.series import produced, rate, total_lag, unread_since
from kafka_groups.causes.share_progress import delivered, known_polls
from kafka_groups.model import TopicPartition

_MIN_POLLS: Final = 4
# Below this share of what is written, the group is slower than its producers.
_SLOWER: Final = 0.9
# A record that waits for less is no matter of capacity: producers write in bursts.
_BEHIND_MS: Final = 60_000


def find(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding if records have waited for a minute, and fewer are delivered than are written."""
    waiting = {key: since for key in evidence.unexplained if (since := _waiting_since(evidence, key))}
    behind = {key: evidence.partitions[key] for key in sorted(waiting)}
    written, final = sum(map(produced, behind.values())), delivered(behind.values())
    if behind and evidence.last.group.members and final < _SLOWER * written:
        yield _describe(evidence, behind, (written, final), min(waiting.values(), key=lambda each: each.latest_ms))


def _waiting_since(evidence: Evidence, key: TopicPartition) -> Since | None:
    """Return since when the record at the start offset waits, if that is a minute or longer."""
    polls = evidence.partitions[key]
    since = unread_since(polls, evidence.log_times.get(key, ()))
    if since is None or len(known_polls(polls)) < _MIN_POLLS:
        return None
    return since if polls[-1].at_ms - since.latest_ms >= _BEHIND_MS else None


def _describe(
    evidence: Evidence, behind: dict[TopicPartition, PartitionPolls], totals: tuple[int, int], since: Since
) -> Finding:
    written, final = totals
    writes, reads = rate(written, evidence.duration_ms), rate(final, evidence.duration_ms)
    need = f"{written / final:.1f} times the capacity is needed" if final else "none is acknowledged"
    lag, at_ms = total_lag(behind), evidence.last.at_ms
    return Finding(
        summary=f"The members deliver {reads:,.1f} records/s of {name_partitions(behind)}, and {writes:,.1f} records/s "
        f"are written: {need}.",
        certainty=Certainty.STRONG if final else Certainty.LIKELY,
        facts=(
            Fact(f"{count(written, 'record')} were written while polls watched.", at_ms),
            Fact(f"The delivery of {count(final, 'record')} became final in this time.", at_ms),
            Fact(f"{count(lag, 'record')} wait, one since {name_time(since.latest_ms)} or longer.", at_ms),
            Fact(f"The group has {count(len(evidence.last.group.members), 'member')}.", at_ms),
        ),
        refuted_by="A lag that falls: then producers only wrote more for some time.",
        next_step="Add members: several of them share a partition."
        if final
        else "Look at the log of a member: an error that is repeated, or records that are never acknowledged.",
        since=since,
        explains=frozenset(behind),
        lag=lag,
    )


CAUSE: Final = Cause(
    name="share_slow",
    title="the members of a share group are slower than the producers",
    kind=CauseKind.TROUBLE,
    order=Order.WHOLE,
    needs=(Need.MEMBERS, Need.COMMITS, Need.LOG_ENDS, Need.LOG_TIMES),
    find=find,
    place=50,
    applies_to=has_start_offsets,
)
