"""What is built after old dates were removed: what a later date still needs is there."""

from __future__ import annotations

from datetime import timedelta
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafka_groups.pipeline.building import build
from kafka_groups.pipeline.compacting import LEAST_KEEP, compact
from kafka_groups.pipeline.storage import Storage
from kafka_groups.pipeline.tables import GROUP_DAILY
from tests.pipeline.steps.making import NOON, commit, ends, new_storage, put_all

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAY_S = 86_400


def test_the_least_that_is_kept_is_what_a_build_of_the_last_two_days_looks_back_to() -> None:
    assert timedelta(days=signature(build).parameters["lookback_days"].default + 1) == LEAST_KEEP


@pytest.mark.spark
def test_a_group_that_is_idle_for_a_week_keeps_its_days_whatever_may_be_removed(
    spark: SparkSession, tmp_path: Path
) -> None:
    storage = new_storage(tmp_path / "tables")
    ages = range(12, 0, -1)
    commits = [commit(-age * DAY_S, 500 - age, source=20 - age, group="busy") for age in ages]
    idle = [commit(-8 * DAY_S, 0, source=30, group="idle")]
    put_all(
        storage,
        "facts",
        {"offset_commits": commits + idle, "partition_offsets": [ends(-age * DAY_S, 500) for age in ages]},
    )
    build(spark, storage)
    before = days_of(spark, storage, "idle")
    assert [str(NOON.date() - timedelta(days=age)) for age in range(8, 0, -1)] == before

    done = compact(storage, keep=LEAST_KEEP, now=NOON)
    assert done.removed_dates == 4
    put_all(storage, "later", {"partition_offsets": [ends(0, 500)]})
    build(spark, storage)
    assert days_of(spark, storage, "idle") == before


def days_of(spark: SparkSession, storage: Storage, group: str) -> list[str]:
    rows = storage.read(spark, GROUP_DAILY).collect()
    return sorted(str(row["date"]) for row in rows if row["group"] == group)
