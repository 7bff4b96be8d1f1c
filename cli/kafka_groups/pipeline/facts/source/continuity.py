"""Checks that `__consumer_offsets` still has the records that were read, so that no records are skipped silently."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.facts.source.position import Offsets, Position

LOST_RECORDS: Final = (
    "the brokers lost records that were read (an unclean leader election), or the topic was recreated; to read all "
    "records that it has, use a new directory (--data-dir) or a new checkpoint"
)
_PAUSE_S: Final = 0.5


def describe_loss(next_offsets: Offsets, log_ends: Offsets) -> str | None:
    """Return a sentence on the first partition that ends before its next offset to read; None if there is none.

    `next_offsets` are the next offsets to read, `log_ends` the current ends of the logs, both by partition.
    """
    for partition, next_offset in sorted(next_offsets.items()):
        if next_offset > log_ends.get(partition, 0):
            state = f"ends at {log_ends[partition]}" if partition in log_ends else "does not exist"
            problem = f"partition {partition} of __consumer_offsets {state}, but was read up to offset {next_offset}"
            return f"{problem}: {LOST_RECORDS}"
    return None


def topic_changed_error(topic_id: str | None) -> SourceError:
    """Return the error for a topic that was recreated or deleted; `topic_id` is its new id, None if it was deleted."""
    state = "does not exist any more" if topic_id is None else f"was recreated: its topic id is {topic_id} now"
    return SourceError(
        f"__consumer_offsets was read, and {state}, so the old offsets do not apply; use a new directory (--data-dir) "
        "or a new checkpoint"
    )


def wait_for_end(
    read_until: Position, request_end: Callable[[], Position], *, first_end: Position, timeout_s: float
) -> Position:
    """Return an end of the topic that is not before the position up to which records were read.

    For a moment, a new leader may return a lower last stable offset than the previous leader. So if the end `first_end`
    is before the position, `request_end` is called again until the timeout.

    Raises SourceError if the end stays before the position, because records were lost. Raises SourceError at once if
    the topic has another id; brokers without topic ids do not show this.
    """
    end = first_end
    deadline = time.monotonic() + timeout_s
    while True:
        has_ids = read_until.topic_id is not None and end.topic_id is not None
        if has_ids and read_until.topic_id != end.topic_id:
            raise topic_changed_error(end.topic_id)
        loss = describe_loss(read_until.next_offsets, end.next_offsets)
        if loss is None:
            return end
        if time.monotonic() >= deadline:
            raise SourceError(loss)
        time.sleep(_PAUSE_S)
        end = request_end()
