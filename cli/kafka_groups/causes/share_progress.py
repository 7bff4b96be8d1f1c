"""The progress of a share group on a partition: which records are delivered, in order or not."""

from __future__ import annotations

from collections.abc import Iterable

from kafka_groups.causes.evidence import PartitionPoll, PartitionPolls


def delivered_ahead(poll: PartitionPoll) -> int | None:
    """Return the number of records beyond the start offset whose delivery is final; None if it is unknown.

    It is the log end minus the start offset minus the lag (KIP-1226). A negative number is unknown: the coordinator
    read the log end at another moment.
    """
    if poll.committed is None or poll.log_end is None or poll.lag is None:
        return None
    ahead = poll.log_end - poll.committed - poll.lag
    return ahead if ahead >= 0 else None


def known_polls(polls: PartitionPolls) -> list[PartitionPoll]:
    """Return the polls that know the start offset, the lag and the log end."""
    return [poll for poll in polls if delivered_ahead(poll) is not None]


def delivered(series: Iterable[PartitionPolls]) -> int:
    """Return how many records were delivered finally between the first and the last poll that know it."""
    total = 0
    for polls in series:
        known = known_polls(polls)
        if len(known) > 1:
            total += _final(known[-1]) - _final(known[0])
    return max(0, total)


def _final(poll: PartitionPoll) -> int:
    """Return the number of final deliveries, counted from offset 0."""
    return (poll.log_end or 0) - (poll.lag or 0)
