"""The rows of a build do not depend on how and in which order the facts came."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import pytest

from kafka_groups.pipeline.build.local_engine import LocalEngine
from kafka_groups.pipeline.build.run import BuildResult, build
from kafka_groups.pipeline.store import DataFile, Storage
from kafka_groups.pipeline.store.compaction import compact
from kafka_groups.pipeline.tables import OFFSET_COMMITS
from tests.pipeline.build.builds import build_here, built, read
from tests.pipeline.fact_rows import NOON, Row, at, commit, ends, event, new_storage, put_all
from tests.pipeline.proof import DERIVED, facts_of

DAY: Final = 86_400
HOUR: Final = 3_600
BEFORE_MIDNIGHT: Final = 43_200 - 150
MIDNIGHT: Final = str(at(43_200))
Facts = dict[str, list[Row]]


def two_days() -> Facts:
    """Return commits, log ends and a rebalance on both sides of midnight."""
    times = [BEFORE_MIDNIGHT + 30 * step for step in range(10)]
    return {
        "offset_commits": [
            *(commit(seconds + 1, 20 * step, source=step) for step, seconds in enumerate(times)),
            *(commit(seconds, 15 * step, group="sampled") for step, seconds in enumerate(times)),
            commit(times[3], None, source=50, group="removed"),
            commit(times[1], 3, source=49, group="removed"),
        ],
        "partition_offsets": [ends(seconds, 25 * step) for step, seconds in enumerate(times)],
        "group_events": [
            event(times[4] - 1, "group_epoch", "ConsumerGroupMetadata", source=80, epoch=1),
            event(times[4] - 2, "member_metadata", "ConsumerGroupMemberMetadata", source=79, member_id="m"),
            event(
                times[6],
                "member_assignment",
                "ConsumerGroupCurrentMemberAssignment",
                source=81,
                epoch=1,
                member_id="m",
                member_state="STABLE",
            ),
        ],
    }


def time_of(row: Row) -> str:
    return str(row.get("commit_time") or row.get("observed_at") or row["record_time"])


def rows_in(storage: Storage) -> Facts:
    return {name: read(storage, name) for name in DERIVED}


def dates_of(done: BuildResult) -> list[str]:
    return [day.isoformat() for day in done.dates]


@pytest.fixture(scope="module")
def at_once(tmp_path_factory: pytest.TempPathFactory) -> Facts:
    """The rows of a single build of all facts."""
    storage = new_storage(tmp_path_factory.mktemp("once"))
    put_all(storage, "all", two_days())
    done = build_here(storage)
    assert done.missing == ("No group states were sampled: states of KIP-848 groups are unknown.",)
    rows = rows_in(storage)
    assert done.rows == {name: len(found) for name, found in rows.items()}
    assert done.rows["rebalances"] == 1
    return rows


def test_late_split_shuffled_and_replayed_facts_give_the_same_tables(tmp_path: Path, at_once: Facts) -> None:
    facts, storage = two_days(), new_storage(tmp_path)
    put_all(storage, "first", {name: [row for row in rows if time_of(row) < MIDNIGHT] for name, rows in facts.items()})
    assert dates_of(build_here(storage)) == ["2026-11-20"]

    chance = random.Random(3)
    shuffled = {name: chance.sample(rows, len(rows)) for name, rows in facts.items()}
    late = {name: [row for row in rows if time_of(row) >= MIDNIGHT] for name, rows in shuffled.items()}
    put_all(storage, "second", late)
    put_all(storage, "replayed", {name: rows[::2] for name, rows in shuffled.items()})

    assert dates_of(build_here(storage)) == ["2026-11-20", "2026-11-21"]
    assert rows_in(storage) == at_once


def in_any_order(_row: Row, chance: random.Random) -> int:
    return chance.randrange(6)


def partly_late(row: Row, chance: random.Random) -> int:
    halves_of_days = int(_moment(row).timestamp() // (12 * HOUR))
    return halves_of_days + (chance.choice((1, 3, 15)) if chance.random() < 0.15 else 0)


def _moment(row: Row) -> Any:
    return row.get("commit_time") or row.get("observed_at") or row["record_time"]


@pytest.mark.slow
@pytest.mark.parametrize("portion_of", [in_any_order, partly_late])
def test_a_random_history_has_the_same_rows_if_built_in_portions(
    tmp_path: Path, portion_of: Callable[[Row, random.Random], int]
) -> None:
    facts, chance = facts_of(300, 1), random.Random(1)
    portions: dict[int, Facts] = {}
    for name, rows in facts.items():
        for row in rows:
            portions.setdefault(portion_of(row, chance), {}).setdefault(name, []).append(row)
    last = max(_moment(row) for rows in facts.values() for row in rows)
    storage = new_storage(tmp_path / "portions")

    for number, portion in enumerate(sorted(portions)):
        put_all(storage, f"b{number:04}", portions[portion])
        build_here(storage)
        if number % 3 == 2:
            compact(storage, now=last)

    assert len(portions) > 5
    assert rows_in(storage) == rows_in(built(tmp_path / "whole", facts))


def test_a_process_in_another_time_zone_makes_the_same_rows(
    tmp_path: Path, at_once: Facts, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = new_storage(tmp_path)
    put_all(storage, "all", two_days())

    with monkeypatch.context() as patch:
        patch.setenv("TZ", "America/New_York")
        time.tzset()
        assert time.timezone == 5 * 3_600
        done = build_here(storage)
    time.tzset()

    assert dates_of(done) == ["2026-11-20", "2026-11-21"]
    assert rows_in(storage) == at_once


class CompactingEngine(LocalEngine):
    """Compacts the facts once: after a build has listed their files, and before it reads them."""

    def __init__(self, storage: Storage) -> None:
        super().__init__()
        self._storage = storage
        self.files: list[int] = []

    def read(self, files: Sequence[DataFile]) -> Any:
        """Return what the other engine returns, if all files are still there."""
        assert compact(self._storage, now=at(0)).files_after > 0
        self.files.append(len(files))
        return super().read(files)


def test_a_compaction_during_a_build_changes_nothing(tmp_path: Path, at_once: Facts) -> None:
    """Files are removed from their tables after they were listed; they stay on the disk for readers."""
    storage = new_storage(tmp_path)
    facts = two_days()
    for part in range(3):
        put_all(storage, f"b{part}", {name: rows[part::3] for name, rows in facts.items()})
    engine = CompactingEngine(storage)

    build(storage, engine)

    (files,) = engine.files
    assert files > 3 * len(facts)
    assert len(storage.files(OFFSET_COMMITS)) < 3
    assert rows_in(storage) == at_once
    assert build_here(storage).dates == ()

    put_all(storage, "more", {"offset_commits": [commit(BEFORE_MIDNIGHT, 7, source=90, group="more")]})
    compact(storage, now=at(0))
    assert dates_of(build_here(storage)) == ["2026-11-20", "2026-11-21"]


def test_the_date_before_is_built_again_only_if_a_rebalance_ended_since(tmp_path: Path, at_once: Facts) -> None:
    facts, storage = two_days(), new_storage(tmp_path)
    early = {name: [row for row in rows if time_of(row) < MIDNIGHT] for name, rows in facts.items()}
    late = {name: [row for row in rows if time_of(row) >= MIDNIGHT] for name, rows in facts.items()}
    put_all(storage, "first", early)
    build_here(storage)

    put_all(storage, "offsets", {name: rows for name, rows in late.items() if name != "group_events"})
    assert dates_of(build_here(storage)) == ["2026-11-21"]

    put_all(storage, "events", {"group_events": late["group_events"]})
    assert dates_of(build_here(storage)) == ["2026-11-20", "2026-11-21"]
    assert rows_in(storage) == at_once


def five_days() -> Facts:
    """Return a commit, a log end and a new generation at each noon; the record before has the joining member."""
    days = range(5)
    return {
        "offset_commits": [commit(day * DAY, 10 * day, source=day) for day in days],
        "partition_offsets": [ends(day * DAY + 60, 12 * day) for day in days],
        "group_events": [
            event(
                day * DAY,
                "generation",
                "GroupMetadata",
                source=100 + day,
                epoch=day + 1,
                members=[{"member_id": f"m{number}"} for number in range(day + 1)],
            )
            for day in days
        ],
    }


@pytest.mark.parametrize(("days_late", "built_again"), [(1, 2), (2, 3)])
def test_late_facts_change_no_date_before_their_own(tmp_path: Path, days_late: int, built_again: int) -> None:
    """If they come later than the lookback, no state is kept before the day before them: all dates are read again."""
    late = commit((4 - days_late) * DAY, 3, source=200, group="late")
    facts = five_days()
    storage = built(tmp_path / "late", facts, lookback_days=1)
    put_all(storage, "late", {"offset_commits": [late]})

    done = build_here(storage, lookback_days=1)

    dates = [NOON.date() + timedelta(days=day) for day in range(5)]
    assert list(done.dates) == dates[-built_again:]
    whole = built(tmp_path / "whole", facts | {"offset_commits": [*facts["offset_commits"], late]}, lookback_days=1)
    assert rows_in(storage) == rows_in(whole)
    assert [len(row["joined"]) for row in read(storage, "rebalances")] == [1] * 5
