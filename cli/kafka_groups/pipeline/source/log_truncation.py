"""Whether the topic is still the one that was read: what came under offsets that were read before would be lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.source.plan import Log, Offsets

LOST_RECORDS: Final = (
    "the brokers lost records that were read (an unclean leader election), or the topic was recreated; to read all "
    "records that it has, use a new directory (--data-dir) or a new checkpoint"
)
_PAUSE_S: Final = 0.5


def lost(read: Offsets, ends: Offsets) -> str | None:
    """Return what was read up to these offsets and is there no longer, as a sentence; None if all of it is there."""
    for partition, offset in sorted(read.items()):
        if offset > ends.get(partition, 0):
            what = f"ends at {ends[partition]}" if partition in ends else "does not exist"
            place = f"partition {partition} of __consumer_offsets {what}, but was read up to offset {offset}"
            return f"{place}: {LOST_RECORDS}"
    return None


def sound_log(read: Log, look: Callable[[], Log], *, first: Log, patience_s: float) -> Log:
    """Return the log, from `first` or a later look, that has all that was read.

    A new leader may for a while know less of what is stable than the last one did, so requests are retried for so long.
    SourceError if it stays like that, and at once if it is another topic: the history of a group follows the order of
    offsets, so the old topic's history and the new one's are best kept apart. Brokers without topic ids hide that.
    """
    log = first
    until = time.monotonic() + patience_s
    while True:
        if read.topic_id is not None and log.topic_id is not None and read.topic_id != log.topic_id:
            msg = (
                f"__consumer_offsets was recreated since it was read: its topic id was {read.topic_id}, and is "
                f"{log.topic_id}, so the old offsets do not apply to it; use a new directory (--data-dir) or a new "
                "checkpoint for it"
            )
            raise SourceError(msg)
        said = lost(read.ends, log.ends)
        if said is None:
            return log
        if time.monotonic() >= until:
            raise SourceError(said)
        time.sleep(_PAUSE_S)
        log = look()
