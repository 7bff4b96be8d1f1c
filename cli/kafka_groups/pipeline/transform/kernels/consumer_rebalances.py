"""Rebalances of KIP-848 groups: from the record of an epoch until the last member is STABLE at that epoch."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from typing import Final

from kafka_groups.pipeline.transform.kernels.epochs import UPGRADE, Epoch, EpochDay, Span
from kafka_groups.pipeline.transform.kernels.memberships import FIRST_EPOCH, JOIN, OF_MEMBERS, Change, LifeDay
from kafka_groups.pipeline.transform.kernels.rebalances import Rebalance, milliseconds

_NOTHING: Final = EpochDay((), (), (), {}, Span())


def consumer_rebalances(day: EpochDay, following: EpochDay | None) -> Iterator[Rebalance]:
    """Return the rebalances that began on a date; nothing later than the `following` date is known of them.

    If the next epoch begins before all members have reached this one, it is `overtaken` and ends there; if not all have
    by the end of the following date, it is open. Members whose join is not among the records must reach it, too; if it
    is not known how many there were, it is not known whether all did: the next epoch is a bound then.
    """
    following = following or _NOTHING
    ends = [epoch.record.time for epoch in (*day.epochs[1:], *following.epochs[:1])]
    known_from: dict[int, int | None] = {}
    for at, epoch in enumerate(day.epochs):
        later = tuple(life for life in following.lives[:1] if life.before.life == epoch.life.before.life)
        arrivals = dict(epoch.arrivals)
        if later and epoch is day.epochs[-1]:
            for record in following.before_first:
                if record.epoch == epoch.record.epoch and record.member_id not in epoch.newcomers:
                    arrivals.setdefault(record.member_id or "", record.time)
        if epoch.life.start not in known_from:
            known_from[epoch.life.start] = epoch.life.known_from(*later)
        members = _members_after(epoch, later, known_from[epoch.life.start])
        yield _rebalance(epoch, ends[at] if at < len(ends) else None, arrivals, later, members)


def _rebalance(
    epoch: Epoch,
    overtaken_at: int | None,
    arrivals: dict[str, int],
    later: tuple[LifeDay, ...],
    members: int | None,
) -> Rebalance:
    started_at = epoch.record.time
    reached_at = max(arrivals.values(), default=started_at)
    ended_at = None
    if members is not None and len(arrivals) >= members:
        quality, ended_at = "exact", max(started_at, reached_at)
    elif overtaken_at is not None:
        quality, ended_at = "bound" if members is None else "overtaken", overtaken_at
    else:
        quality = "unknown" if members is None else "open"
    happened = _happened(epoch, later, members)
    change, joined, left = (None, None, None) if happened is None else happened
    return Rebalance(
        "consumer",
        epoch.record.epoch or 0,
        started_at,
        ended_at,
        None if ended_at is None else milliseconds(started_at, ended_at),
        quality,
        None,
        None if members is None or change is None else members - change,
        members,
        None if joined is None or left is None else tuple(sorted(joined - left)),
        None if joined is None or left is None else tuple(sorted(left - joined)),
    )


def _members_after(epoch: Epoch, later: tuple[LifeDay, ...], known_from: int | None) -> int | None:
    """Return the number of members at the epoch; None if only those that joined are known."""
    life = epoch.life
    is_known = known_from is not None and known_from <= epoch.at
    if not is_known and (epoch.joined_at is None or epoch.joined_at >= epoch.record.time):
        return None
    return len(life.before.members) + sum(len(day.there) for day in (life, *later)) + epoch.change


def _happened(
    epoch: Epoch, later: tuple[LifeDay, ...], members: int | None
) -> tuple[int, AbstractSet[str], AbstractSet[str]] | None:
    """Return the change of the number of members, and who joined and left; None if it is not known who was there.

    Compaction removes the classic group's last record with the upgrade, and the first epoch that remains of a group
    need not be its first one. But if members show that they were there, those of the epoch's own batch are those that
    joined.
    """
    span, life = epoch.span, epoch.life
    if span.mark is None and (life.before.was_there or any(day.there for day in (life, *later))):
        batch = [change for change in life.changes if _is_of_batch(change, epoch, later)]
        joined, left = ({change.record.member_id or "" for change in batch if change.number == n} for n in (1, -1))
        return sum(change.number for change in batch), joined, left
    is_first = span.mark is None and (epoch.record.epoch or 0) <= FIRST_EPOCH and members is not None and members <= 1
    if is_first or (span.mark is not None and (span.mark != UPGRADE or span.kept is not None)):
        return span.change, set(span.joined), set(span.left)
    return None


def _is_of_batch(change: Change, epoch: Epoch, later: tuple[LifeDay, ...]) -> bool:
    """Return whether the change was written with the epoch; the records of a batch have one time.

    A member that subscribes to other topics writes its metadata again, and has an epoch from before.
    """
    if change.at > epoch.at or change.record.time != epoch.record.time:
        return False
    records = [*epoch.life.records[change.at + 1 :], *(record for day in later for record in day.records)]
    name = change.record.member_id
    following = next((one for one in records if one.member_id == name and one.event_type in OF_MEMBERS), None)
    is_again = change.record.event_type == JOIN and following is not None and (following.previous_epoch or 0) > 0
    return not is_again
