"""The tasks of a batch: their number, and the rows that they skip."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from kafka_groups.pipeline.facts.ingest_tasks import count_cores, skip_stored_rows


@pytest.mark.parametrize(
    ("master", "cores"),
    [
        ("local[3]", 3),
        ("local[2,4]", 2),  # four attempts at each task
        ("local[*]", os.cpu_count()),
        ("local[*,4]", os.cpu_count()),
        ("local", 1),
        # Nobody knows how many; a small one has some more tasks than it needs.
        ("spark://host:7077", 64),
        ("local-cluster[4,1,1024]", 64),
        (None, 64),
    ],
)
def test_the_name_of_the_master_has_the_number_of_cores(master: str | None, cores: int) -> None:
    settings = {"spark.master": master}
    spark: Any = SimpleNamespace(conf=SimpleNamespace(get=settings.get))
    assert count_cores(spark) == cores


def test_rows_that_a_table_has_already_are_skipped() -> None:
    rows = pa.RecordBatch.from_pydict(
        {"source_partition": pa.array([2] * 3, pa.int32()), "source_offset": pa.array([6, 7, 9], pa.int64())}
    )
    assert skip_stored_rows(rows, {0: 9, 2: 7})["source_offset"].to_pylist() == [7, 9]
    assert skip_stored_rows(rows, {0: 9}) is rows
