"""Rebalances of classic groups: one for each generation. It ends with its record; when it began is not logged.

So `started_at` is the earliest time at which it can have begun, and the duration a bound. It began after the group's
record before; commits show nothing, because the broker accepts those of the old generation until all members have
joined. It also began no longer than the members' rebalance timeout before all had joined, and the record has that time.
If neither is known, `started_at` is the record, and the duration null.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from kafka_groups.pipeline.transform.kernels.group_events import CLASSIC, Record
from kafka_groups.pipeline.transform.kernels.rebalances import Rebalance, midnights, milliseconds

# The broker's timer ends a join phase that members hold up, and may be late.
_LATE_MS: Final = 1_000


class Generation(NamedTuple):
    """The last record of a classic group, or the downgrade that began one."""

    epoch: int | None  # None: the group was removed, or downgraded, so any generation after it is another one
    members: tuple[str, ...] | None
    time: int
    join_timeout_ms: int | None


class ClassicDay(NamedTuple):
    """The rebalances whose generation was recorded on one date, and what the date leaves to the next."""

    rebalances: list[Rebalance]
    before: Generation | None  # the last record or downgrade
    members: tuple[str, ...] | None  # of the last record of the classic group; None if there is none


def follow_generations(
    records: Sequence[Record],
    downgrades: Mapping[int, tuple[str, ...]],
    before: Generation | None,
    members: tuple[str, ...] | None,
) -> ClassicDay:
    """Return the rebalances of the classic group; `downgrades` are members of a KIP-848 group, by place in `records`.

    An online downgrade keeps the members, so those of the KIP-848 group were there before the next generation.
    """
    rebalances: list[Rebalance] = []
    for at, record in enumerate(records):
        if at in downgrades:
            before = Generation(None, downgrades[at], record.time, join_timeout_ms=None)
        elif record.type == CLASSIC:
            rebalances.extend(_rebalance(record, before))
            before = _generation(record)
            members = before.members
    return ClassicDay(rebalances, before, members)


def _generation(record: Record) -> Generation:
    if record.event_type == "generation":
        return Generation(record.epoch, record.ids, record.time, record.join_timeout_ms)
    # A rebalance waits no time for a group without members.
    return Generation(record.epoch, (), record.time, join_timeout_ms=0)


def _rebalance(record: Record, before: Generation | None) -> Iterator[Rebalance]:
    """Return the rebalance that ended with this record, if its generation is another one than before."""
    # Generation 0 is a group that was just created (brokers since 4.0 write it).
    if record.event_type == "group_removed" or record.epoch is None or record.epoch <= 0:
        return
    if before is not None and before.epoch == record.epoch:
        return
    # A group's first generation is 1, and had no members before; any other first record had others before it.
    if before is None and record.epoch == 1:
        before = Generation(0, (), record.time, join_timeout_ms=0)
        earliest = _join_since(record, before)
    else:
        bounds = (None, None) if before is None else (before.time, _join_since(record, before))
        earliest = max((bound for bound in bounds if bound is not None), default=None)
    if earliest is not None and (earliest > record.time or midnights(earliest, record.time) > 1):
        earliest = None
    own, others = _generation(record).members, None if before is None else before.members
    took_ms = None if record.state_time is None else milliseconds(record.state_time, record.time)
    yield Rebalance(
        "classic",
        record.epoch,
        record.time if earliest is None else earliest,
        record.time,
        None if earliest is None else milliseconds(earliest, record.time),
        "bound",
        took_ms if record.event_type == "generation" and took_ms is not None and took_ms >= 0 else None,
        None if others is None else len(others),
        None if own is None else len(own),
        _except(own, others),
        _except(others, own),
    )


def _join_since(record: Record, before: Generation) -> int | None:
    """Return the earliest time at which the join phase can have begun: the longest rebalance timeout before its end.

    None if some member's timeout is not known, and if generations before were given up and left no record: then there
    was more than one join phase.
    """
    timeout = _generation(record).join_timeout_ms
    if record.state_time is None or milliseconds(record.state_time, record.time) < 0:
        return None
    if timeout is None or before.join_timeout_ms is None or record.epoch != (before.epoch or 0) + 1:
        return None
    longest_ms = max(before.join_timeout_ms, timeout) + _LATE_MS
    return (record.state_time // 1_000 - longest_ms) * 1_000


def _except(names: tuple[str, ...] | None, others: tuple[str, ...] | None) -> tuple[str, ...] | None:
    if names is None or others is None:
        return None
    return tuple(sorted(set(names).difference(others)))
