"""Whether the topic is still the one that was read: what came under offsets that were read before would be lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.source.plan import TOPIC_ID, Log, offsets_of

LOST_RECORDS: Final = (
    "the brokers lost records that were read (an unclean leader election), or the topic was recreated; to read all "
    "records that it has, use a new directory (--data-dir) or a new checkpoint"
)
_PAUSE_S: Final = 0.5


def require_same_topic(position: Mapping[str, Any], log: Log) -> None:
    """Raise SourceError if a checkpoint is of a topic that was deleted since; brokers without ids hide that.

    Its history and the new one's are best kept apart: the history of a group follows the order of offsets.
    """
    before = position.get(TOPIC_ID)
    if before is not None and log.topic_id is not None and before != log.topic_id:
        msg = (
            f"__consumer_offsets was recreated since it was read: its topic id was {before}, and is {log.topic_id}, so "
            "the old offsets do not apply to it; use a new directory (--data-dir) or a new checkpoint for it"
        )
        raise SourceError(msg)


def lost(position: Mapping[str, Any], ends: Mapping[int, int]) -> str | None:
    """Return what a checkpoint says was read and is there no longer, as a sentence; None if all of it is there."""
    for partition, offset in sorted(offsets_of(position).items()):
        if offset > ends.get(partition, 0):
            what = f"ends at {ends[partition]}" if partition in ends else "does not exist"
            place = f"partition {partition} of __consumer_offsets {what}, but was read up to offset {offset}"
            return f"{place}: {LOST_RECORDS}"
    return None


def sound_log(position: Mapping[str, Any], look: Callable[[], Log], *, first: Log, patience_s: float) -> Log:
    """Return the log, from `first` or a later look, that has all that the checkpoint says was read.

    A new leader may for a while know less of what is stable than the last one did, so requests are retried for so long.
    SourceError if it stays like that, and at once if it is another topic.
    """
    log = first
    until = time.monotonic() + patience_s
    while True:
        require_same_topic(position, log)
        said = lost(position, log.ends)
        if said is None:
            return log
        if time.monotonic() >= until:
            raise SourceError(said)
        time.sleep(_PAUSE_S)
        log = look()
