"""Which offsets a batch reads, and which task reads which of them: from offsets alone, so it can be told again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.source.options import EARLIEST, LATEST

CLUSTER: Final = "cluster_id"

# A task costs a tenth of a second whatever it reads, a batch half of one: neither may be small, nor too many.
_WORTH_A_TASK: Final = 100_000
_RECORDS_PER_TASK: Final = 1_000_000
_MOST_TASKS: Final = 64
_RECORDS_PER_BATCH: Final = 4_000_000
_MOST_BATCHES: Final = 50

Offsets = Mapping[int, int]  # of source partitions
Position = dict[str, int | str]  # how Spark keeps them: flat, in JSON


class Range(NamedTuple):
    """Offsets start..end (the last one excluded) of a source partition."""

    partition: int
    start: int
    end: int


def position_of(cluster_id: str, offsets: Offsets) -> Position:
    """Offsets as Spark's checkpoint keeps them, with the cluster that they belong to."""
    return {CLUSTER: cluster_id, **{str(partition): offset for partition, offset in sorted(offsets.items())}}


def offsets_of(position: Mapping[str, object]) -> dict[int, int]:
    """The offsets in what Spark kept."""
    return {int(name): int(str(offset)) for name, offset in position.items() if name != CLUSTER}


def require_same_cluster(position: Mapping[str, object], cluster_id: str) -> None:
    """SourceError if a checkpoint was made on another cluster."""
    before = position.get(CLUSTER)
    if before != cluster_id:
        msg = (
            f"the checkpoint is of cluster {before}, but the brokers are of cluster {cluster_id}: "
            "offsets of one mean nothing in the other; give each cluster a directory or a checkpoint of its own"
        )
        raise SourceError(msg)


def ranges_between(starts: Offsets, ends: Offsets) -> list[Range]:
    """What lies between; a partition that has no start is new and is read from offset 0, so that nothing is passed."""
    return [
        Range(partition, starts.get(partition, 0), end)
        for partition, end in sorted(ends.items())
        if end > starts.get(partition, 0)
    ]


def chosen(wanted: Offsets | None, earliest: Offsets, latest: Offsets, *, default: int) -> dict[int, int]:
    """An offset for every partition that there is, of those that were asked for (-2: earliest, -1: latest).

    SourceError if a partition was asked for that is not there.
    """
    asked = wanted or {}
    if strange := sorted(asked.keys() - latest.keys()):
        msg = f"__consumer_offsets has no partition {strange[0]}; it has {len(latest)}"
        raise SourceError(msg)
    known = {EARLIEST: earliest, LATEST: latest}
    offsets = {partition: asked.get(partition, default) for partition in latest}
    return {partition: known[o][partition] if o in known else o for partition, o in offsets.items()}


def limited(starts: Offsets, ends: Offsets, limit: int | None) -> dict[int, int]:
    """Ends that leave at most so many offsets between, shared out by what there is to read; never below a start."""
    spans = {partition: max(0, end - starts.get(partition, 0)) for partition, end in ends.items()}
    total = sum(spans.values())
    if limit is not None and total > limit:
        shares = {partition: span * limit // total for partition, span in spans.items()}
        if not any(shares.values()):  # more partitions than records that may be read: go on with one of them
            largest = max(spans, key=lambda partition: spans[partition])
            shares[largest] = min(limit, spans[largest])
        spans = shares
    return {partition: starts.get(partition, 0) + span for partition, span in spans.items()}


def tasks_of(ranges: Iterable[Range], per_task: int | None = None, at_once: int = 1) -> list[tuple[Range, ...]]:
    """The ranges in tasks of equal size, of at most so many offsets: large ones are split, small ones share a task.

    If there is enough to read, the number of tasks is a multiple of those that run at once, so that all end together.
    """
    wanted = list(ranges)
    total = sum(end - start for _, start, end in wanted)
    most = per_task or max(_RECORDS_PER_TASK, -(-total // _MOST_TASKS))
    count = -(-total // most)
    count = max(count, min(-(-count // at_once) * at_once, total // _WORTH_A_TASK))
    return [task for task in _cut(wanted, count, total) if task]


def _cut(ranges: Iterable[Range], count: int, total: int) -> Iterator[tuple[Range, ...]]:
    """All offsets in a row, cut at equal distances."""
    left = iter(ranges)
    current = next(left, None)
    begun = 0
    for number in range(1, count + 1):
        until = total * number // count
        task = []
        while current is not None and begun < until:
            end = min(current.end, current.start + until - begun)
            task.append(current._replace(end=end))
            begun += end - current.start
            current = current._replace(start=end) if end < current.end else next(left, None)
        yield tuple(task)


def automatic_limit(starts: Offsets, ends: Offsets) -> int:
    """How many offsets a batch is to read of what lies between: some millions, or a share of the whole.

    Offsets are not records: in a partition that was compacted for years nearly all of them are gone.
    """
    backlog = sum(wanted.end - wanted.start for wanted in ranges_between(starts, ends))
    return max(_RECORDS_PER_BATCH, -(-backlog // _MOST_BATCHES))
