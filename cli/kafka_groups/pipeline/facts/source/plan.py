"""Which offsets a batch reads, by which task, and whether the log still has what was read before."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from kafka_groups.errors import SourceError

TIMEOUT_S: Final = 60.0
EARLIEST: Final = -2
LATEST: Final = -1

# A task costs a tenth of a second whatever it reads, a batch half of one: neither may be small, nor too many.
_WORTH_A_TASK: Final = 100_000
_WORTH_A_CORE: Final = 250_000
_RECORDS_PER_TASK: Final = 1_000_000
_MOST_TASKS: Final = 64
_RECORDS_PER_BATCH: Final = 4_000_000
_MOST_BATCHES: Final = 50

LOST_RECORDS: Final = (
    "the brokers lost records that were read (an unclean leader election), or the topic was recreated; to read all "
    "records that it has, use a new directory (--data-dir) or a new checkpoint"
)
_PAUSE_S: Final = 0.5

Offsets = Mapping[int, int]  # by source partition
_NONE: Final[Offsets] = MappingProxyType({})


class Range(NamedTuple):
    """Offsets start..end (the last one excluded) of a source partition."""

    partition: int
    start: int
    end: int
    epoch: int | None = None  # of a leader that had all records before the start: a log without them is another one


class Log(NamedTuple):
    """A state of the topic: its id if brokers return it, where its partitions end, and their leaders' epochs."""

    topic_id: str | None
    ends: Offsets
    epochs: Offsets = _NONE


def ranges_between(starts: Offsets, ends: Offsets, epochs: Offsets = _NONE) -> list[Range]:
    """Return the ranges between; a partition without a start is new, and is read from offset 0."""
    return [
        Range(partition, starts.get(partition, 0), end, epochs.get(partition))
        for partition, end in sorted(ends.items())
        if end > starts.get(partition, 0)
    ]


def count_between(starts: Offsets, ends: Offsets) -> int:
    """Return the number of offsets between."""
    return sum(one.end - one.start for one in ranges_between(starts, ends))


def started(wanted: Offsets | int | None, earliest: Offsets, latest: Offsets) -> dict[int, int]:
    """Return where to start in every partition: as wanted by number, or by one word for all (EARLIEST, LATEST).

    SourceError for a partition that is not there, and for an offset beyond its end, where nothing would come.
    """
    requested = wanted if isinstance(wanted, Mapping) else {}
    if strange := sorted(requested.keys() - latest.keys()):
        msg = f"__consumer_offsets has no partition {strange[0]}; it has {len(latest)} partitions, from 0"
        raise SourceError(msg)
    words = {EARLIEST: earliest, LATEST: latest}
    offsets = {each: requested.get(each, wanted if isinstance(wanted, int) else EARLIEST) for each in latest}
    starts = {partition: words[o][partition] if o in words else o for partition, o in offsets.items()}
    for partition, start in starts.items():
        if start > latest[partition]:
            msg = (
                f"startingOffsets has offset {start} for partition {partition} of __consumer_offsets, which ends at "
                f"{latest[partition]}; write an offset up to that, -1 (latest) or -2 (earliest)"
            )
            raise SourceError(msg)
    return starts


def limited(starts: Offsets, ends: Offsets, limit: int | None) -> dict[int, int]:
    """Return ends, none below its start, that leave at most so many offsets between, shared out by what there is."""
    spans = {partition: max(0, end - starts.get(partition, 0)) for partition, end in ends.items()}
    total = sum(spans.values())
    if limit is not None and total > limit:
        shares = {partition: span * limit // total for partition, span in spans.items()}
        if not any(shares.values()):  # more partitions than records that may be read: go on with one of them
            largest = max(spans, key=lambda partition: spans[partition])
            shares[largest] = min(limit, spans[largest])
        spans = shares
    return {partition: starts.get(partition, 0) + span for partition, span in spans.items()}


def automatic_limit(starts: Offsets, ends: Offsets, at_once: int = 1) -> int:
    """Return how many offsets a batch reads: some millions, or a share of the whole; more for many tasks at once."""
    # Offsets are not records: in a partition that was compacted for years nearly all of them are deleted.
    return max(_RECORDS_PER_BATCH, at_once * _WORTH_A_CORE, -(-count_between(starts, ends) // _MOST_BATCHES))


def tasks_of(ranges: Sequence[Range], at_once: int = 1) -> list[tuple[Range, ...]]:
    """Return ranges in tasks of equal size: large ones are split, small ones share a task.

    If there is enough to read, the number of tasks is a multiple of those that run at once, so that all end together.
    """
    total = sum(one.end - one.start for one in ranges)
    count = -(-total // max(_RECORDS_PER_TASK, -(-total // _MOST_TASKS)))
    count = max(count, min(-(-count // at_once) * at_once, total // _WORTH_A_TASK))
    # All offsets in a row, cut at equal distances.
    tasks: list[list[Range]] = [[]]
    planned = 0
    for whole in ranges:
        rest = whole
        while rest.start < rest.end:
            if planned == (until := total * len(tasks) // count):
                tasks.append([])
                continue
            end = min(rest.end, rest.start + until - planned)
            tasks[-1].append(rest._replace(end=end))
            planned += end - rest.start
            rest = rest._replace(start=end, epoch=None)
    return [tuple(task) for task in tasks if task]


def lost(read: Offsets, ends: Offsets) -> str | None:
    """Return the first partition that lacks what was read, as a sentence; None if all of it is there."""
    for partition, offset in sorted(read.items()):
        if offset > ends.get(partition, 0):
            what = f"ends at {ends[partition]}" if partition in ends else "does not exist"
            place = f"partition {partition} of __consumer_offsets {what}, but was read up to offset {offset}"
            return f"{place}: {LOST_RECORDS}"
    return None


def changed_topic(topic_id: str | None) -> SourceError:
    """Return the error of a topic that was read, and now is another one with this id, or none."""
    now = "does not exist any more" if topic_id is None else f"was recreated: its topic id is {topic_id} now"
    return SourceError(
        f"__consumer_offsets was read, and {now}, so the old offsets do not apply; use a new directory (--data-dir) "
        "or a new checkpoint"
    )


def sound_log(read: Log, look: Callable[[], Log], *, first: Log, patience_s: float) -> Log:
    """Return the log, from `first` or a later look, that has all that was read.

    A new leader may for a while know less of what is stable than the last one did, so it is looked at for so long.
    SourceError if it stays like that, and at once if it is another topic (which brokers without topic ids hide): the
    history of a group follows the order of offsets.
    """
    log = first
    until = time.monotonic() + patience_s
    while True:
        if None not in (read.topic_id, log.topic_id) and read.topic_id != log.topic_id:
            raise changed_topic(log.topic_id)
        if (said := lost(read.ends, log.ends)) is None:
            return log
        if time.monotonic() >= until:
            raise SourceError(said)
        time.sleep(_PAUSE_S)
        log = look()
