"""Known resets: falls of a committed offset that no consumer caused. They are notes, and do not lead to a verdict."""

from __future__ import annotations

from typing import NamedTuple


class KnownReset(NamedTuple):
    """A known reset of the commit of a group on a partition, from the offset before to the one after.

    It happened after the poll at `since_ms`, and not after the one at `until_ms` (ms since 1970). `run_id` is the
    recorded run that committed the offset. None means that the group had no members at one of these polls: Kafka
    accepts a reset only then.
    """

    group: str
    topic: str
    partition: int
    offset_before: int
    offset_after: int
    since_ms: int
    until_ms: int
    run_id: str | None
