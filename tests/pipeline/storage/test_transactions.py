"""The transactions of a table at once are those that delta-rs returns one by one."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from kafka_groups.pipeline.schemas import OFFSET_COMMITS
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.storage import delta_log as log_module
from tests.pipeline.storage.commits import commits, written

APPLICATIONS = [f"cluster/{number}" for number in range(8)]


@pytest.mark.parametrize("versions", [1, 2, 3, 7])
def test_they_are_the_same_before_at_and_after_a_checkpoint(
    storage: Storage, monkeypatch: pytest.MonkeyPatch, versions: int
) -> None:
    monkeypatch.setitem(log_module._PROPERTIES, "delta.checkpointInterval", "3")
    for number in range(versions):
        moved = {each: 10 * number + place for place, each in enumerate(APPLICATIONS) if number % (place + 1) == 0}
        storage.append(written(storage, commits([number])), moved, tables=[OFFSET_COMMITS])
    table = DeltaTable(str(Path(storage.into, "offset_commits")))
    expected = {each: table.transaction_version(each) for each in APPLICATIONS}
    assert storage.versions_of(OFFSET_COMMITS, [*APPLICATIONS, "other"]) == expected
    checkpoints = list(Path(storage.into, "offset_commits/_delta_log").glob("*.checkpoint.parquet"))
    assert bool(checkpoints) == (versions >= 2)


def test_a_table_that_is_not_there_has_none(storage: Storage) -> None:
    assert storage.versions_of(OFFSET_COMMITS, APPLICATIONS) == {}
