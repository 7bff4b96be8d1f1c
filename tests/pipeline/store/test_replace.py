"""One date of a derived table changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from kafka_groups.pipeline.store import Storage
from kafka_groups.pipeline.tables import OFFSET_COMMITS
from tests.pipeline.store.commits import commits, delta_rows, places, seen, written
from tests.pipeline.store.conftest import KilledError
from tests.pipeline.store.watching import watched

DATE = "2026-11-01"


def replace(storage: Storage, *parts: range) -> None:
    files = [file for part in parts for file in written(storage, commits(part), batch="build")]
    storage.replace(OFFSET_COMMITS, [DATE], files)


def test_a_killed_replacement_leaves_the_old_date_or_the_new_one(
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


def put(storage: Storage, days: Sequence[int], *rows: tuple[int, int]) -> None:
    """Put commits, (day, offset), in place of what the days hold."""
    files = [file for day, offset in rows for file in written(storage, commits([offset], day=day), batch="build")]
    storage.replace(OFFSET_COMMITS, [f"2026-11-{day + 1:02}" for day in days], files)


def held(storage: Storage) -> list[tuple[str, int]]:
    rows = delta_rows(storage)
    return sorted(
        (str(day), offset) for day, offset in zip(rows["date"], rows["source_offset"].to_pylist(), strict=True)
    )


def test_replaced_dates_have_exactly_the_new_rows(storage: Storage) -> None:
    put(storage, [0, 1, 2], (0, 1), (0, 2), (1, 3), (2, 4))
    assert held(storage) == [("2026-11-01", 1), ("2026-11-01", 2), ("2026-11-02", 3), ("2026-11-03", 4)]
    put(storage, [0, 1], (0, 9))
    assert held(storage) == [("2026-11-01", 9), ("2026-11-03", 4)]
    assert places(storage) == [("2026-11-01", "build"), ("2026-11-03", "build")]
    put(storage, [0, 1, 2])
    assert held(storage) == []


def test_a_file_of_another_date_is_not_added(storage: Storage) -> None:
    put(storage, [0], (0, 2), (1, 3))
    assert held(storage) == [("2026-11-01", 2)]


def test_a_reader_sees_a_whole_date_at_every_moment(storage: Storage) -> None:
    replace(storage, range(10))
    with watched(storage, range(10)) as looks:
        for split in range(1, 10):
            replace(storage, range(split), range(split, 10))
    assert not looks.wrong
