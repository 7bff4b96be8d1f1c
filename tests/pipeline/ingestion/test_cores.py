"""How many parts a batch is read in: as many as tasks can run at once."""

from __future__ import annotations

import os
from types import SimpleNamespace
from typing import Any

import pytest

from kafka_groups.pipeline.ingestion.batches import _cores


@pytest.mark.parametrize(
    ("master", "parts"),
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
def test_a_batch_has_a_part_for_each_core_that_the_masters_name_tells(master: str | None, parts: int) -> None:
    settings = {"spark.master": master}
    spark: Any = SimpleNamespace(conf=SimpleNamespace(get=settings.get))
    assert _cores(spark) == parts
