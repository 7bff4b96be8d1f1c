"""One date of a derived table changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from kafka_groups.pipeline.schemas import OFFSET_COMMITS
from kafka_groups.pipeline.storage import Storage
from tests.pipeline.storage.commits import commits, places, seen, written
from tests.pipeline.storage.conftest import KilledError
from tests.pipeline.storage.watching import watched

DATE = "2026-11-01"


def replace(storage: Storage, *parts: range) -> None:
    files = [file for part in parts for file in written(storage, commits(part), batch="build")]
    storage.replace(OFFSET_COMMITS, [DATE], files)


def test_a_date_is_old_or_new_at_whatever_step_the_process_dies(
    storage: Storage, kill_at: Callable[[int], None]
) -> None:
    old, new = Counter(range(10)), Counter(range(5, 30))
    steps, killed = 0, True
    while killed:
        kill_at(-1)
        replace(storage, range(10))
        kill_at(steps)
        try:
            replace(storage, range(5, 20), range(20, 30))
            killed = False
        except KilledError:
            assert seen(storage) in (old, new)
        steps += 1
    assert seen(storage) == new
    assert steps > 5


def test_a_date_without_rows_goes(storage: Storage) -> None:
    replace(storage, range(3))
    replace(storage)
    replace(storage)
    assert places(storage) == []


def test_a_reader_never_sees_half_a_date(storage: Storage) -> None:
    replace(storage, range(10))
    with watched(storage, range(10)) as looks:
        for split in range(1, 10):
            replace(storage, range(split), range(split, 10))
    assert not looks.wrong
