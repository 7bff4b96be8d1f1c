"""What a build tells of itself while it works."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.errors import StorageError
from kafka_groups.pipeline.building import build
from kafka_groups.pipeline.tables import GROUP_DAILY
from tests.pipeline.fact_rows import commit, ends, new_storage, put_all

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.spark
def test_progress_begins_at_0_grows_and_ends_with_all_tables(spark: SparkSession, tmp_path: Path) -> None:
    storage, told = new_storage(tmp_path), list[tuple[str, int, int]]()
    put_all(storage, "b", {"offset_commits": [commit(0, 1, source=1)], "partition_offsets": [ends(60, 5)]})

    built = build(spark, storage, progress=lambda *at: told.append(at))

    of_all = len(built.rows)
    done = [number for _, number, _ in told]
    assert (done[0], done[-1]) == (0, of_all)
    assert done == sorted(set(done))
    assert {most for _, _, most in told} == {of_all}
    assert {name for name, _, _ in told} <= set(built.rows)

    told.clear()
    assert build(spark, storage, progress=lambda *at: told.append(at)).dates == ()
    assert told == []


@pytest.mark.spark
def test_a_build_under_way_keeps_others_out(spark: SparkSession, tmp_path: Path) -> None:
    """It reads what it wrote before, which another one would write anew."""
    storage = new_storage(tmp_path)
    put_all(storage, "b", {"offset_commits": [commit(0, 1, source=1)]})

    with storage.lock("build"), pytest.raises(StorageError, match="is locked"):
        build(spark, storage)

    assert storage.rows(GROUP_DAILY) == 0
