"""The delayed log of tests returns, refuses and writes what the Delta log does."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.store import Queries, Storage
from kafka_groups.pipeline.store.delta_log import DeltaLog
from kafka_groups.pipeline.tables import OFFSET_COMMITS
from tests.pipeline.delayed_log import DelayedLog, write_commits
from tests.pipeline.fact_rows import new_storage
from tests.pipeline.store.commits import commits, delta_rows, written

_STEPS = 12
_DATES = ("2026-11-01", "2026-11-02", "2026-11-03")


def change(storage: Storage, source: random.Random, number: int) -> str | None:
    """Make a random change, and return the error if it is refused."""
    version = source.choice([None, *range(number)])
    day = source.randrange(len(_DATES))
    files = written(storage, commits([number], day=day), batch=f"b-{number}")
    expected = {"app": version} if source.random() < 0.5 else {}
    try:
        if source.random() < 0.5:
            storage.append(files, {"app": number}, expected_versions={OFFSET_COMMITS.name: expected})
        else:
            storage.replace(OFFSET_COMMITS, [_DATES[day]], files, {"app": number}, expected)
    except StorageError as error:
        return str(error).replace(storage.location, "")
    return None


def changes_of(storage: Storage, seed: int) -> list[object]:
    """Return the error, the files and the versions after each of some random changes."""
    source = random.Random(seed)
    states: list[object] = []
    for number in range(_STEPS):
        error = change(storage, source, number)
        files = [(file.date, file.batch, file.rows, file.bytes) for file in storage.files(OFFSET_COMMITS)]
        states.append((error, files, storage.log(OFFSET_COMMITS).transactions()))
    return states


@pytest.fixture
def delay_commits(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    return lambda: monkeypatch.setattr("kafka_groups.pipeline.store.storage.DeltaLog", DelayedLog)


@pytest.mark.parametrize("seed", range(3))
def test_changes_have_the_same_results(tmp_path: Path, delay_commits: Callable[[], None], seed: int) -> None:
    plain = new_storage(tmp_path / "plain")
    states = changes_of(plain, seed)
    delay_commits()
    delayed = new_storage(tmp_path / "delayed")

    assert changes_of(delayed, seed) == states
    assert not Path(delayed.location, OFFSET_COMMITS.name, "_delta_log").exists()
    write_commits(delayed)
    assert DeltaLog(delayed.directory, OFFSET_COMMITS).files() == delayed.files(OFFSET_COMMITS)
    assert delta_rows(delayed).sort_by("source_offset") == delta_rows(plain).sort_by("source_offset")


def test_a_directory_may_have_tables_and_may_lose_them(tmp_path: Path, delay_commits: Callable[[], None]) -> None:
    storage = new_storage(tmp_path)
    storage.append(written(storage, commits([1])), {"app": 1})
    delay_commits()
    storage.append(written(storage, commits([2])))

    assert [file.rows for file in storage.files(OFFSET_COMMITS)] == [1, 1]
    assert storage.log(OFFSET_COMMITS).transactions() == {"app": 1}
    assert {
        row["source_offset"] for row in Queries(storage).select(OFFSET_COMMITS, "SELECT source_offset FROM {rows}")
    } == {1, 2}
    Path(storage.location, OFFSET_COMMITS.name).rename(tmp_path / "other")
    assert storage.files(OFFSET_COMMITS) == []
