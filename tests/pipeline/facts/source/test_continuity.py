"""A topic that is not the one that was read before is reported, and nothing is passed over in silence."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kafka_groups.errors import SourceError
from kafka_groups.pipeline.facts.source.plan import Log, lost, sound_log

READ = Log("old", {0: 10, 7: 103})


def _look(*logs: Log) -> Log:
    """Return the log in the end, if the topic looks like these, one after the other."""
    following: Iterator[Log] = iter(logs[1:])
    return sound_log(READ, lambda: next(following), first=logs[0], patience_s=5 if len(logs) > 1 else 0)


def test_a_log_that_has_all_that_was_read_is_sound() -> None:
    log = Log("old", {0: 10, 7: 200, 8: 3})

    assert _look(log) is log
    assert lost(READ.ends, log.ends) is None


def test_a_topic_that_was_recreated_is_reported_whatever_it_holds_by_now() -> None:
    with pytest.raises(
        SourceError, match=r"recreated: its topic id is new now.*directory \(--data-dir\) or a new checkpoint"
    ):
        _look(Log("new", {0: 500, 7: 500}))


def test_a_checkpoint_that_knows_no_id_takes_the_one_that_it_finds() -> None:
    log = Log("new", {0: 10})

    assert sound_log(Log(None, {0: 10}), lambda: log, first=log, patience_s=0) is log


def test_a_partition_that_ends_before_what_was_read_is_reported_with_what_to_delete() -> None:
    with pytest.raises(SourceError, match=r"partition 7 .* ends at 80, but was read up to offset 103: .*unclean"):
        _look(Log("old", {0: 10, 7: 80}))
    assert "use a new directory (--data-dir) or a new checkpoint" in str(lost(READ.ends, {0: 10, 7: 102}))


def test_a_topic_that_was_deleted_is_reported() -> None:
    with pytest.raises(SourceError, match=r"partition 0 .* does not exist, but was read up to offset 10"):
        _look(Log(None, {}))


def test_requests_to_a_new_leader_that_does_not_know_yet_what_is_stable_are_retried() -> None:
    later = Log("old", {0: 10, 7: 103})

    assert _look(Log("old", {0: 10, 7: 101}), later) is later


def test_partitions_of_which_nothing_was_read_may_go() -> None:
    assert lost({0: 0}, {}) is None
