"""The ranges of a batch, and their tasks."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.facts.source.range_plan import (
    EARLIEST,
    LATEST,
    Range,
    default_batch_size,
    limit_ends,
    ranges_between,
    split_into_tasks,
    starting_offsets,
)


def test_a_large_range_becomes_tasks_without_gaps_or_overlaps() -> None:
    tasks = split_into_tasks([Range(7, 11, 4_000_011)])

    ranges = [wanted for task in tasks for wanted in task]
    assert len(tasks) == 4
    assert (ranges[0].start, ranges[-1].end) == (11, 4_000_011)
    assert all(before.end == after.start for before, after in pairwise(ranges))


def test_many_small_partitions_share_a_task() -> None:
    wanted = [Range(partition, 0, 100) for partition in range(50)]

    assert split_into_tasks(wanted) == [tuple(wanted)]


def test_no_task_has_more_than_a_million_offsets() -> None:
    tasks = split_into_tasks([Range(0, 0, 900_000), Range(1, 5, 6), Range(2, 0, 3_100_000)])

    assert max(sum(one.end - one.start for one in task) for task in tasks) <= 1_000_000
    assert sum(one.end - one.start for task in tasks for one in task) == 4_000_001


def test_the_number_of_tasks_is_a_multiple_of_the_cores() -> None:
    wanted = [Range(partition, 0, 500_000) for partition in range(5)]

    tasks = split_into_tasks(wanted, cores=2)

    sizes = [sum(one.end - one.start for one in task) for task in tasks]
    assert sizes == [625_000] * 4
    for whole in wanted:
        pieces = [piece for task in tasks for piece in task if piece.partition == whole.partition]
        assert (pieces[0].start, pieces[-1].end) == (whole.start, whole.end)
        assert all(before.end == after.start for before, after in pairwise(pieces))


def test_a_small_range_is_one_task_on_many_cores() -> None:
    assert len(split_into_tasks([Range(0, 0, 150_000)], cores=8)) == 1


def test_billions_of_offsets_become_a_limited_number_of_tasks() -> None:
    assert len(split_into_tasks([Range(0, 0, 5_000_000_000)], cores=2)) == 64


def test_billions_of_offsets_become_a_limited_number_of_batches() -> None:
    assert default_batch_size({}, {0: 5_000_000_000}) == 100_000_000
    assert default_batch_size({0: 3}, {0: 9}) == 4_000_000


def test_a_batch_on_many_cores_is_large_enough_for_all_of_them() -> None:
    limit = default_batch_size({}, {0: 40_000_000}, 64)
    assert (limit, len(split_into_tasks([Range(0, 0, limit)], cores=64))) == (16_000_000, 64)
    assert default_batch_size({}, {0: 40_000_000}, 2) == 4_000_000


def test_without_offsets_there_is_no_task() -> None:
    assert split_into_tasks(ranges_between({0: 5}, {0: 5})) == []


def test_a_new_partition_is_read_from_its_first_offset() -> None:
    assert ranges_between({0: 5}, {0: 7, 1: 3}) == [Range(0, 5, 7), Range(1, 0, 3)]


def test_a_limit_is_divided_among_partitions() -> None:
    starts, ends = {0: 0, 1: 100}, {0: 900, 1: 200}

    first = limit_ends(starts, ends, 100)

    assert first == {0: 90, 1: 110}


def test_batches_with_a_limit_reach_the_end() -> None:
    position, ends, batches = {0: 0, 1: 0, 2: 0}, {0: 5, 1: 1, 2: 1}, 0
    while position != ends:
        following = limit_ends(position, ends, 2)
        assert 0 < sum(following.values()) - sum(position.values()) <= 2
        position, batches = following, batches + 1
    assert batches < 8


def test_without_a_limit_a_batch_reads_all_offsets() -> None:
    assert limit_ends({}, {0: 5}, None) == {0: 5}


def test_an_end_is_never_before_its_start() -> None:
    assert limit_ends({0: 10}, {0: 8}, None) == {0: 10}


def test_starting_offsets_are_numbers_or_earliest_and_latest() -> None:
    earliest, latest = {0: 1, 1: 2, 2: 3, 3: 4}, {0: 10, 1: 20, 2: 30, 3: 40}

    found = starting_offsets({0: 5, 1: EARLIEST, 2: LATEST}, earliest, latest)

    assert found == {0: 5, 1: 2, 2: 30, 3: 4}


def test_one_number_is_for_all_partitions() -> None:
    earliest, latest = {0: 1, 1: 2}, {0: 10, 1: 20}

    assert starting_offsets(LATEST, earliest, latest) == latest
    assert starting_offsets(EARLIEST, earliest, latest) == starting_offsets(None, earliest, latest) == earliest


def test_a_start_behind_the_end_is_refused() -> None:
    assert starting_offsets({0: 10}, {0: 1}, {0: 10}) == {0: 10}
    with pytest.raises(SourceError, match=r"offset 11 for partition 0 of __consumer_offsets, which ends at 10; write"):
        starting_offsets({0: 11}, {0: 1}, {0: 10})


def test_an_offset_of_a_missing_partition_is_refused() -> None:
    with pytest.raises(SourceError, match="has no partition 9; it has 1"):
        starting_offsets({9: 5}, {0: 0}, {0: 1})


def test_only_the_first_part_of_a_range_has_its_epoch() -> None:
    tasks = split_into_tasks(ranges_between({0: 5}, {0: 2_000_005}, {0: 7}))

    assert tasks == [(Range(0, 5, 1_000_005, 7),), (Range(0, 1_000_005, 2_000_005),)]
