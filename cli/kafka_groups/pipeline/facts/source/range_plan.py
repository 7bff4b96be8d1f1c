"""The plan of a batch: which offsets it reads, and which task reads them. Ingest and the data source use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.facts.source.position import NO_LEADER_EPOCHS, NO_OFFSETS, LeaderEpochs, Offsets

# Kafka's numbers for the log start offset and the log end offset.
EARLIEST: Final = -2
LATEST: Final = -1

# A task takes at least a tenth of a second, and a batch half a second, whatever they read. So each task reads at least
# the first of these numbers of offsets, and the number of tasks and batches is limited.
_MIN_OFFSETS_PER_TASK: Final = 100_000
_OFFSETS_PER_CORE: Final = 250_000
_MAX_OFFSETS_PER_TASK: Final = 1_000_000
_MAX_TASKS: Final = 64
_OFFSETS_PER_BATCH: Final = 4_000_000
_MAX_BATCHES: Final = 50


class Range(NamedTuple):
    """The offsets from `start` to `end` - 1 of a partition of `__consumer_offsets`.

    `leader_epoch` is the epoch of a leader that had all records before the start; None if unknown. If the present
    leader lacks such records, reading fails.
    """

    partition: int
    start: int
    end: int
    leader_epoch: int | None = None

    def size(self) -> int:
        """Return the number of offsets."""
        return self.end - self.start


def ranges_between(starts: Offsets, ends: Offsets, leader_epochs: LeaderEpochs = NO_LEADER_EPOCHS) -> list[Range]:
    """Return the range from start to end of each partition, in the order of the partitions, without empty ranges.

    A partition without a start is new, and is read from offset 0.
    """
    ranges = []
    for partition, end in sorted(ends.items()):
        start = starts.get(partition, 0)
        if end > start:
            ranges.append(Range(partition, start, end, leader_epochs.get(partition)))
    return ranges


def count_between(starts: Offsets, ends: Offsets) -> int:
    """Return the number of offsets in `ranges_between` these starts and ends."""
    return sum(range_.size() for range_ in ranges_between(starts, ends))


def starting_offsets(starting: Offsets | int | None, log_starts: Offsets, log_ends: Offsets) -> dict[int, int]:
    """Return the offset at which to start in each partition of `log_ends`.

    `starting` are offsets by partition, or one number for all partitions; EARLIEST and LATEST stand for the offsets of
    these names. EARLIEST is the default for all partitions.

    Raises SourceError for a partition that does not exist, and for an offset past the end of its partition.
    """
    offset_by_partition: Offsets = starting if isinstance(starting, Mapping) else NO_OFFSETS
    default_start = starting if isinstance(starting, int) else EARLIEST
    missing_partitions = sorted(offset_by_partition.keys() - log_ends.keys())
    if missing_partitions:
        msg = f"__consumer_offsets has no partition {missing_partitions[0]}; it has {len(log_ends)} partitions, from 0"
        raise SourceError(msg)
    start_offsets: dict[int, int] = {}
    for partition, end in log_ends.items():
        start = offset_by_partition.get(partition, default_start)
        if start == EARLIEST:
            start = log_starts[partition]
        elif start == LATEST:
            start = end
        if start > end:
            msg = (
                f"startingOffsets has offset {start} for partition {partition} of __consumer_offsets, which ends at "
                f"{end}; write an offset up to that, -1 (latest) or -2 (earliest)"
            )
            raise SourceError(msg)
        start_offsets[partition] = start
    return start_offsets


def limit_ends(starts: Offsets, ends: Offsets, max_offsets: int | None) -> dict[int, int]:
    """Return an end for each partition of `ends`, so that a batch has at most `max_offsets` offsets; None: no limit.

    Each partition gets a share in proportion to its offsets. No end is before its start. As long as there are offsets
    to read, the batch has at least one.
    """
    sizes = {partition: max(0, end - starts.get(partition, 0)) for partition, end in ends.items()}
    total_size = sum(sizes.values())
    if max_offsets is not None and total_size > max_offsets:
        limited_sizes = {partition: size * max_offsets // total_size for partition, size in sizes.items()}
        if not any(limited_sizes.values()):
            # There are more partitions than offsets that may be read, so this batch reads one partition.
            largest_partition = max(sizes, key=lambda partition: sizes[partition])
            limited_sizes[largest_partition] = min(max_offsets, sizes[largest_partition])
        sizes = limited_sizes
    return {partition: starts.get(partition, 0) + size for partition, size in sizes.items()}


def default_batch_size(starts: Offsets, ends: Offsets, cores: int = 1) -> int:
    """Return the default maximum number of offsets of a batch, for an ingest from these starts to these ends.

    It is some millions, more for many cores, and a fiftieth of a large backlog.
    """
    # There may be far fewer records than offsets: compaction has deleted nearly all of an old partition.
    share_of_backlog = _divide_up(count_between(starts, ends), _MAX_BATCHES)
    return max(_OFFSETS_PER_BATCH, cores * _OFFSETS_PER_CORE, share_of_backlog)


def split_into_tasks(ranges: Sequence[Range], cores: int = 1) -> list[tuple[Range, ...]]:
    """Divide ranges into tasks with equal numbers of offsets: large ranges are split, and small ones share a task.

    The tasks have all offsets in the order of the ranges. If there is enough to read, the number of tasks is a multiple
    of the number of cores, so that all cores finish together.
    """
    total_size = sum(range_.size() for range_ in ranges)
    task_count = _count_tasks(total_size, cores)
    tasks: list[list[Range]] = [[]]
    planned_size = 0
    for range_ in ranges:
        remaining_range = range_
        while remaining_range.start < remaining_range.end:
            # The offsets of all ranges form one sequence, which is cut at equal distances.
            end_of_task = total_size * len(tasks) // task_count
            if planned_size == end_of_task:
                tasks.append([])
                continue
            end = min(remaining_range.end, remaining_range.start + end_of_task - planned_size)
            task_range = remaining_range._replace(end=end)
            tasks[-1].append(task_range)
            planned_size += task_range.size()
            # Only the first part is checked against the epoch, because only that one begins at the position.
            remaining_range = remaining_range._replace(start=end, leader_epoch=None)
    return [tuple(task) for task in tasks if task]


def _count_tasks(offset_count: int, cores: int) -> int:
    """Return the number of tasks for this number of offsets; 0 for no offsets."""
    task_size = max(_MAX_OFFSETS_PER_TASK, _divide_up(offset_count, _MAX_TASKS))
    min_task_count = _divide_up(offset_count, task_size)
    rounded_task_count = _divide_up(min_task_count, cores) * cores
    return max(min_task_count, min(rounded_task_count, offset_count // _MIN_OFFSETS_PER_TASK))


def _divide_up(dividend: int, divisor: int) -> int:
    """Return the quotient, rounded up."""
    return -(-dividend // divisor)
