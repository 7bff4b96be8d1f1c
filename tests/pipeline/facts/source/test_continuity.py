"""A topic that lacks records that were read is refused."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.facts.source.continuity import describe_loss, wait_for_end
from kafka_groups.pipeline.facts.source.position import Position

READ = Position("old", {0: 10, 7: 103})


def _look(*logs: Position) -> Position:
    """Return the end that is accepted if requests return these ends, one after another."""
    following: Iterator[Position] = iter(logs[1:])
    return wait_for_end(READ, lambda: next(following), first_end=logs[0], timeout_s=5 if len(logs) > 1 else 0)


def test_an_end_behind_the_position_is_returned_at_once() -> None:
    log = Position("old", {0: 10, 7: 200, 8: 3})

    assert _look(log) is log
    assert describe_loss(READ.next_offsets, log.next_offsets) is None


def test_a_recreated_topic_is_refused_also_if_it_is_larger() -> None:
    with pytest.raises(
        SourceError, match=r"recreated: its topic id is new now.*directory \(--data-dir\) or a new checkpoint"
    ):
        _look(Position("new", {0: 500, 7: 500}))


def test_a_position_without_a_topic_id_takes_the_current_one() -> None:
    log = Position("new", {0: 10})

    assert wait_for_end(Position(None, {0: 10}), lambda: log, first_end=log, timeout_s=0) is log


def test_a_partition_that_ends_before_the_position_is_refused() -> None:
    with pytest.raises(SourceError, match=r"partition 7 .* ends at 80, but was read up to offset 103: .*unclean"):
        _look(Position("old", {0: 10, 7: 80}))
    assert "use a new directory (--data-dir) or a new checkpoint" in str(
        describe_loss(READ.next_offsets, {0: 10, 7: 102})
    )


def test_a_deleted_topic_is_refused() -> None:
    with pytest.raises(SourceError, match=r"partition 0 .* does not exist, but was read up to offset 10"):
        _look(Position(None, {}))


def test_a_lower_end_of_a_new_leader_is_requested_again() -> None:
    later = Position("old", {0: 10, 7: 103})

    assert _look(Position("old", {0: 10, 7: 101}), later) is later


def test_a_missing_partition_without_records_read_is_no_loss() -> None:
    assert describe_loss({0: 0}, {}) is None
