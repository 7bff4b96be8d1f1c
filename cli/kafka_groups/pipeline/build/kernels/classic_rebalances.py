"""Rebalances of classic groups.

A classic group rebalances in two phases: all members join, then the leader assigns partitions. At the end, the
coordinator writes one record with the new generation: its number and its members. The record has two times: when it was
written (`at_us`), and when the last member had joined (`state_us`). No record shows when the rebalance began. So
`started_at` is the earliest possible time, and the duration is an upper bound. Its quality names the
limit that set it, the later one of these two:

- `bound`: the rebalance began after the group's previous record. Commits do not show more, because the broker accepts
  commits of the old generation until all members have joined.
- `timeout`: it began at most the members' longest rebalance timeout before all had joined, because the broker removes
  members that take longer. This holds for one join phase only, that is, if no generation is missing before the record.

If neither limit is known, `started_at` is the time of the record, and the duration is None. The members that joined and
left follow from the previous generation. Compaction keeps only the newest record of a group, so the previous generation
may be *lost*. Then `joined`, `left` and `members_before` are None.

Example: generations 1, 2, 2 (written again), 4 and 5 of a group; generation 3 is lost.

>>> def row(seconds, number, *members):
...     return GroupRecord(0, 0, seconds * 1_000_000, "GroupMetadata", "generation", epoch=number, member_ids=members)
>>> rows = [row(10, 1, "a"), row(20, 2, "a", "b"), row(21, 2, "a", "b"), row(40, 4, "b"), row(50, 5, "b", "c")]
>>> before = None
>>> for record in rows:
...     rebalance = classic_rebalance(record, before)
...     if rebalance:
...         print(rebalance.generation, rebalance.duration_ms, rebalance.members_before, rebalance.joined)
...     before = Generation.from_record(record)
1 None 0 ('a',)
2 10000 1 ('b',)
4 19000 None None
5 10000 1 ('c',)
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, NamedTuple

from kafka_groups.pipeline.build.kernels.group_records import GroupRecord
from kafka_groups.pipeline.build.kernels.rebalance_rows import Rebalance, milliseconds_between
from kafka_groups.pipeline.build.kernels.segments import DAY_US

# The timer that ends a join phase in the broker may be late by this time.
_TIMER_DELAY_MS: Final = 1_000


class Generation(NamedTuple):
    """The start of the next rebalance of a classic group: a generation, a removal of the group, or a downgrade.

    - `number` is None after a downgrade of a KIP-848 group, whose next generation may have any number.
    - `members` are None if they are unknown. `join_timeout_ms` is their longest rebalance timeout, None if unknown.
    - `at_us` is the time of the record, in microseconds since 1970; None if there was no record of the group.
    - `is_group_deletion` is true if the group was removed, and no generation has followed.
    """

    number: int | None
    members: Collection[str] | None
    at_us: int | None
    join_timeout_ms: int | None
    is_group_deletion: bool = False

    @classmethod
    def from_record(cls, record: GroupRecord) -> Generation:
        """Return the generation that a record of a classic group describes."""
        return cls(record.epoch, record.member_ids, record.at_us, record.join_timeout_ms)

    @classmethod
    def removed(cls, record: GroupRecord) -> Generation:
        """Return the start for a group after its removal: a new group begins with generation 0 or 1."""
        return cls(0, (), record.at_us, 0, is_group_deletion=True)

    @classmethod
    def downgraded(cls, record: GroupRecord, members: Collection[str]) -> Generation:
        """Return the start for a group after an online downgrade from KIP-848, which keeps `members`."""
        return cls(None, members, record.at_us, None)


# A group that was just created: its first generation is 1.
_CREATED: Final = Generation(0, (), None, 0)
_LOST: Final = Generation(None, None, None, None)


def classic_rebalance(record: GroupRecord, previous_generation: Generation | None) -> Rebalance | None:
    """Return the rebalance that ended with a record of a classic group; None if the record shows no new generation.

    `record` must not be a removal. `previous_generation` is the generation of the previous record in the log; None if
    it is lost.
    """
    # Brokers since 4.0 write generation 0 when they create a group.
    if record.epoch is None or record.epoch <= 0:
        return None
    if previous_generation is not None and previous_generation.number == record.epoch:
        return None
    previous_generation = _find_previous_generation(record.epoch, previous_generation)
    started_us, quality = _find_earliest_start(record, previous_generation)
    # A build follows a rebalance until the end of the day after its start. A start after its end is a clock error.
    is_start_usable = (
        started_us is not None and started_us <= record.at_us and record.at_us // DAY_US - started_us // DAY_US <= 1
    )
    joined = left = None
    if previous_generation.members is not None and record.member_ids is not None:
        joined = tuple(sorted({*record.member_ids} - {*previous_generation.members}))
        left = tuple(sorted({*previous_generation.members} - {*record.member_ids}))
    return Rebalance(
        group_protocol="classic",
        generation=record.epoch,
        started_at=started_us if is_start_usable and started_us is not None else record.at_us,
        ended_at=record.at_us,
        duration_ms=milliseconds_between(started_us, record.at_us) if is_start_usable else None,
        duration_quality=quality,
        sync_ms=milliseconds_between(_find_join_end_us(record), record.at_us) if record.member_ids else None,
        members_before=None if previous_generation.members is None else len(previous_generation.members),
        members_after=None if record.member_ids is None else len(record.member_ids),
        joined=joined,
        left=left,
    )


def _find_previous_generation(number: int, last_generation: Generation | None) -> Generation:
    """Return the generation before `number`; its members are None if it is lost.

    `last_generation` is the generation of the previous record in the log; None if it is lost. Generation 1 may belong
    to a new group, which begins without members.
    """
    belongs_to_older_group = (
        last_generation is not None and last_generation.number is not None and last_generation.number >= number
    )
    if number == 1 and (last_generation is None or belongs_to_older_group):
        return _CREATED._replace(at_us=None if last_generation is None else last_generation.at_us)
    if last_generation is None:
        return _LOST
    if last_generation.number is not None and last_generation.number + 1 != number:
        return last_generation._replace(members=None)
    return last_generation


def _find_earliest_start(record: GroupRecord, previous_generation: Generation) -> tuple[int | None, str]:
    """Return the earliest time at which a rebalance can have begun, and the quality of the duration since then.

    The time is in microseconds since 1970, None if unknown. `record` ended the rebalance, and `previous_generation` is
    the previous generation. If clocks differ, the time may be after the record.
    """
    all_joined_us = _find_join_end_us(record)
    timeouts_ms = [previous_generation.join_timeout_ms, record.join_timeout_ms]
    known_timeouts_ms = [timeout_ms for timeout_ms in timeouts_ms if timeout_ms is not None]
    is_one_phase = previous_generation.number is None or previous_generation.number + 1 == record.epoch
    if all_joined_us is None or len(known_timeouts_ms) < len(timeouts_ms) or not is_one_phase:
        return previous_generation.at_us, "bound"
    earliest_us = (all_joined_us // 1_000 - max(known_timeouts_ms) - _TIMER_DELAY_MS) * 1_000
    if previous_generation.at_us is not None and previous_generation.at_us >= earliest_us:
        return previous_generation.at_us, "bound"
    return earliest_us, "timeout"


def _find_join_end_us(record: GroupRecord) -> int | None:
    """Return when all members had joined, in microseconds since 1970; None if it is unknown or after the record."""
    if record.state_us is None or record.state_us // 1_000 > record.at_us // 1_000:
        return None
    return record.state_us
